// SPDX-License-Identifier: BSD-2-Clause
// The programs that count callers of the allocator, run by the kernel with arguments of our own (BPF_PROG_TEST_RUN) and
// attached to nothing, for cases that this machine's kernel does not produce on demand.
#if defined(MEMSTAT_HAVE_LIBBPF)

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "core/events/attach/embedded_programs.h"
#include "core/events/bpf/site_layout.h"
#include "tests/support/bpf_programs.h"
#include "tests/support/live_load.h"

namespace memstat::events {
namespace {

class LiveSitePrograms : public LoadedPrograms {
 protected:
  void SetUp() override {
    if (!here_.is_there()) GTEST_SKIP() << "this process may not run on CPU 0";
    load(call_sites());
  }
  void allocate(std::uint64_t site, std::uint64_t object, std::uint64_t cache) {
    run("on_kmem_cache_alloc", {site, object, cache, 0, kAnyNode});
  }
  void kmalloc(std::uint64_t site, std::uint64_t object, std::uint64_t asked, std::uint64_t got, std::uint64_t flags = 0) {
    run("on_kmalloc", {site, object, asked, got, flags, kAnyNode});
  }
  void fetch_all() {
    fetch("by_cpu", cpus_.data());
    fetch(".bss", table_.get());
  }
  /// The sum of the rows that have a slot, or of those without.
  memstat_site_row sum(bool has_slot = true) {
    fetch_all();
    memstat_site_row all{};
    for (std::size_t at = has_slot ? 0 : MEMSTAT_SITE_ALL; at < (has_slot ? MEMSTAT_SITE_ALL : MEMSTAT_SITE_ROWS); ++at) {
      all.allocations += cpus_[0].rows[at].allocations;
      all.requested += cpus_[0].rows[at].requested;
      all.failures += cpus_[0].rows[at].failures;
    }
    return all;
  }
  std::size_t slots() {
    fetch_all();
    std::size_t count = 0;
    for (const unsigned long long& key : table_->keys) count += key != 0 ? 1 : 0;
    return count;
  }

  OnCpu here_{0};  // on another, a program would run in the task that runs there, and count for it
  std::vector<memstat_site_cpu> cpus_{1};
  std::unique_ptr<memstat_site_table> table_ = std::make_unique<memstat_site_table>();
};

TEST_F(LiveSitePrograms, CountAnAllocationWithoutAResultAsAFailure) {
  allocate(kFakeSite, 0, kFakeCache);
  allocate(kFakeSite, kFakeObject, kFakeCache);
  kmalloc(kFakeSite, 0, 100, 128);
  kmalloc(kFakeSite, kFakeObject, 100, 128);
  kmalloc(kFakeSite, 16, 0, 0);  // ZERO_SIZE_PTR is not memory
  EXPECT_EQ(sum().failures, 2U);
  EXPECT_EQ(sum().allocations, 2U);
  EXPECT_EQ(sum().requested, 100U);
  EXPECT_EQ(slots(), 2U);
}

TEST_F(LiveSitePrograms, DistinguishCallersSizesAndCharges) {
  kmalloc(kFakeSite, kFakeObject, 100, 128);
  kmalloc(kFakeSite, kFakeObject, 90, 96);
  kmalloc(kFakeSite, kFakeObject, 100, 128,
          0x400000);  // __GFP_ACCOUNT of kernels before 6.10, as in these constants
  kmalloc(kFakeSite + 64, kFakeObject, 100, 128);
  kmalloc(kFakeSite + 64, kFakeObject, 101, 128);
  EXPECT_EQ(slots(), 4U);
  std::size_t charged = 0;
  for (const memstat_site_slot& slot : table_->slots) charged += slot.is_charged;
  EXPECT_EQ(charged, 1U);
}

TEST_F(LiveSitePrograms, CountALargeKmallocThatIsReportedTwiceForItsTrueCallerOnly) {
  kmalloc(kFakeSite, kFakeObject, 10'000, 16'384);
  fetch_all();
  for (memstat_site_slot& slot : table_->slots) {
    if (slot.site == kFakeSite) std::string("__kmalloc_large_node_noprof").copy(slot.name, sizeof slot.name);
  }
  put(".bss", table_.get());
  kmalloc(kFakeSite + 4096, kFakeObject, 10'000, 16'384);
  EXPECT_EQ(sum().allocations, 1U);
  EXPECT_EQ(sum().requested, 10'000U);
  for (std::size_t at = 0; at < MEMSTAT_SITE_ALL; ++at) {
    if (table_->keys[at] == 0) continue;
    EXPECT_EQ(cpus_[0].rows[at].allocations, table_->slots[at].site == kFakeSite + 4096 ? 1U : 0U);
  }
  kmalloc(kFakeSite + 4096, kFakeObject + 65'536, 10'000, 16'384);
  kmalloc(kFakeSite + 8192, kFakeObject + 65'536, 10'000, 16'384);  // freed meanwhile: an allocation by another caller
  EXPECT_EQ(sum().allocations, 3U);
}

TEST_F(LiveSitePrograms, CountEachEventOfAFullTableSomewhere) {
  constexpr std::uint64_t kSites = 3 * MEMSTAT_SITE_ALL;
  for (std::uint64_t i = 0; i < kSites; ++i) allocate(kFakeSite + 64 * i, kFakeObject, kFakeCache);
  const std::uint64_t placed = sum().allocations;
  const std::uint64_t unplaced = sum(false).allocations;
  EXPECT_EQ(placed + unplaced, kSites);
  EXPECT_LE(placed, std::uint64_t{MEMSTAT_SITE_ALL});
  EXPECT_GT(placed, std::uint64_t{MEMSTAT_SITE_ALL} * 3 / 4);
  std::size_t coarse = 0;
  for (std::size_t at = MEMSTAT_SITE_SLOTS; at < MEMSTAT_SITE_ALL; ++at) {
    if (table_->keys[at] != 0 && table_->slots[at].group == MEMSTAT_SITE_ANY_GROUP) ++coarse;
  }
  EXPECT_GT(coarse, std::size_t{MEMSTAT_SITE_COARSE_SLOTS} * 3 / 4) << "an event without room keeps its function";
}

}  // namespace
}  // namespace memstat::events

#endif
