// SPDX-License-Identifier: BSD-2-Clause
// The defects of FreeBSD's libmemstat, by the numbers of our list, and what our library does instead. 8 to 17 are of its
// reader of crash dumps. Ours makes the kernel's own streams (unit/postmortem/freebsd), which the code tested here reads.
#include "core/kernel/sysctl_read.h"
#include "tests/support/c_list.h"
#include "tests/support/faulty_kernel_view.h"
#include "tests/support/result_checks.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

class CApiDefects : public testing::Test {
 protected:
  void query(const std::string& malloc_stream, const std::string& uma_stream, std::uint32_t cpus = 2) {
    if (kernel_ == nullptr) {
      kernel_ = make_kernel(malloc_stream, uma_stream, cpus);
      faulty_ = std::make_shared<FaultyKernelView>(*kernel_);
      list_ = make_list(faulty_);
    }
    faulty_->set_cpu_count(cpus);
    set_malloc(*kernel_, malloc_stream);
    set_uma(*kernel_, uma_stream);
    ASSERT_EQ(memstat_sysctl_all(list_.get(), 0), 0) << memstat_mtl_get_message(list_.get());
  }
  [[nodiscard]] memory_type* find(const char* name) const { return memstat_mtl_find(list_.get(), ALLOCATOR_ANY, name); }

  std::shared_ptr<FakeKernelView> kernel_;
  std::shared_ptr<FaultyKernelView> faulty_;
  ListPtr list_;
};

std::string malloc_on(std::uint32_t cpus) {
  MallocStream stream(cpus);
  std::map<std::uint32_t, MallocBlock> blocks;
  for (std::uint32_t cpu = 0; cpu < cpus; ++cpu) blocks[cpu] = {1000 + cpu, cpu, 10 + cpu, 1, 1ULL << cpu % 64};
  return stream.add("m", blocks).bytes();
}
std::string uma_on(std::uint32_t cpus) {
  UmaStream stream(cpus);
  std::map<std::uint32_t, UmaBlock> blocks;
  for (std::uint32_t cpu = 0; cpu < cpus; ++cpu) blocks[cpu] = {10, 1, 50 + cpu};
  return stream.add({.name = "z", .size = 8, .rsize = 8, .blocks = blocks}).bytes();
}

TEST_F(CApiDefects, Defect01DuplicatesAreShownEachAndFoldedOnlyOnRequest) {
  const std::string zones = UmaStream(1).add({.name = "d", .allocs = 1}).add({.name = "d", .allocs = 2}).bytes();
  query(malloc_on(1), zones, 1);
  query(malloc_on(1), zones, 1);
  EXPECT_EQ(memstat_mtl_get_count(list_.get()), 3U);
  EXPECT_EQ(memstat_get_numallocs(memstat_mtl_first(list_.get())), 2U);
  EXPECT_EQ(memstat_get_numallocs(memstat_mtl_next(memstat_mtl_first(list_.get()))), 1U) << "not stale, not folded";
  const ListPtr folding = make_list(kernel_);
  memstat_mtl_set_folding(folding.get(), 1);
  ASSERT_EQ(memstat_sysctl_all(folding.get(), 0), 0);
  EXPECT_EQ(memstat_mtl_get_count(folding.get()), 2U);
}

TEST_F(CApiDefects, Defect02MoreCpusThanBeforeGetRoom) {
  query(malloc_on(2), uma_on(2), 2);
  fill_slots(list_.get());
  memory_type* const m = find("m");
  const std::uint64_t slot = memstat_get_percpu_caller_uint64(m, 1, 15);
  query(malloc_on(64), uma_on(64), 64);
  EXPECT_EQ(find("m"), m);
  EXPECT_EQ(memstat_get_percpu_memalloced(m, 63), 1063U);
  EXPECT_EQ(memstat_get_percpu_free(find("z"), 63), 113U);
  EXPECT_EQ(memstat_get_percpu_caller_uint64(m, 1, 15), slot);
  EXPECT_EQ(memstat_get_percpu_caller_uint64(m, 63, 15), 0U);
  memstat_set_percpu_caller_uint64(m, 63, 15, 99);
  query(malloc_on(1), uma_on(1), 1);
  EXPECT_EQ(memstat_get_percpu_memalloced(m, 63), 0U) << "gone, so 0 and not its last figure";
  EXPECT_EQ(memstat_get_percpu_caller_uint64(m, 63, 15), 99U);
  EXPECT_EQ(memstat_get_memalloced(m), 1000U);
}

