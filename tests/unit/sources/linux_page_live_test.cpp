// SPDX-License-Identifier: BSD-2-Clause
// Zones of this machine's kernel against other views of the same figures: system calls, other files, and memory that the
// test itself takes.
#include <gtest/gtest.h>

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>

#include "core/query.h"
#include "tests/support/staged_statistics.h"

namespace memstat::linux_page_live_test {
namespace {

/// The source on this machine.
class LivePage : public testing::Test {
 protected:
  void SetUp() override {
    auto view = make_live_kernel_view();
    if (!view || (*view)->os() != OperatingSystem::kLinux) GTEST_SKIP() << "this is not Linux";
    view_ = std::move(*view);
    const auto opened = open_source(reader_, *view_);
    ASSERT_TRUE(opened) << to_string(opened.error());
    refresh_once();
    page_size_ = view_->page_size();
  }
  void refresh_once() {
    const auto refreshed = refresh(reader_, *view_, list_, ++generation_);
    ASSERT_TRUE(refreshed) << to_string(refreshed.error());
    statistics_ = statistics_of(reader_.staging);
  }
  [[nodiscard]] std::uint64_t sum(Field field) const {
    std::uint64_t sum = 0;
    for (const MemoryType* type = list_.first(); type != nullptr; type = type->next()) sum += type->figure(field);
    return sum;
  }
  /// Whether figures that other processes change all the time agree in one of many tries.
  bool agrees(const std::function<bool()>& try_once) {
    for (int tries = 0; tries < 200; ++tries) {
      refresh_once();
      if (HasFatalFailure() || try_once()) return !HasFatalFailure();
    }
    return false;
  }

  std::unique_ptr<KernelView> view_;
  SourceReader reader_{*find_source("linux_page")};
  MemoryTypeList list_;
  std::uint64_t generation_ = 0;
  std::uint64_t page_size_ = 0;
  std::map<std::string, std::uint64_t> statistics_;
};

bool is_near(std::uint64_t a, std::uint64_t b, std::uint64_t tolerance) {
  return a > b ? a - b <= tolerance : b - a <= tolerance;
}

std::uint64_t number_in(const std::string& path) {
  std::ifstream file(path);
  std::uint64_t number = 0;
  file >> number;
  return number;
}

TEST_F(LivePage, HasAsMuchInUseAsTheSystemCallTells) {
  std::uint64_t in_use = 0;
  EXPECT_TRUE(agrees([&] {
    in_use = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES) - sysconf(_SC_AVPHYS_PAGES));
    return is_near(sum(Field::kCount), in_use, 2048);
  })) << sum(Field::kCount)
      << " pages against " << in_use;
  for (const MemoryType* type = list_.first(); type != nullptr; type = type->next()) {
    EXPECT_EQ(type->figure(Field::kBytes) + type->figure(Field::kFree) * page_size_, type->figure(Field::kHeldBytes))
        << type->name();
  }
}

TEST_F(LivePage, HasTheFreePagesOfTheKernelsCounter) {
  std::uint64_t free = 0;
  EXPECT_TRUE(agrees([&] {
    std::ifstream file("/proc/vmstat");
    for (std::string word; file >> word;) {
      if (word == "nr_free_pages") break;
    }
    file >> free;
    return is_near(sum(Field::kFree), free, 2048);
  })) << sum(Field::kFree)
      << " pages against " << free;
}

TEST_F(LivePage, ManagesTheMemoryThatTheSystemCallTells) {
  const auto total = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES));
  const auto free = static_cast<std::uint64_t>(sysconf(_SC_AVPHYS_PAGES));
  refresh_once();
  const std::uint64_t managed = sum(Field::kHeldBytes) / page_size_;
  if (managed < total && is_near(total - managed, free - std::min(free, sum(Field::kFree)), 65536)) {
    GTEST_SKIP() << "this kernel counts " << total - managed << " pages as free that no zone has, such as a balloon's";
  }
  EXPECT_EQ(managed, total);
}

TEST_F(LivePage, HasPagesInUseThatTheTestTakesAndGivesBack) {
  constexpr std::uint64_t kSize = 64U << 20U;
  const auto allocations = [&] { return sum_of_statistics(reader_.staging, "page_allocations_total{").sum; };
  refresh_once();
  const std::uint64_t allocated = allocations();
  const std::uint64_t freed = statistics_["page_frees_total"];
  void* const memory = mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  for (std::size_t at = 0; at < kSize; at += 4096) static_cast<volatile char*>(memory)[at] = 1;
  refresh_once();
  EXPECT_GE(allocations(), allocated + kSize / page_size_);
  ASSERT_EQ(munmap(memory, kSize), 0);
  refresh_once();
  EXPECT_GE(statistics_["page_frees_total"], freed + kSize / page_size_);
}

TEST_F(LivePage, HasWatermarksInOrderThatAddUpToTheReserveOfTheKernel) {
  std::uint64_t min_pages = 0;
  std::size_t zones = 0;
  for (const MemoryType* type = list_.first(); type != nullptr; type = type->next(), ++zones) {
    std::string labels(type->name().substr(5));
    labels[labels.find(' ')] = ',';
    const std::string key = "zone_watermark_bytes{" + labels;
    const std::uint64_t min = statistics_.at(key + ",min}");
    const std::uint64_t low = statistics_.at(key + ",low}");
    const std::uint64_t high = statistics_.at(key + ",high}");
    EXPECT_LE(min, low) << labels;
    EXPECT_LE(low, high) << labels;
    if (const auto promo = statistics_.find(key + ",promo}"); promo != statistics_.end()) {
      EXPECT_LE(high, promo->second);
    }
    min_pages += min / page_size_;
  }
  // A zone may be boosted for a while after fragmentation, and zones of movable memory have a little of their own.
  const std::uint64_t reserve = number_in("/proc/sys/vm/min_free_kbytes") * 1024 / page_size_;
  if (reserve == 0) GTEST_SKIP() << "/proc/sys/vm/min_free_kbytes cannot be read";
  EXPECT_GE(min_pages + zones, reserve);
  std::ifstream file("/proc/zoneinfo");
  std::uint64_t boost = 0;
  for (std::string word; file >> word;) {
    std::uint64_t pages = 0;
    if (word == "boost" && file >> pages) boost += pages;
  }
  EXPECT_LE(min_pages, reserve + boost + 128 * zones);
}

