// SPDX-License-Identifier: BSD-2-Clause
// The files of /sys/kernel/slab of real kernels: captured ones against an independent reader, this machine's against
// /proc/slabinfo, and with very long lists of partial slabs.
#include <gtest/gtest.h>

#include <chrono>
#include <iostream>
#include <map>
#include <sstream>

#include "core/kernel/forwarding_view.h"
#include "core/query.h"
#include "tests/support/fixtures.h"
#include "tests/support/partial_slabs.h"
#include "tests/support/source_cases.h"

namespace memstat::linux_slab_sysfs_kernels_test {
namespace {

const SourceDescriptor& source() { return *find_source("linux_slab_sysfs"); }

/// What a line of slabinfo says.
struct Line {
  std::uint64_t objects = 0;
  std::uint64_t slabs = 0;
  std::uint64_t pages_per_slab = 0;
  bool operator==(const Line&) const = default;
};

/// By name; names that come twice are left out.
std::map<std::string, Line, std::less<>> slabinfo_of(KernelView& view) {
  Buffer text;
  EXPECT_TRUE(view.read_file("/proc/slabinfo", text));
  std::istringstream lines{std::string(text.view())};
  std::map<std::string, Line, std::less<>> caches;
  std::map<std::string, int> seen;
  std::string line;
  std::getline(lines, line);
  std::getline(lines, line);
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    std::string name;
    std::uint64_t active = 0;
    std::uint64_t size = 0;
    std::uint64_t per_slab = 0;
    Line of;
    words >> name >> active >> of.objects >> size >> per_slab >> of.pages_per_slab;
    std::istringstream rest(line.substr(line.find("slabdata") + 8));
    rest >> active >> of.slabs;
    if (++seen[name] == 1) {
      caches[name] = of;
    } else {
      caches.erase(name);
    }
  }
  return caches;
}

std::uint64_t sum_of_nodes(const Staging& staging, const StagedType& type, NodeField field) {
  std::uint64_t sum = 0;
  for (std::uint32_t node = 0; node < staging.node_count(); ++node) sum += staging.node_figure(type, field, node);
  return sum;
}

/// The first number of a file, and the sum of those behind "=".
std::pair<std::uint64_t, std::uint64_t> numbers_in(KernelView& view, const std::string& path) {
  Buffer text;
  EXPECT_TRUE(view.read_file(path, text)) << path;
  std::istringstream words{std::string(text.view())};
  std::uint64_t total = 0;
  std::uint64_t sum = 0;
  words >> total;
  for (std::string word; words >> word;) sum += std::stoull(word.substr(word.find('=') + 1));
  return {total, sum};
}

class CapturedSlabSysfs : public testing::TestWithParam<std::string> {};

TEST_P(CapturedSlabSysfs, EqualsWhatAnIndependentReaderFinds) {
  const auto view = open_fixture(GetParam());
  for (std::size_t poll = 0; poll < view->poll_count(); ++poll) {
    ASSERT_TRUE(view->select_poll(poll));
    SourceReader reader(source());
    ASSERT_TRUE(read_source(reader, *view));
    const auto parsed = parse_source(reader);
    ASSERT_TRUE(parsed) << to_string(parsed.error());
    const Staging& staging = reader.staging;
    const auto lines = slabinfo_of(*view);
    ASSERT_EQ(staging.types().size(), lines.size());
    const bool has_counters = GetParam().find("profiling") != std::string::npos;  // CONFIG_SLUB_STATS
    EXPECT_EQ(!staging.cpu_fields().empty(), has_counters);
    const bool has_cpu_slabs = GetParam().find("7.2") == std::string::npos;
    std::size_t same_as_slabinfo = 0;
    std::uint64_t allocations = 0;
    for (std::size_t i = 0; i < staging.types().size(); ++i) {
      const StagedType& type = staging.types()[i];
      const std::string name(type.name);
      const std::string directory = "/sys/kernel/slab/" + name + "/";
      const auto slabs = numbers_in(*view, directory + "slabs");
      const auto slots = numbers_in(*view, directory + "total_objects");
      const auto partial = numbers_in(*view, directory + "partial");
      const auto order = numbers_in(*view, directory + "order");
      EXPECT_EQ(type.figures[Field::kSlabs], slabs.first) << name;
      EXPECT_EQ(type.figures[Field::kPartialSlabs], partial.first) << name;
      EXPECT_EQ(type.fields.has(Field::kCpuSlabs), has_cpu_slabs) << name;
      EXPECT_EQ(type.figures[Field::kCpuSlabs], numbers_in(*view, directory + "cpu_slabs").first) << name;
      EXPECT_EQ(sum_of_nodes(staging, type, NodeField::kTotalObjects), slots.first) << name;
      EXPECT_EQ(sum_of_nodes(staging, type, NodeField::kHeldBytes), slabs.first * (4096U << order.first)) << name;
      EXPECT_EQ(type.fields.has(Field::kNumAllocs), has_counters) << name;
      const Line& line = lines.at(name);
      EXPECT_EQ(std::uint64_t{1} << order.first, line.pages_per_slab) << name;
      same_as_slabinfo += slots.first == line.objects && slabs.first == line.slabs ? 1 : 0;
      if (!has_counters) continue;
      std::pair<std::uint64_t, std::uint64_t> allocs;
      for (const char* file : {"alloc_fastpath", "alloc_slowpath"}) {
        const auto part = numbers_in(*view, directory + file);
        allocs.first += part.first;
        allocs.second += part.second;
      }
      EXPECT_EQ(type.figures[Field::kNumAllocs], allocs.first) << name;
      std::uint64_t of_cpus = 0;
      for (std::uint32_t cpu = 0; cpu < staging.cpu_count(); ++cpu) {
        of_cpus += staging.cpu_figure(i, CpuField::kNumAllocs, cpu);
      }
      EXPECT_EQ(of_cpus, allocs.second) << name;
      EXPECT_GE(type.figures[Field::kNumFrees], numbers_in(*view, directory + "free_fastpath").first) << name;
      allocations += of_cpus;
    }
    EXPECT_GE(same_as_slabinfo * 10, lines.size() * 8) << "slabinfo was read a little earlier or later";
    EXPECT_EQ(allocations > 1000, has_counters);
    EXPECT_EQ(staging.node_count(), GetParam().find("2nodes") != std::string::npos ? 2U : 1U);
  }
}

INSTANTIATE_TEST_SUITE_P(Captures, CapturedSlabSysfs, shown_by("linux_slab_sysfs"), name_of_capture);

// ---- this machine --------------------------------------------------------------------------------------------------------

/// Notes what is read through it. Thread safety: none.
class NotedReads final : public ForwardingKernelView {
 public:
  using ForwardingKernelView::ForwardingKernelView;

