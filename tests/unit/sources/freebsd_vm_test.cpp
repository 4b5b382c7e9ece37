// SPDX-License-Identifier: BSD-2-Clause
// FreeBSD's page allocator from handwritten sysctls. Captures: tests/guests/checker.py.
#include "core/query.h"
#include "tests/support/staged_statistics.h"
#include "tests/support/sysctl_kernel.h"
#include "tests/support/test.h"

namespace memstat::freebsd_vm_test {
namespace {

constexpr std::uint64_t kPage = 4096;

const SourceDescriptor& source() { return *find_source("freebsd_vm"); }

const StagedType* find_type(const Staging& staging, std::string_view name) {
  for (const StagedType& type : staging.types()) {
    if (type.name == name) return &type;
  }
  return nullptr;
}

/// A kernel with 1000 pages in two domains.
class FreebsdVm : public testing::Test {
 protected:
  FreebsdVm() {
    for (const auto& [name, value] :
         std::initializer_list<std::pair<const char*, std::uint32_t>>{{"v_page_count", 1000},
                                                                      {"v_free_count", 300},
                                                                      {"v_wire_count", 200},
                                                                      {"v_active_count", 250},
                                                                      {"v_inactive_count", 150},
                                                                      {"v_laundry_count", 60},
                                                                      {"v_user_wire_count", 9},
                                                                      {"v_free_min", 5},
                                                                      {"v_inactive_target", 30}}) {
      kernel_.set_u32("vm.stats.vm." + std::string(name), value);
    }
    kernel_.set_u64("vm.stats.vm.v_pdpages", 77);
    kernel_.set_u64("vm.uma_kmem_total", 100 * kPage);
    kernel_.set_u64("vfs.bufspace", 30 * kPage);
    kernel_.set_u64("vfs.bufmallocspace", 5 * kPage);
    kernel_.set_u32("vm.pmap.kernel_pt_page_count", 7);
    kernel_.set_u32("vm.pmap.user_pt_page_count", 8);
    kernel_.set_u32("vm.pmap.pv_page_count", 6);
    kernel_.set_u32("vm.stats.page.nofreeq_size", 15);
    add_domain(0, 200, 20);
    add_domain(1, 100, 10);
  }
  void add_domain(int number, std::uint32_t free, std::uint32_t unit) {
    const std::string prefix = "vm.domain." + std::to_string(number) + ".stats.";
    for (const auto& [name, value] : std::initializer_list<std::pair<const char*, std::uint32_t>>{{"free_count", free},
                                                                                                  {"active", 5 * unit},
                                                                                                  {"inactive", 4 * unit},
                                                                                                  {"laundry", 2 * unit},
                                                                                                  {"unswappable", unit / 10},
                                                                                                  {"free_min", unit}}) {
      kernel_.set_u32(prefix + name, value);
    }
    for (const char* name : {"actpdpgs", "inactpdpgs", "laundpdpgs", "unswppdpgs"}) kernel_.set_u64(prefix + name, unit);
  }
  Result<void> refresh_it() {
    reader_.emplace(source());
    if (auto result = open_source(*reader_, kernel_); !result) return result;
    return refresh(*reader_, kernel_, list_, ++generation_);
  }
  /// "bytes count held free", each "-" where the type does not have it; "none" without the type.
  std::string type(std::string_view name) {
    const StagedType* found = find_type(reader_->staging, name);
    if (found == nullptr) return "none";
    std::string text;
    for (const Field field : {Field::kBytes, Field::kCount, Field::kHeldBytes, Field::kFree}) {
      const std::uint64_t unit = field == Field::kBytes || field == Field::kHeldBytes ? kPage : 1;
      text += (text.empty() ? "" : " ") + (found->fields.has(field) ? std::to_string(found->figures[field] / unit) : "-");
    }
    return text;
  }
  std::map<std::string, std::uint64_t> statistics() const { return statistics_of(reader_->staging); }

