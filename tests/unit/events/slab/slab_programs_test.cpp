// SPDX-License-Identifier: BSD-2-Clause
// The programs that count slab events, run by the kernel with arguments of our own (BPF_PROG_TEST_RUN) and attached to
// nothing, for cases that this machine's kernel does not produce on demand.
#if defined(MEMSTAT_HAVE_LIBBPF)

#include <gtest/gtest.h>

#include <array>
#include <memory>

#include "core/events/attach/embedded_programs.h"
#include "core/events/bpf/sampling.h"
#include "core/events/bpf/slab_layout.h"
#include "tests/support/bpf_programs.h"

namespace memstat::events {
namespace {

class LiveSlabPrograms : public LoadedPrograms {
 protected:
  void SetUp() override { load(slab_events_by_size()); }
  const memstat_slab_cpu& cpu() {
    fetch("by_cpu", cpu_.get());
    return *cpu_;
  }
  memstat_slab_slots& shared() {
    fetch(".bss", shared_.get());
    return *shared_;
  }
  memstat_slab_row sum() {
    memstat_slab_row all{};
    for (const memstat_slab_row& row : cpu().rows) {
      all.cache_allocations += row.cache_allocations;
      all.cache_failures += row.cache_failures;
      all.cache_frees += row.cache_frees;
      all.kmalloc_frees += row.kmalloc_frees;
    }
    return all;
  }
  std::uint64_t large() {
    std::uint64_t all = 0;
    for (const unsigned long long count : cpu().totals.large_allocations) all += count;
    return all;
  }

  std::unique_ptr<memstat_slab_cpu> cpu_ = std::make_unique<memstat_slab_cpu>();
  std::unique_ptr<memstat_slab_slots> shared_ = std::make_unique<memstat_slab_slots>();
};

TEST_F(LiveSlabPrograms, CountAnAllocationWithoutAResultAsAFailure) {
  const memstat_slab_row before = sum();
  run("on_kmem_cache_alloc", {kFakeSite, 0, kFakeCache, 0, kAnyNode});
  run("on_kmem_cache_alloc", {kFakeSite, kFakeObject, kFakeCache, 0, kAnyNode});
  run("on_kmem_cache_alloc", {kFakeSite, kFakeObject, kFakeCache, 0, 1});
  EXPECT_EQ(sum().cache_failures - before.cache_failures, 1U);
  EXPECT_EQ(sum().cache_allocations - before.cache_allocations, 2U);
  EXPECT_EQ(cpu().totals.cache_on_node, 1U);
}

TEST_F(LiveSlabPrograms, CountManyEventsAsOneOrNoneInAPartOfTheTimeButEachFailure) {
  constexpr memstat_sampling kOneInFour{.mask = 3};
  constexpr std::uint64_t kTimes = 50;
  const memstat_slab_row before = sum();
  put(".data.sampling", &kOneInFour);
  for (std::uint64_t i = 0; i < kTimes; ++i) {
    run("on_kmem_cache_alloc", {kFakeSite, kFakeObject, kFakeCache, 0, kAnyNode});
    run("on_kmem_cache_alloc", {kFakeSite, 0, kFakeCache, 0, kAnyNode});
    run("on_kmem_cache_free", {kFakeSite, kFakeObject, kFakeCache});
  }
  EXPECT_EQ((sum().cache_allocations - before.cache_allocations) % 4, 0U);
  EXPECT_LE(sum().cache_allocations - before.cache_allocations, 4 * kTimes);
  EXPECT_EQ((sum().cache_frees - before.cache_frees) % 4, 0U);
  EXPECT_EQ(sum().cache_failures - before.cache_failures, kTimes);
}

TEST_F(LiveSlabPrograms, CountALargeKmallocThatIsReportedTwiceOnce) {
  const auto allocate = [&](std::uint64_t site, std::uint64_t object) {
    run("on_kmalloc", {site, object, 10'000, 16'384, 0, kAnyNode});
  };
  allocate(kFakeSite, kFakeObject);
  allocate(kFakeSite + 64, kFakeObject);  // the same object, and its true caller
  EXPECT_EQ(large(), 1U);
  EXPECT_EQ(cpu().totals.large_requested, 10'000U);
  allocate(kFakeSite, kFakeObject + 65'536);
  allocate(kFakeSite, kFakeObject + 65'536);  // freed meanwhile: the same caller again is another allocation
  EXPECT_EQ(large(), 3U);
  allocate(kFakeSite, 0);
  EXPECT_EQ(cpu().totals.large_failures, 1U);
  EXPECT_EQ(large(), 3U);
}

TEST_F(LiveSlabPrograms, CountEventsThatHaveNoPlaceInAFullTable) {
  constexpr std::uint64_t kCaches = 2 * MEMSTAT_SLAB_SLOTS;
  const memstat_slab_row before = sum();
  for (std::uint64_t i = 0; i < kCaches; ++i)
    run("on_kmem_cache_alloc", {kFakeSite, kFakeObject, kFakeCache + 64 * i, 0, kAnyNode});
  const std::uint64_t placed = sum().cache_allocations - before.cache_allocations;
  EXPECT_EQ(placed + shared().unplaced_events, kCaches) << "each is counted, or reported as lost";
  EXPECT_LE(placed, std::uint64_t{MEMSTAT_SLAB_SLOTS});
  EXPECT_GT(placed, std::uint64_t{MEMSTAT_SLAB_SLOTS} * 3 / 4);
}

TEST_F(LiveSlabPrograms, GiveASlotUpWhenItsCacheIsDestroyed) {
  constexpr std::uint64_t kCacheOfCaches = kFakeCache + 4096;
  const auto slots_of = [&](std::uint64_t key) {
    std::uint64_t count = 0;
    for (const unsigned long long known : shared().keys) count += known == key ? 1 : 0;
    return count;
  };
  run("on_kmem_cache_alloc", {kFakeSite, kFakeObject, kFakeCache, 0, kAnyNode});
  EXPECT_EQ(slots_of(kFakeCache), 1U);
  shared().cache_of_caches = kCacheOfCaches;
  put(".bss", shared_.get());
  const memstat_slab_row before = sum();
  run("on_kmem_cache_free", {kFakeSite, kFakeCache, kCacheOfCaches});
  EXPECT_EQ(slots_of(kFakeCache), 0U);
  EXPECT_EQ(slots_of(MEMSTAT_SLAB_FORGOTTEN), 1U);
  run("on_kmem_cache_alloc", {kFakeSite, kFakeObject, kFakeCache, 0, kAnyNode});
  EXPECT_EQ(slots_of(kFakeCache), 1U) << "another cache at the same address starts at 0";
  EXPECT_EQ(sum().cache_allocations - before.cache_allocations, 1U);
}

TEST_F(LiveSlabPrograms, CountNoFreeOfNothing) {
  load(slab_events_with_owner());
  if (IsSkipped()) return;
  run("on_kfree", {kFakeSite, 0});
  run("on_kfree", {kFakeSite, 16});  // ZERO_SIZE_PTR
  EXPECT_FALSE(is_refused_);
  EXPECT_EQ(sum().kmalloc_frees, 0U);
  EXPECT_EQ(cpu().totals.large_frees, 0U);
  run("on_kmem_cache_free", {kFakeSite, 0, kFakeCache});
  EXPECT_EQ(sum().cache_frees, 0U);
}

}  // namespace
}  // namespace memstat::events

#endif