  Result<void> read_file(std::string_view path, Buffer& out) override {
    ++reads[std::string(path.substr(path.rfind('/') + 1))];
    return inner_.read_file(path, out);
  }

  std::map<std::string, int, std::less<>> reads;  ///< By the file's own name.
};

class LiveSlabSysfs : public testing::Test {
 protected:
  void SetUp() override {
    auto view = make_live_kernel_view();
    if (!view || (*view)->os() != OperatingSystem::kLinux) GTEST_SKIP() << "this is not Linux";
    view_ = std::move(*view);
    if (const auto result = open_source(reader_, *view_); !result) GTEST_SKIP() << to_string(result.error());
  }
  void read_again(KernelView& view) {
    ASSERT_TRUE(read_source(reader_, view));
    const auto result = parse_source(reader_);
    ASSERT_TRUE(result) << to_string(result.error());
  }
  std::map<std::string, std::uint64_t> partial_slabs() {
    std::map<std::string, std::uint64_t> partial;
    for (const StagedType& type : reader_.staging.types()) {
      partial[std::string(type.name)] = type.figures[Field::kPartialSlabs];
    }
    return partial;
  }

  std::unique_ptr<KernelView> view_;
  SourceReader reader_{source()};
};

TEST_F(LiveSlabSysfs, AgreesWithSlabinfoReadBeforeAndAfter) {
  std::size_t compared = 0;
  std::string differing = "no attempt";
  // A cache may change and change back between two reads of slabinfo: one attempt of ten must be without.
  for (int attempt = 0; attempt < 200 && !(differing.empty() && compared > 50); ++attempt) {
    const auto before = slabinfo_of(*view_);
    read_again(*view_);
    const auto after = slabinfo_of(*view_);
    compared = 0;
    differing.clear();
    for (const StagedType& type : reader_.staging.types()) {
      const auto line = before.find(type.name);
      const auto later = after.find(type.name);
      if (line == before.end() || later == after.end() || !(line->second == later->second) || line->second.slabs == 0)
        continue;
      if (!type.fields.has(Field::kSlabs)) continue;
      ++compared;
      bool is_same = type.figures[Field::kSlabs] == line->second.slabs;
      if (reader_.staging.node_count() != 0) {
        is_same = is_same && sum_of_nodes(reader_.staging, type, NodeField::kTotalObjects) == line->second.objects;
        is_same = is_same && sum_of_nodes(reader_.staging, type, NodeField::kHeldBytes) ==
                                 line->second.slabs * line->second.pages_per_slab * view_->page_size();
      }
      if (!is_same) differing += std::string(type.name) + " ";
    }
  }
  EXPECT_EQ(differing, "");
  EXPECT_GT(compared, 50U);
}

/// The quickest of many reads: what it costs when nothing comes between. ns
std::int64_t quickest_read(KernelView& view, const std::string& path) {
  Buffer text;
  std::int64_t quickest = std::int64_t{1} << 60U;
  for (int i = 0; i < 50; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    if (!view.read_file(path, text)) return -1;
    const auto took = std::chrono::steady_clock::now() - begin;
    quickest = std::min<std::int64_t>(quickest, std::chrono::duration_cast<std::chrono::nanoseconds>(took).count());
  }
  return quickest;
}

constexpr const char* kAllFiles[] = {"slabs", "total_objects", "partial", "cpu_slabs", "objects", "objects_partial"};

/// With lists of partial slabs so long that walking them would tell: what is read is only what does not walk them. What it
/// costs is printed and not tested, since others use this machine.
TEST_F(LiveSlabSysfs, ReadsNothingThatWalksTheListsHoweverLongTheyAre) {
  constexpr std::size_t kSlabs = 20'000;        // 80 MB
  reader_.state = source().steps.make_state();  // so that counting gets into the plan
  reader_.state->options = {{.number = 1}, {.number = 10'000'000}};
  read_again(*view_);
  const auto before = partial_slabs();
  const auto likely = std::find_if(std::begin(kMessageCaches), std::end(kMessageCaches),
                                   [&](const char* cache) { return before.contains(cache); });
  ASSERT_NE(likely, std::end(kMessageCaches));
  std::map<std::string, std::int64_t> quick;
  for (const char* file : kAllFiles)
    quick[file] = quickest_read(*view_, "/sys/kernel/slab/" + std::string(*likely) + "/" + file);

  PartialSlabs slabs;
  if (!slabs.make(kSlabs)) GTEST_SKIP() << "this system does not let us make " << kSlabs << " partial slabs of messages";
  NotedReads noted(*view_);
  read_again(noted);
  std::string grown;
  std::uint64_t most = 0;
  for (const auto& [name, partial] : partial_slabs()) {
    const auto old = before.find(name);
    if (old == before.end() || partial < old->second || partial - old->second <= most) continue;
    most = partial - old->second;
    grown = name;
  }
  if (most < kSlabs / 2) GTEST_SKIP() << "only " << most << " slabs of one cache became partial";

  // Counting was asked for, but not of this cache: its list is too long.
  for (const StagedType& type : reader_.staging.types()) {
    if (type.name != grown) continue;
    EXPECT_FALSE(type.node_fields.has(NodeField::kCount)) << grown;
    EXPECT_GT(type.figures[Field::kPartialSlabs], kSlabs / 2);
    EXPECT_GE(type.figures[Field::kSlabs], type.figures[Field::kPartialSlabs]);
  }
  EXPECT_LT(noted.reads["objects"], noted.reads["slabs"]);
  // And by default nothing is counted at all.
  reader_.state->options.clear();
  noted.reads.clear();
  read_again(noted);
  EXPECT_GT(noted.reads["slabs"], 50);
  for (const auto& [file, count] : noted.reads) {
    const bool is_constant_time = file == "slabs" || file == "total_objects" || file == "partial" || file == "cpu_slabs" ||
                                  file.starts_with("alloc_") || file.starts_with("free_");
    EXPECT_TRUE(is_constant_time) << file << " was read " << count << " times";
  }
  std::cout << grown << " has " << most << " partial slabs more; the quickest read of each file before and after, ns:\n";
  for (const char* file : kAllFiles) {
    std::cout << "  " << file << ' ' << quick[file] << ' ' << quickest_read(*view_, "/sys/kernel/slab/" + grown + "/" + file)
              << '\n';
  }
}

}  // namespace
}  // namespace memstat::linux_slab_sysfs_kernels_test