  SysctlKernel kernel_;
  std::optional<SourceReader> reader_;
  MemoryTypeList list_;
  std::uint64_t generation_ = 0;
};

TEST_F(FreebsdVm, WhatTheArcCanGiveBackIsAvailable) {
  const auto read = [this] {
    MemoryTypeList list;
    SourceReader reader(source());
    EXPECT_TRUE(refresh(reader, kernel_, list, 1));
    return statistics_of(reader.staging);
  };
  const std::uint64_t without = read().at("memory_available_bytes");
  EXPECT_FALSE(read().contains("zfs_arc_bytes"));
  kernel_.set_u64("kstat.zfs.misc.arcstats.size", 90 * kPage);
  kernel_.set_u64("kstat.zfs.misc.arcstats.c", 100 * kPage);
  kernel_.set_u64("kstat.zfs.misc.arcstats.c_min", 20 * kPage);
  auto found = read();
  EXPECT_EQ(found.at("zfs_arc_bytes"), 90 * kPage);
  EXPECT_EQ(found.at("zfs_arc_target_bytes"), 100 * kPage);
  EXPECT_EQ(found.at("zfs_arc_min_bytes"), 20 * kPage);
  EXPECT_EQ(found.at("memory_available_bytes"), without + 70 * kPage);
  kernel_.set_u64("kstat.zfs.misc.arcstats.c", 30 * kPage);
  EXPECT_EQ(read().at("memory_available_bytes"), without + 10 * kPage) << "the rest should be free by now";
  kernel_.set_u64("kstat.zfs.misc.arcstats.size", 5 * kPage);
  EXPECT_EQ(read().at("memory_available_bytes"), without);
}

TEST_F(FreebsdVm, DividesMemoryIntoPartsThatDoNotOverlap) {
  ASSERT_TRUE(refresh_it());
  std::string text;
  std::uint64_t sum = 0;
  for (const StagedStatistics::Entry& entry : reader_->staging.statistics().entries()) {
    if (entry.metric != &kAccountedBytes) continue;
    sum += entry.bits / kPage;
    text += std::string(reader_->staging.statistics().label(entry, 0)) + " " + std::to_string(entry.bits / kPage) + "\n";
  }
  EXPECT_EQ(text,
            "active 250\ninactive 150\nlaundry 60\nunswappable 3\nset_aside 15\nkmem 100\npage_tables 15\npv_entries 6\n"
            "buffers 25\nuser_wired 9\nwired_other 45\n");
  EXPECT_EQ(find_statistic(reader_->staging, kUnaccountedBytes), (1000 - 300 - sum) * kPage);
  EXPECT_EQ(find_statistic(reader_->staging, kTotalBytes), 1000 * kPage);
  EXPECT_EQ(sum_of_statistics(reader_->staging, "accounted_part_missing").count, 0U);
}

TEST_F(FreebsdVm, LockedPagesThatAreStillInTheirQueueCountOnce) {
  ASSERT_TRUE(refresh_it());
  const auto before = find_statistic(reader_->staging, kUnaccountedBytes);
  ASSERT_TRUE(before);
  const std::uint64_t rest = *before / kPage;
  kernel_.set_u32("vm.stats.vm.v_active_count", static_cast<std::uint32_t>(250 + rest + 4));  // 4 of the 9 wired by mlock(2)
  ASSERT_TRUE(refresh_it());
  EXPECT_EQ(find_statistic(reader_->staging, kUnaccountedBytes), 0U);
  kernel_.set_u32("vm.stats.vm.v_active_count", static_cast<std::uint32_t>(250 + rest + 4 + 9));
  ASSERT_TRUE(refresh_it());
  EXPECT_EQ(static_cast<std::int64_t>(find_statistic(reader_->staging, kUnaccountedBytes).value_or(0)),
            -4 * static_cast<std::int64_t>(kPage))
      << "no more than the locked pages count twice";
}

TEST_F(FreebsdVm, NeverTakesMoreFromWiredPagesThanThereAre) {
  kernel_.set_u64("vm.uma_kmem_total", 180 * kPage);
  ASSERT_TRUE(refresh_it());
  EXPECT_EQ(find_statistic(reader_->staging, kAccountedBytes, "page_tables"), 15 * kPage);
  EXPECT_EQ(find_statistic(reader_->staging, kAccountedBytes, "pv_entries"), 5 * kPage);
  EXPECT_EQ(find_statistic(reader_->staging, kAccountedBytes, "buffers"), 0U);
  EXPECT_EQ(find_statistic(reader_->staging, kAccountedBytes, "wired_other"), 0U);
}

TEST_F(FreebsdVm, NamesThePartsThatAKernelDoesNotReport) {
  kernel_.sysctls.erase("vm.stats.vm.v_active_count");
  kernel_.sysctls.erase("vm.stats.vm.v_wire_count");
  ASSERT_TRUE(refresh_it());
  EXPECT_EQ(find_statistic(reader_->staging, kPartMissing, "active"), 1U);
  EXPECT_EQ(find_statistic(reader_->staging, kPartMissing, "wired_other"), 1U);
  EXPECT_EQ(find_statistic(reader_->staging, kAccountedBytes, "kmem"), std::nullopt);
  EXPECT_EQ(type("wired"), "none");
}

TEST_F(FreebsdVm, OfAnArchitectureWithoutCountsOfPageTablesHasThemInTheRest) {
  kernel_.remove_tree("vm.pmap.");
  ASSERT_TRUE(refresh_it());
  EXPECT_EQ(find_statistic(reader_->staging, kAccountedBytes, "page_tables"), std::nullopt);
  EXPECT_EQ(find_statistic(reader_->staging, kAccountedBytes, "wired_other"), (45U + 15 + 6) * kPage);
}

// Before FreeBSD 12.0 a domain reports no free pages and no thresholds; before that there may be no domains at all.
TEST_F(FreebsdVm, HasTotalsWhereDomainsHaveNone) {
  for (const char* leaf : {"free_count", "free_min"}) {
    for (const char* domain : {"0", "1"}) kernel_.sysctls.erase("vm.domain." + std::string(domain) + ".stats." + leaf);
  }
  ASSERT_TRUE(refresh_it());
  EXPECT_EQ(type("all domains free"), "- - 300 300");
  EXPECT_EQ(type("domain 0 active"), "100 100 100 -");
  EXPECT_EQ(type("all domains active"), "none");
  EXPECT_EQ(statistics().at("zone_watermark_bytes{all,free,min}"), 5 * kPage);
  kernel_.remove_tree("vm.domain.");
  ASSERT_TRUE(refresh_it());
  EXPECT_EQ(reader_->staging.types().size(), 5U);
  EXPECT_EQ(type("all domains laundry"), "60 60 60 -");
  EXPECT_EQ(statistics().at("reclaim_scanned_pages_total{page_daemon}"), 77U);
  EXPECT_EQ(statistics().at("zone_watermark_bytes{all,inactive,target}"), 30 * kPage);
}

TEST_F(FreebsdVm, HasTheWishOfThePageDaemonsController) {
  kernel_.set_u32("vm.domain.0.pidctrl.output", 700);
  kernel_.set_u32("vm.domain.1.pidctrl.output", 0xFFFFFFF6U);  // -10
  ASSERT_TRUE(refresh_it());
  EXPECT_EQ(statistics().at("page_daemon_wanted_pages{0}"), 700U);
  EXPECT_EQ(statistics().at("page_daemon_wanted_pages{1}"), 0U);
  EXPECT_EQ(statistics().at("zone_watermark_bytes{1,free,min}"), 10 * kPage) << "what follows is read on";
  kernel_.set("vm.domain.1.pidctrl.output", "123");
  EXPECT_FALSE(refresh_it());
}

TEST_F(FreebsdVm, ReadsCountersOf32BitsAsOlderKernelsHaveThem) {
  kernel_.set_u32("vm.stats.vm.v_tfree", 4000000000U);
  ASSERT_TRUE(refresh_it());
  EXPECT_EQ(statistics().at("page_frees_total"), 4000000000U);
}

TEST_F(FreebsdVm, LeavesOutWhatCannotBeAndStaysWithin64Bits) {
  kernel_.set_u64("vm.stats.vm.v_page_count", ~std::uint64_t{0});
  kernel_.set_u64("vm.stats.vm.v_free_count", 0);
  kernel_.set_u64("vm.stats.vm.v_active_count", ~std::uint64_t{0});
  kernel_.set_u64("vm.stats.vm.v_inactive_count", ~std::uint64_t{0});
  kernel_.set_u64("vm.domain.0.stats.actpdpgs", ~std::uint64_t{0});
  ASSERT_TRUE(refresh_it());
  EXPECT_EQ(find_statistic(reader_->staging, kTotalBytes), ~std::uint64_t{0});
  EXPECT_EQ(statistics().at("reclaim_scanned_pages_total{active}"), ~std::uint64_t{0});
}

TEST_F(FreebsdVm, FindsItsSysctlsOnce) {
  ASSERT_TRUE(refresh_it());
  kernel_.reads.clear();
  ASSERT_TRUE(refresh(*reader_, kernel_, list_, ++generation_));
  for (const auto& [name, count] : kernel_.reads) EXPECT_EQ(count, 1) << name;
  EXPECT_FALSE(kernel_.reads.contains("vm.pageout_lock_miss")) << "which this kernel does not have";
  EXPECT_FALSE(kernel_.reads.contains("vm.domain.2.stats.active"));
  EXPECT_FALSE(kernel_.reads.contains("vm.stats.vm.v_pdpages")) << "which the domains have";
  EXPECT_FALSE(kernel_.reads.contains("vm.stats.vm.v_free_min"));
}

}  // namespace
}  // namespace memstat::freebsd_vm_test