TEST_F(CApiDefects, Defect03CallerSlotsOfCpusBeginAs0) {
  query(malloc_on(64), uma_on(64), 64);
  for (const char* name : {"m", "z"}) {
    for (int cpu = 0; cpu < 64; ++cpu) {
      for (int index = 0; index < MEMSTAT_MAXCALLER; ++index) {
        ASSERT_EQ(memstat_get_percpu_caller_uint64(find(name), cpu, index), 0U);
        ASSERT_EQ(memstat_get_percpu_caller_pointer(find(name), cpu, index), nullptr);
      }
    }
    memstat_set_percpu_caller_uint64(find(name), 5, 3, 1);
    EXPECT_EQ(memstat_get_percpu_caller_uint64(find(name), 6, 3), 0U) << "also next to one that is set";
    EXPECT_EQ(memstat_get_percpu_caller_uint64(find(name), 63, 3), 0U);
  }
}

TEST_F(CApiDefects, Defect04CallerSlotsOfEveryCpuSurviveAKvmQueryAndFewerCpus) {
  query(malloc_on(8), uma_on(8), 8);
  fill_slots(list_.get());
  EXPECT_EQ(memstat_kvm_all(list_.get(), nullptr), -1);
  const std::uint64_t slot = memstat_get_percpu_caller_uint64(find("m"), 7, 15);
  ASSERT_NE(slot, 0U);
  query(malloc_on(2), uma_on(2), 2);
  EXPECT_EQ(memstat_get_percpu_caller_uint64(find("m"), 7, 15), slot);
}

TEST_F(CApiDefects, Defect05AStreamIsNeverReadBeyondItsEnd) {
  query(malloc_on(2), uma_on(2));
  const std::string before = everything(list_.get());
  for (const auto& [name, bytes] : {std::pair("kern.malloc_stats", malloc_on(2)), std::pair("vm.zone_stats", uma_on(2))}) {
    for (std::size_t size = 16; size < bytes.size(); ++size) {
      kernel_->set(name, bytes.substr(0, size));
      ASSERT_EQ(memstat_sysctl_all(list_.get(), 0), -1) << name << ' ' << size;
      ASSERT_EQ(memstat_mtl_geterror(list_.get()), MEMSTAT_ERROR_DATAERROR) << name << ' ' << size;
    }
    kernel_->set(name, bytes);
  }
  EXPECT_EQ(everything(list_.get()), before);
}

TEST_F(CApiDefects, Defect06ALimitInBytesIs64BitsWide) {
  query(malloc_on(1), UmaStream(1).add({.name = "z", .size = 65536, .rsize = 65536, .limit = 1U << 20}).bytes());
  EXPECT_EQ(memstat_get_byteslimit(find("z")), 1ULL << 36);
  query(malloc_on(1), UmaStream(1).add({.name = "z", .size = 0xFFFFFFFF, .rsize = 1, .limit = 0xFFFFFFFF}).bytes());
  EXPECT_EQ(memstat_get_byteslimit(find("z")), 0xFFFFFFFFULL * 0xFFFFFFFFULL);
}

TEST_F(CApiDefects, Defect07AKernelThatNeverHasRoomEndsWithNoMemory) {
  query(malloc_on(1), uma_on(1), 1);
  for (const char* name : {"kern.malloc_stats", "vm.zone_stats"}) {
    kernel_->fail(name, ENOMEM);
    const int reads = kernel_->reads_of(name);
    EXPECT_EQ(memstat_sysctl_all(list_.get(), 0), -1);
    EXPECT_EQ(memstat_mtl_geterror(list_.get()), MEMSTAT_ERROR_NOMEMORY);
    EXPECT_EQ(kernel_->reads_of(name), reads + 1) << "the view has tried often enough";
    kernel_->set(name, name == std::string("vm.zone_stats") ? uma_on(1) : malloc_on(1));
  }
  int calls = 0;
  Buffer out;
  const auto result = grow_and_retry("kern.malloc_stats", out, 1000, [&](void*, std::size_t* length) {
    *length = 0;
    return ++calls, ENOMEM;
  });
  ASSERT_TRUE(fails(result, ErrorCode::kNoMemory));
  EXPECT_LE(calls, 18) << "nine reads, each with a request for the size";
}

