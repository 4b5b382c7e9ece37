// SPDX-License-Identifier: BSD-2-Clause
// Different lists may be used by different threads at once. The thread sanitizer checks this.
#include "tests/support/c_list.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

TEST(CApiThreads, DifferentListsAreUsedAtOnce) {
  const auto kernel = make_kernel(MallocStream(4).add("b", {{3, {64, 0, 1, 0, 2}}}).add("a").bytes(),
                                  UmaStream(4).add({.name = "twice"}).add({.name = "twice"}).bytes(), 4);
  constexpr int kThreads = 4;
  constexpr int kRounds = 50;
  std::atomic<int> ready{0};
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      ++ready;
      while (ready.load() < kThreads) std::this_thread::yield();
      for (int round = 0; round < kRounds; ++round) {
        const ListPtr list = make_list(kernel);
        memstat_mtl_set_folding(list.get(), i % 2);
        for (int query = 0; query < 3; ++query) wrong += memstat_sysctl_all(list.get(), 0) == 0 ? 0 : 1;
        fill_slots(list.get());
        const std::size_t types = i % 2 != 0 ? 3 : 4;
        wrong += memstat_mtl_get_count(list.get()) == types ? 0 : 1;
        const memory_type* type = memstat_mtl_find(list.get(), ALLOCATOR_MALLOC, "b");
        wrong += memstat_get_bytes(type) == 64 && memstat_malloc_zone_used(type, 1) == 1 ? 0 : 1;
        wrong += memstat_malloc_zone_get_count() == 15 && memstat_malloc_zone_get_size(5) == 384 ? 0 : 1;
        wrong += memstat_mtl_set_capture(list.get(), "/nothing/here") == -1 ? 0 : 1;
        wrong += memstat_kvm_all(list.get(), nullptr) == -1 ? 0 : 1;
        wrong += memstat_mtl_geterror(list.get()) == MEMSTAT_ERROR_KVM ? 0 : 1;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0);
}

}  // namespace
}  // namespace memstat