TEST_F(LivePage, HasFreeBlocksThatAddUpToItsFreePages) {
  std::uint64_t pages = 0;
  EXPECT_TRUE(agrees([&] {
    pages = 0;
    for (const auto& [key, count] : statistics_) {
      if (!key.starts_with("buddy_free_blocks{")) continue;
      pages += count << std::stoul(key.substr(key.rfind(',') + 1));
    }
    return is_near(pages, sum(Field::kFree), 2048);
  })) << pages
      << " against " << sum(Field::kFree);
  EXPECT_GT(pages, 0U);
}

TEST_F(LivePage, CountsNumaEventsAsTheFilesOfTheNodesDo) {
  const auto numastat = [](std::uint64_t node) {
    std::ifstream file("/sys/devices/system/node/node" + std::to_string(node) + "/numastat");
    std::map<std::string, std::uint64_t> counters;
    std::string key;
    for (std::uint64_t value = 0; file >> key >> value;) counters[key] = value;
    return counters;
  };
  std::size_t nodes = 0;
  for (std::uint64_t node = 0; node < 64; ++node) {
    auto before = numastat(node);
    if (before.empty()) continue;
    ++nodes;
    refresh_once();
    auto after = numastat(node);
    const std::string prefix = "numa_events_total{" + std::to_string(node) + ",";
    for (const auto& [key, kind] :
         std::map<std::string, std::string>{{"numa_hit", "hit"}, {"numa_miss", "miss"}, {"local_node", "local"}}) {
      ASSERT_TRUE(statistics_.contains(prefix + kind + "}")) << kind;
      EXPECT_GE(statistics_[prefix + kind + "}"], before[key]) << kind;
      EXPECT_LE(statistics_[prefix + kind + "}"], after[key]) << kind;
    }
  }
  if (nodes == 0) GTEST_SKIP() << "this kernel has no /sys/devices/system/node/node*/numastat";
}

TEST_F(LivePage, HasFreeBlocksByMigrateTypeThatAddUpToAllOfThem) {
  reader_.state->options[0].number = 1;
  reader_.state->parse_count = 0;
  const auto opened = open_source(reader_, *view_);
  if (!opened && opened.error().code == ErrorCode::kPermission) GTEST_SKIP() << "needs root: " << to_string(opened.error());
  ASSERT_TRUE(opened) << to_string(opened.error());
  refresh_once();
  if (sum_of_statistics(reader_.staging, "buddy_free_blocks_by_type{").count == 0)
    GTEST_SKIP() << "no /proc/pagetypeinfo here";
  std::uint64_t by_type = 0;
  bool is_capped = false;
  EXPECT_TRUE(agrees([&] {
    by_type = 0;
    for (const auto& [key, count] : statistics_) {
      if (!key.starts_with("buddy_free_blocks_by_type{")) continue;
      by_type += count << std::stoul(key.substr(key.rfind(',') + 1));
      is_capped = is_capped || count >= 100'000;
    }
    return is_capped || is_near(by_type, sum(Field::kFree), 2048);
  })) << by_type
      << " against " << sum(Field::kFree);
}

TEST_F(LivePage, HasTheIndicesThatTheKernelComputes) {
  const std::string directory = "/sys/kernel/debug/extfrag/";
  if (!std::ifstream(directory + "unusable_index")) {
    GTEST_SKIP() << directory << "unusable_index cannot be read: not root, or no debugfs mounted";
  }
  /// "Node 0, zone Normal 0.000 0.107 ..." of a file, as labels and values.
  const auto indices = [&](const std::string& file) {
    std::ifstream text(directory + file);
    std::map<std::string, double> values;
    for (std::string line; std::getline(text, line);) {
      std::istringstream words(line);
      std::string node;
      std::string name;
      words >> node >> node >> name >> name;
      node.pop_back();
      double value = 0;
      for (int order = 0; words >> value; ++order)
        values["{" + node + "," + name + "," + std::to_string(order) + "}"] = value;
    }
    return values;
  };
  for (const auto& pair : std::map<std::string, std::string>{{"unusable_index", "unusable_free_ratio"},
                                                             {"extfrag_index", "fragmentation_index"}}) {
    const std::string& file = pair.first;
    const std::string& statistic = pair.second;
    std::string difference;
    EXPECT_TRUE(agrees([&] {
      difference.clear();
      for (const auto& [labels, value] : indices(file)) {
        const auto found = statistics_.find(statistic + labels);
        if (found == statistics_.end()) continue;  // a zone that has no memory of the allocator's
        const auto seen = std::bit_cast<double>(found->second);
        if (std::abs(seen - value) > 0.005)
          difference += labels + " " + std::to_string(seen) + " " + std::to_string(value) + "; ";
      }
      return difference.empty();
    })) << file
        << ": " << difference;
  }
}

}  // namespace
}  // namespace memstat::linux_page_live_test