TEST_F(CApiDefects, Defects08And11And17CpuNumbersWithHolesAreNotCompactedAndEachHasItsOwnBlock) {
  query(MallocStream(8).add("m", {{0, {1, 0, 1, 0, 0}}, {5, {6, 0, 1, 0, 0}}, {7, {8, 0, 1, 0, 0}}}).bytes(),
        UmaStream(8).add({.name = "z", .blocks = {{2, {0, 0, 3}}, {7, {0, 0, 8}}}}).bytes(), 8);
  for (int cpu = 0; cpu < 8; ++cpu) {
    const auto expected = static_cast<std::uint64_t>(cpu + 1);
    EXPECT_EQ(memstat_get_percpu_memalloced(find("m"), cpu), cpu == 0 || cpu == 5 || cpu == 7 ? expected : 0) << cpu;
    EXPECT_EQ(memstat_get_percpu_free(find("z"), cpu), cpu == 2 || cpu == 7 ? expected : 0) << cpu;
  }
  EXPECT_EQ(memstat_get_memalloced(find("m")), 15U);
  EXPECT_EQ(memstat_get_free(find("z")), 11U);
}

TEST_F(CApiDefects, Defects09And10TheTableOfSizeClassesHasEachSizeAndIsNotReadBeyondItsEnd) {
  query(malloc_on(1), uma_on(1), 1);
  for (std::size_t n = 0; n < kSizeClasses13.size(); ++n) EXPECT_EQ(memstat_malloc_zone_get_size(n), kSizeClasses13[n]);
  kernel_->set("vm.malloc.zone_count", bytes_of(32));
  kernel_->set("vm.malloc.zone_sizes", bytes_of(16) + bytes_of(32) + "\1\2\3");
  ASSERT_EQ(memstat_sysctl_malloc(list_.get(), 0), 0);
  EXPECT_EQ(memstat_malloc_zone_get_size(1), 32U);
  for (std::size_t n = 2; n < 32; ++n) EXPECT_EQ(memstat_malloc_zone_get_size(n), 0U) << n;
}

TEST_F(CApiDefects, Defect12AZoneIsClampedAfterTheSumOverItsCpus) {
  const UmaZone zone = {.name = "z", .size = 8, .allocs = 1, .frees = 5, .blocks = {{0, {10, 0, 0}}, {1, {0, 2, 0}}}};
  query(malloc_on(2), UmaStream(2).add(zone).bytes());
  EXPECT_EQ(memstat_get_numallocs(find("z")), 11U) << "clamped first it would be 15";
  EXPECT_EQ(memstat_get_count(find("z")), 4U);
}

TEST_F(CApiDefects, Defects13And14FreeItemsOfTheKegCountForThePrimaryZoneByTheZonesOwnFlag) {
  query(malloc_on(1), UmaStream(1)
                          .add({.name = "primary", .rsize = 8, .keg_free = 9, .zone_free = 1, .flags = 0xFFFFFFFE})
                          .add({.name = "secondary", .rsize = 8, .keg_free = 9, .zone_free = 2, .flags = 1})
                          .bytes());
  EXPECT_EQ(memstat_get_kegfree(find("primary")), 9U);
  EXPECT_EQ(memstat_get_free(find("primary")), 10U);
  EXPECT_EQ(memstat_get_kegfree(find("secondary")), 0U);
  EXPECT_EQ(memstat_get_free(find("secondary")), 2U);
}

TEST_F(CApiDefects, Defect15AReadThatFailsMidwayChangesNothing) {
  query(malloc_on(2), UmaStream(2).add({.name = "y"}).add({.name = "z", .zone_free = 3}).bytes());
  const std::string before = everything(list_.get());
  const std::string longer = UmaStream(2).add({.name = "y", .allocs = 7}).add({.name = "z", .zone_free = 5}).bytes();
  kernel_->set("vm.zone_stats", longer.substr(0, longer.size() - 1));
  EXPECT_EQ(memstat_sysctl_uma(list_.get(), 0), -1);
  EXPECT_EQ(everything(list_.get()), before) << "not even the first zone, which was complete";
}

TEST_F(CApiDefects, Defect16CacheZonesAreShown) {
  query(malloc_on(1), UmaStream(1)
                          .add({.name = "z", .size = 8, .rsize = 8})
                          .add({.name = "cache", .size = 4096, .allocs = 9, .frees = 2, .blocks = {{0, {1, 0, 4}}}})
                          .bytes());
  ASSERT_NE(find("cache"), nullptr);
  EXPECT_EQ(memstat_get_bytes(find("cache")), 8U * 4096);
  EXPECT_EQ(memstat_get_kegfree(find("cache")), 0U);
  EXPECT_EQ(memstat_get_free(find("cache")), 4U);
}

}  // namespace
}  // namespace memstat
