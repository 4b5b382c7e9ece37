// SPDX-License-Identifier: BSD-2-Clause
// Every allocation of every call may fail: the caller then gets NULL or -1 with NOMEMORY, nothing is thrown across the C
// boundary, and the list is as it was.
#include "tests/support/c_list.h"
#include "tests/support/failing_allocations.h"
#include "tests/support/failing_allocations_new.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

std::string uma_stream(std::uint32_t cpus, int zones) {
  UmaStream stream(cpus);
  for (int i = 0; i < zones; ++i) stream.add({.name = "z" + std::to_string(i), .size = 8, .allocs = 1});
  stream.add({.name = "twice"}).add({.name = "twice"}).add({.name = "bad \xFF name"});
  return stream.bytes();
}

std::string malloc_stream(std::uint32_t cpus, int types) {
  MallocStream stream(cpus);
  for (int i = 0; i < types; ++i) stream.add("a malloc type, number " + std::to_string(i), {{0, {16, 0, 1, 0, 1}}});
  return stream.bytes();
}

/// Makes the call with allocation 0, 1, 2, ... failing until none fails any more, and runs `check` after each. Returns the
/// number of failures.
int fail_each(
    const std::function<bool()>& call, const std::function<void(int n, bool succeeded)>& check,
    const std::function<void()>& prepare = [] {}) {
  for (int n = 0;; ++n) {
    prepare();
    bool succeeded = false;
    bool has_failed = false;
    {
      const FailingAllocation failing(n);
      succeeded = call();
      has_failed = failing.has_failed();
    }
    check(n, succeeded);
    if (!has_failed) {
      EXPECT_TRUE(succeeded);
      return n;
    }
    if (testing::Test::HasFailure() || n > 100'000) return n;
  }
}

class CApiNoMemoryFilled : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(memstat_sysctl_all(list_.get(), 0), 0);
    fill_slots(list_.get());
    before_ = everything(list_.get());
  }
  /// What a failed query may leave: the list as before, or (all) with malloc's figures renewed.
  void expect_unchanged(int n) {
    EXPECT_EQ(memstat_mtl_geterror(list_.get()), MEMSTAT_ERROR_NOMEMORY) << n;
    EXPECT_EQ(everything(list_.get()), before_) << n;
  }
  const std::shared_ptr<FakeKernelView> kernel_ = make_kernel(malloc_stream(2, 5), uma_stream(2, 5));
  const ListPtr list_ = make_list(kernel_);
  std::string before_;
};

TEST_F(CApiNoMemoryFilled, AQueryThatBringsTypesAndCpusChangesNothing) {
  set_malloc(*kernel_, malloc_stream(8, 30));
  set_uma(*kernel_, uma_stream(8, 30));
  for (const auto query : {memstat_sysctl_malloc, memstat_sysctl_uma}) {
    before_ = everything(list_.get());
    const int failed = fail_each([&] { return query(list_.get(), 0) == 0; },
                                 [&](int n, bool succeeded) {
                                   if (!succeeded) expect_unchanged(n);
                                 });
    EXPECT_GT(failed, 20);
  }
  EXPECT_EQ(memstat_mtl_get_count(list_.get()), 63U);
}

TEST_F(CApiNoMemoryFilled, SettersStoreOrSayEnomem) {
  set_malloc(*kernel_, malloc_stream(2, 6));
  ASSERT_EQ(memstat_sysctl_malloc(list_.get(), 0), 0);
  const ListPtr fresh = make_list(kernel_);
  ASSERT_EQ(memstat_sysctl_all(fresh.get(), 0), 0);
  memory_type* type = memstat_mtl_first(fresh.get());
  const auto expect_stored = [&](const std::function<void()>& set, const std::function<bool()>& is_set) {
    const int failed = fail_each(
        [&] {
          errno = 0;
          set();
          return errno == 0;
        },
        [&](int n, bool succeeded) {
          if (!succeeded) {
            EXPECT_EQ(errno, ENOMEM) << n;
          }
          EXPECT_EQ(is_set(), succeeded) << n;
        });
    EXPECT_GE(failed, 1);
  };
  expect_stored([&] { memstat_set_caller_uint64(type, 3, 7); }, [&] { return memstat_get_caller_uint64(type, 3) == 7; });
  expect_stored([&] { memstat_set_caller_pointer(type, 3, type); },
                [&] { return memstat_get_caller_pointer(type, 3) == type; });
  expect_stored([&] { memstat_set_percpu_caller_uint64(type, 1, 3, 7); },
                [&] { return memstat_get_percpu_caller_uint64(type, 1, 3) == 7; });
  expect_stored([&] { memstat_set_percpu_caller_pointer(type, 1, 3, type); },
                [&] { return memstat_get_percpu_caller_pointer(type, 1, 3) == type; });
}

TEST_F(CApiNoMemoryFilled, FindAndTheAccessorsNeedNone) {
  const FailingAllocation failing(0);
  memory_type* type = memstat_mtl_find(list_.get(), ALLOCATOR_MALLOC, "a malloc type, number 3");
  const memory_type* none = memstat_mtl_find(list_.get(), ALLOCATOR_ANY, "a long name that no memory type has");
  std::uint64_t sum = memstat_get_bytes(type) + memstat_get_percpu_memalloced(type, 1);
  sum += memstat_get_caller_uint64(type, 1);
  const bool has_allocated = failing.has_failed();
  EXPECT_FALSE(has_allocated);
  EXPECT_NE(type, nullptr);
  EXPECT_EQ(none, nullptr);
  EXPECT_NE(sum, 0U);
}

}  // namespace
}  // namespace memstat
