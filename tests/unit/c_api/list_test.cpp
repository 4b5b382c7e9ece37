// SPDX-License-Identifier: BSD-2-Clause
// The list as libmemstat's callers know it: order, search, repeated queries, duplicate names.
#include <gtest/gtest.h>

#include <climits>

#include "tests/support/c_list.h"

namespace memstat {
namespace {

using Names = std::vector<std::string>;

std::string malloc_of(const Names& names, std::uint64_t scale = 1) {
  MallocStream stream(2);
  std::uint64_t value = scale;
  for (const std::string& name : names) stream.add(name, {{0, {16 * value, 0, value, 0, 1}}}), ++value;
  return stream.bytes();
}
/// The n-th of them has `scale` + n allocations.
std::string uma_of(const Names& names, std::uint64_t scale = 1) {
  UmaStream stream(2);
  std::uint64_t value = scale;
  for (const std::string& name : names) stream.add({.name = name, .size = 8, .rsize = 8, .allocs = value++});
  return stream.bytes();
}
std::vector<std::uint64_t> allocations_of(memory_type_list* list) {
  std::vector<std::uint64_t> all;
  for (memory_type* type = memstat_mtl_first(list); type != nullptr; type = memstat_mtl_next(type)) {
    all.push_back(memstat_get_numallocs(type));
  }
  return all;
}
using Numbers = std::vector<std::uint64_t>;

TEST(CApiList, ShowsTheOldestFirstAndZonesBeforeMallocTypes) {
  const auto kernel = make_kernel(malloc_of({"m3", "m2", "m1"}), uma_of({"z2", "z1", "cache2", "cache1"}));
  const ListPtr list = make_list(kernel);
  ASSERT_EQ(memstat_sysctl_all(list.get(), 0), 0);
  EXPECT_EQ(order_of(list.get()), (Names{"2:cache1", "2:cache2", "2:z1", "2:z2", "1:m1", "1:m2", "1:m3"}));
  const ListPtr other = make_list(kernel);
  ASSERT_EQ(memstat_sysctl_uma(other.get(), 0), 0);
  ASSERT_EQ(memstat_sysctl_malloc(other.get(), 0), 0);
  EXPECT_EQ(order_of(other.get()), (Names{"1:m1", "1:m2", "1:m3", "2:cache1", "2:cache2", "2:z1", "2:z2"}));
}

TEST(CApiList, FindsByAllocatorAndExactName) {
  const auto kernel = make_kernel(malloc_of({"temp", "mbuf_tag"}), uma_of({"temp", "mbuf"}));
  const ListPtr list = make_list(kernel);
  ASSERT_EQ(memstat_sysctl_all(list.get(), 0), 0);
  const auto find = [&](int allocator, const char* name) { return memstat_mtl_find(list.get(), allocator, name); };
  EXPECT_EQ(memstat_get_allocator(find(ALLOCATOR_MALLOC, "temp")), ALLOCATOR_MALLOC);
  EXPECT_EQ(memstat_get_allocator(find(ALLOCATOR_UMA, "temp")), ALLOCATOR_UMA);
  EXPECT_EQ(find(ALLOCATOR_ANY, "temp"), find(ALLOCATOR_UMA, "temp")) << "nearer to the head";
  EXPECT_EQ(find(ALLOCATOR_ANY, "mbuf_tag"), find(ALLOCATOR_MALLOC, "mbuf_tag"));
  EXPECT_NE(find(ALLOCATOR_ANY, "mbuf"), nullptr);
  EXPECT_EQ(find(ALLOCATOR_UMA, "mbuf_tag"), nullptr) << "of the other allocator";
  for (const std::string& name : {std::string(), std::string("tem"), std::string("temp "), std::string("Temp"),
                                  std::string(32, 'n'), std::string(5000, 'n')})
    EXPECT_EQ(find(ALLOCATOR_ANY, name.c_str()), nullptr) << name;
  for (const int allocator : {ALLOCATOR_UNKNOWN, ALLOCATOR_SLAB, ALLOCATOR_VMALLOC, ALLOCATOR_PROCESS, 17, 254, 256, 257,
                              511, -1, INT_MIN, INT_MAX}) {
    EXPECT_EQ(find(allocator, "temp"), nullptr) << allocator;
  }
  EXPECT_EQ(memstat_mtl_geterror(list.get()), MEMSTAT_ERROR_UNDEFINED);
}

TEST(CApiList, ReturnsNamesThatFitWhateverTheKernelReports) {
  const auto kernel = make_kernel(malloc_of({std::string(31, '\xFF'), "caf\xE9"}), uma_of({std::string(30, 'x') + "\xC3"}));
  const ListPtr list = make_list(kernel);
  ASSERT_EQ(memstat_sysctl_all(list.get(), 0), 0);
  for (memory_type* type = memstat_mtl_first(list.get()); type != nullptr; type = memstat_mtl_next(type)) {
    EXPECT_LT(std::strlen(memstat_get_name(type)), std::size_t{MEMTYPE_MAXNAME}) << memstat_get_name(type);
    EXPECT_NE(memstat_mtl_find(list.get(), memstat_get_allocator(type), memstat_get_name(type)), nullptr);
  }
}

TEST(CApiRepeatedQuery, KeepsPointersNamesAndSlotsAndRenewsFigures) {
  const auto kernel = make_kernel(malloc_of({"m2", "m1"}), uma_of({"z2", "z1"}));
  const ListPtr list = make_list(kernel);
  ASSERT_EQ(memstat_sysctl_all(list.get(), 0), 0);
  fill_slots(list.get());
  memory_type* type = memstat_mtl_find(list.get(), ALLOCATOR_MALLOC, "m1");
  const char* const name = memstat_get_name(type);
  const std::string before = everything(list.get());
  ASSERT_EQ(memstat_sysctl_all(list.get(), 0), 0);
  EXPECT_EQ(everything(list.get()), before) << "the same kernel gives the same list";
  set_malloc(*kernel, malloc_of({"m2", "m1"}, 100));
  set_uma(*kernel, uma_of({"z2", "z1"}, 100));
  for (int i = 0; i < 3; ++i) ASSERT_EQ(memstat_sysctl_all(list.get(), 0), 0);
  EXPECT_EQ(order_of(list.get()), (Names{"2:z1", "2:z2", "1:m1", "1:m2"}));
  EXPECT_EQ(allocations_of(list.get()), (Numbers{101, 100, 101, 100}));
  EXPECT_EQ(memstat_get_name(type), name);
  EXPECT_EQ(memstat_get_caller_uint64(type, 15) != 0 && memstat_get_percpu_caller_uint64(type, 1, 15) != 0, true);
  set_malloc(*kernel, malloc_of({"m2", "m1"}));
  set_uma(*kernel, uma_of({"z2", "z1"}));
  ASSERT_EQ(memstat_sysctl_all(list.get(), 0), 0);
  EXPECT_EQ(everything(list.get()), before) << "the slots too";
}

TEST(CApiFolding, WritesAllOntoTheFirstMatchInASecondQueryAndLeavesTheOthersStale) {
  const auto kernel = make_kernel(malloc_of({"m"}), uma_of({"z", "twice", "twice"}));
  const ListPtr list = make_list(kernel);
  memstat_mtl_set_folding(list.get(), 1);
  ASSERT_EQ(memstat_sysctl_uma(list.get(), 0), 0);
  set_uma(*kernel, uma_of({"z", "twice", "twice"}, 10));
  ASSERT_EQ(memstat_sysctl_uma(list.get(), 0), 0);
  EXPECT_EQ(order_of(list.get()), (Names{"2:twice", "2:twice", "2:z"}));
  EXPECT_EQ(allocations_of(list.get()), (Numbers{12, 2, 10})) << "the stream's last; the figure of the first query";
  set_uma(*kernel, uma_of({"twice", "twice", "twice", "z"}, 20));
  ASSERT_EQ(memstat_sysctl_uma(list.get(), 0), 0);
  EXPECT_EQ(allocations_of(list.get()), (Numbers{22, 2, 23})) << "a third of the name makes no entry";
}

TEST(CApiFolding, AlreadyFoldsZonesInTheFirstQueryOfAllBecauseMallocFilledTheList) {
  const auto kernel = make_kernel(malloc_of({"m", "m"}), uma_of({"twice", "z", "twice", "y"}));
  const ListPtr list = make_list(kernel);
  memstat_mtl_set_folding(list.get(), 1);
  ASSERT_EQ(memstat_sysctl_all(list.get(), 0), 0);
  EXPECT_EQ(order_of(list.get()), (Names{"2:y", "2:z", "2:twice", "1:m", "1:m"}))
      << "in the place of the first record, while malloc's own pass found the list empty";
  EXPECT_EQ(allocations_of(list.get()), (Numbers{4, 2, 3, 2, 1}));
  ASSERT_EQ(memstat_sysctl_all(list.get(), 0), 0);
  EXPECT_EQ(allocations_of(list.get()), (Numbers{4, 2, 3, 2, 1})) << "the stale m is the older figure of the same record";
  memstat_mtl_set_folding(list.get(), 0);
  set_malloc(*kernel, malloc_of({"m", "m"}, 10));
  ASSERT_EQ(memstat_sysctl_malloc(list.get(), 0), 0);
  EXPECT_EQ(allocations_of(list.get()), (Numbers{4, 2, 3, 11, 10}));
  const ListPtr zones_only = make_list(kernel);
  memstat_mtl_set_folding(zones_only.get(), 1);
  ASSERT_EQ(memstat_sysctl_uma(zones_only.get(), 0), 0);
  EXPECT_EQ(memstat_mtl_get_count(zones_only.get()), 4U) << "uma alone and all differ, as upstream";
}

}  // namespace
}  // namespace memstat
