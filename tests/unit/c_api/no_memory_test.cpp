// SPDX-License-Identifier: BSD-2-Clause
// Every allocation of every call may fail: the caller then gets NULL or -1 with NOMEMORY, nothing is thrown across the C
// boundary, and the list is as it was.
#include "tests/support/c_list.h"
#include "tests/support/failing_allocations.h"
#include "tests/support/failing_allocations_new.h"
#include "tests/support/fixtures.h"
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

TEST(CApiNoMemory, AllocGivesNullAndErrno) {
  memory_type_list* list = nullptr;
  const int failed = fail_each(
      [&] {
        errno = 0;
        list = memstat_mtl_alloc();
        return list != nullptr;
      },
      [&](int, bool succeeded) {
        if (!succeeded) {
          EXPECT_EQ(errno, ENOMEM);
        }
      });
  EXPECT_GE(failed, 1);
  memstat_mtl_free(list);
}

TEST(CApiNoMemory, AQueryOfAFreshListLeavesWhatWasWhole) {
  const auto kernel = make_kernel(malloc_stream(2, 20), uma_stream(2, 20));
  ListPtr list;
  const int failed = fail_each([&] { return memstat_sysctl_all(list.get(), 0) == 0; },
                               [&](int n, bool succeeded) {
                                 const std::size_t count = memstat_mtl_get_count(list.get());
                                 if (!succeeded) {
                                   EXPECT_EQ(memstat_mtl_geterror(list.get()), MEMSTAT_ERROR_NOMEMORY) << n;
                                   EXPECT_TRUE(count == 0 || count == 20) << n << ": " << count << " types";
                                 } else {
                                   EXPECT_EQ(count, 43U) << n;  // it did not need the failed allocation
                                 }
                               },
                               [&] { list = make_list(kernel); });
  EXPECT_GT(failed, 50);
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

TEST_F(CApiNoMemoryFilled, AFoldedQueryChangesNothing) {
  memstat_mtl_set_folding(list_.get(), 1);
  set_uma(*kernel_, uma_stream(4, 9));
  const int failed = fail_each([&] { return memstat_sysctl_uma(list_.get(), 0) == 0; },
                               [&](int n, bool succeeded) {
                                 if (!succeeded) expect_unchanged(n);
                               });
  EXPECT_GT(failed, 5);
}

TEST_F(CApiNoMemoryFilled, AFailingQueryFailsWithoutMemoryToo) {
  kernel_->set("kern.malloc_stats", "short");
  for (int n = 0; n < 200; ++n) {
    const FailingAllocation failing(n);
    const int result = memstat_sysctl_malloc(list_.get(), 0);
    const bool has_failed = failing.has_failed();
    EXPECT_EQ(result, -1);
    const int error = memstat_mtl_geterror(list_.get());
    EXPECT_TRUE(error == MEMSTAT_ERROR_VERSION || error == MEMSTAT_ERROR_NOMEMORY) << error;
    EXPECT_NE(memstat_mtl_get_message(list_.get()), nullptr);
    if (!has_failed) break;
  }
  EXPECT_EQ(everything(list_.get()), before_);
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

TEST_F(CApiNoMemoryFilled, SetCaptureChangesNothing) {
  const TemporaryDirectory directory;
  write_text(directory.file("manifest.yaml"),
             "format: 1\nos: freebsd\nrelease: x\nmachine: amd64\npage_size: 4096\ncpus_present: \"0-1\"\nnodes: 1\n");
  write_text(directory.file("000000/poll.yaml"), "label: a\nrealtime: 2026-01-01T00:00:00Z\nmonotonic_ns: 1\n");
  write_text(directory.file("000000/sysctl/kern.malloc_stats"), malloc_stream(2, 3));
  write_text(directory.file("000000/sysctl/kern.malloc_count"), bytes_of(3));
  write_text(directory.file("000000/sysctl/kern.smp.maxcpus"), bytes_of(2));
  const ListPtr list = make_list();
  const int failed = fail_each([&] { return memstat_mtl_set_capture(list.get(), directory.path().c_str()) == 0; },
                               [&](int n, bool succeeded) {
                                 if (succeeded) return;
                                 EXPECT_EQ(memstat_mtl_geterror(list.get()), MEMSTAT_ERROR_NOMEMORY) << n;
                                 EXPECT_EQ(memstat_mtl_get_count(list.get()), 0U);
                               });
  EXPECT_GT(failed, 5);
  ASSERT_EQ(memstat_sysctl_malloc(list.get(), 0), 0) << memstat_mtl_get_message(list.get());
  const std::string before = everything(list.get());
  fail_each([&] { return memstat_sysctl_malloc(list.get(), 0) == 0; },
            [&](int n, bool succeeded) {
              if (succeeded) return;
              EXPECT_EQ(memstat_mtl_geterror(list.get()), MEMSTAT_ERROR_NOMEMORY)
                  << n << memstat_mtl_get_message(list.get());
              EXPECT_EQ(everything(list.get()), before) << n;
            });
}

}  // namespace
}  // namespace memstat
