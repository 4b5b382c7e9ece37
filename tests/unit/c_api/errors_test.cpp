// SPDX-License-Identifier: BSD-2-Clause
// Every failure: -1, the error of libmemstat's table, and the list with all its slots unchanged.
#include "tests/support/c_list.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

using Query = int (*)(memory_type_list*, int);

/// The two streams, with other figures for each `scale`.
std::string malloc_stream(std::uint64_t scale) {
  MallocStream stream(2);
  stream.add("temp", {{0, {100 * scale, 20, 10 * scale, 2, 3}}, {1, {64, 0, 1, 0, 4}}});
  stream.add("devbuf", {{1, {4096 * scale, 0, 3 * scale, 0, 1 << 9}}});
  return stream.bytes();
}
std::string uma_stream(std::uint64_t scale) {
  UmaStream stream(2);
  stream.add({.name = "mbuf", .size = 256, .rsize = 256, .limit = 1000, .allocs = 5 * scale, .blocks = {{0, {7, 3, 2}}}});
  stream.add({.name = "temp", .size = 16, .rsize = 16, .allocs = 9 * scale, .blocks = {{1, {7, 3, 2}}}});
  return stream.bytes();
}

/// A list that both allocators filled and whose slots are set, over a kernel whose figures have changed since.
class CApiErrors : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(memstat_sysctl_all(list_.get(), 0), 0);
    fill_slots(list_.get());
    heal();
    before_ = everything(list_.get());
  }
  void heal() {
    set_size_classes(*kernel_, kSizeClasses13);
    set_malloc(*kernel_, malloc_stream(2));
    set_uma(*kernel_, uma_stream(2));
  }
  /// The query must fail like this and change nothing.
  void expect_failure(Query query, int error, const std::string& what) {
    EXPECT_EQ(query(list_.get(), 0), -1) << what;
    EXPECT_EQ(memstat_mtl_geterror(list_.get()), error) << what << ": " << memstat_mtl_get_message(list_.get());
    EXPECT_STRNE(memstat_mtl_get_message(list_.get()), "") << what;
    EXPECT_EQ(everything(list_.get()), before_) << what;
    const ListPtr fresh = make_list(kernel_);
    EXPECT_EQ(query(fresh.get(), 0), -1) << what;
    EXPECT_EQ(memstat_mtl_geterror(fresh.get()), error) << what;
    EXPECT_EQ(memstat_mtl_first(fresh.get()), nullptr) << what;
  }
  void expect_success_without_change(Query query, const std::string& what) {
    const int error = memstat_mtl_geterror(list_.get());
    EXPECT_EQ(query(list_.get(), 0), 0) << what << ": " << memstat_mtl_get_message(list_.get());
    EXPECT_EQ(everything(list_.get()), before_) << what;
    EXPECT_EQ(memstat_mtl_geterror(list_.get()), error);
  }

  const std::shared_ptr<FakeKernelView> kernel_ = make_kernel(malloc_stream(1), uma_stream(1));
  const ListPtr list_ = make_list(kernel_);
  std::string before_;
};

/// One sysctl, the query that reads it, and the table's errors for its failures: permission, others, and a wrong size.
struct Row {
  Query query;
  const char* sysctl;
  int permission;
  int otherwise;
  int no_memory;
  int wrong_size;  // -1: has no size of its own
};
constexpr int kDenied = MEMSTAT_ERROR_PERMISSION;
constexpr int kVersion = MEMSTAT_ERROR_VERSION;
constexpr int kDamaged = MEMSTAT_ERROR_DATAERROR;
constexpr int kNoMemory = MEMSTAT_ERROR_NOMEMORY;
const Row kTable[] = {
    {memstat_sysctl_malloc, "kern.smp.maxcpus", kDenied, kDamaged, kDamaged, kDamaged},
    {memstat_sysctl_malloc, "kern.malloc_count", kDenied, kVersion, kVersion, kDamaged},
    {memstat_sysctl_malloc, "vm.malloc.zone_count", kVersion, kVersion, kVersion, kDamaged},
    {memstat_sysctl_malloc, "vm.malloc.zone_sizes", kVersion, kVersion, kVersion, -1},
    {memstat_sysctl_malloc, "kern.malloc_stats", kDenied, kVersion, kNoMemory, -1},
    {memstat_sysctl_uma, "kern.smp.maxid", kDenied, kDamaged, kDamaged, kDamaged},
    {memstat_sysctl_uma, "vm.zone_count", kDenied, kVersion, kVersion, kDamaged},
    {memstat_sysctl_uma, "vm.zone_stats", kDenied, kVersion, kNoMemory, -1},
};

TEST_F(CApiErrors, EachSysctlFailsAsListed) {
  for (const Row& row : kTable) {
    const std::pair<int, int> expected[] = {{EPERM, row.permission}, {EACCES, row.permission}, {ENOENT, row.otherwise},
                                            {EIO, row.otherwise},    {EINVAL, row.otherwise},  {ENOMEM, row.no_memory}};
    for (const auto& [failure, error] : expected) {
      kernel_->fail(row.sysctl, failure);
      const std::string what = std::string(row.sysctl) + " errno " + std::to_string(failure);
      expect_failure(row.query, error, what);
      if (row.query == memstat_sysctl_malloc) expect_failure(memstat_sysctl_all, error, what + ", all");
      EXPECT_NE(std::string(memstat_mtl_get_message(list_.get())).find(row.sysctl), std::string::npos);
      heal();
    }
    for (const std::size_t size : {0U, 1U, 3U, 5U, 8U}) {
      if (row.wrong_size < 0) continue;
      kernel_->set(row.sysctl, std::string(size, '\1'));
      expect_failure(row.query, row.wrong_size, std::string(row.sysctl) + " of " + std::to_string(size) + " bytes");
      heal();
    }
  }
}

TEST_F(CApiErrors, AllStopsAtZonesAndKeepsWhatMallocBrought) {
  for (const Row& row : kTable) {
    if (row.query != memstat_sysctl_uma) continue;
    for (const int failure : {EPERM, EIO}) {
      heal();
      const ListPtr list = make_list(kernel_);
      ASSERT_EQ(memstat_sysctl_all(list.get(), 0), 0);
      set_malloc(*kernel_, malloc_stream(3));
      set_uma(*kernel_, uma_stream(3));
      kernel_->fail(row.sysctl, failure);
      EXPECT_EQ(memstat_sysctl_all(list.get(), 0), -1);
      EXPECT_EQ(memstat_mtl_geterror(list.get()), failure == EPERM ? row.permission : row.otherwise);
      EXPECT_EQ(memstat_get_memalloced(memstat_mtl_find(list.get(), ALLOCATOR_MALLOC, "temp")), 364U) << "refreshed";
      EXPECT_EQ(memstat_get_numallocs(memstat_mtl_find(list.get(), ALLOCATOR_UMA, "temp")), 25U) << "as it was";
    }
  }
}

TEST_F(CApiErrors, MoreThan32SizeClassesAreAnotherVersionAnd32AreNot) {
  for (const std::uint32_t count : {33U, 64U, 0x7FFFFFFFU, 0xFFFFFFFFU}) {
    kernel_->set("vm.malloc.zone_count", bytes_of(count));
    expect_failure(memstat_sysctl_malloc, kVersion, std::to_string(count) + " classes");
  }
  kernel_->set("vm.malloc.zone_count", bytes_of(32));
  EXPECT_EQ(memstat_sysctl_malloc(list_.get(), 0), 0);
  EXPECT_EQ(memstat_malloc_zone_get_count(), 32U);
}

TEST_F(CApiErrors, AnEmptyStreamAndOneWithoutRecordsChangeNothing) {
  for (const std::string& stream : {std::string(), MallocStream(2).bytes(), MallocStream(0).bytes()}) {
    set_malloc(*kernel_, stream);
    set_uma(*kernel_, stream);
    const std::string what = std::to_string(stream.size()) + " bytes";
    expect_success_without_change(memstat_sysctl_malloc, what);
    expect_success_without_change(memstat_sysctl_uma, what);
    expect_success_without_change(memstat_sysctl_all, what);
    const ListPtr fresh = make_list(kernel_);
    EXPECT_EQ(memstat_sysctl_all(fresh.get(), 0), 0);
    EXPECT_EQ(memstat_mtl_first(fresh.get()), nullptr);
  }
}

TEST_F(CApiErrors, ASuccessDoesNotClearTheError) {
  EXPECT_EQ(memstat_mtl_geterror(list_.get()), MEMSTAT_ERROR_UNDEFINED);
  kernel_->fail("vm.zone_stats", EPERM);
  EXPECT_EQ(memstat_sysctl_uma(list_.get(), 0), -1);
  heal();
  EXPECT_EQ(memstat_sysctl_all(list_.get(), 0), 0);
  EXPECT_EQ(memstat_mtl_find(list_.get(), ALLOCATOR_UMA, "nothing of that name"), nullptr);
  EXPECT_EQ(memstat_mtl_geterror(list_.get()), MEMSTAT_ERROR_PERMISSION);
  kernel_->fail("kern.malloc_stats", EIO);
  EXPECT_EQ(memstat_sysctl_all(list_.get(), 0), -1);
  EXPECT_EQ(memstat_mtl_geterror(list_.get()), MEMSTAT_ERROR_VERSION) << "the last one counts";
}

TEST_F(CApiErrors, AnExceptionStaysInside) {
  for (const Row& row : kTable) {
    const auto kernel = make_kernel(malloc_stream(1), uma_stream(1));
    const ListPtr list = make_list(kernel);
    ASSERT_EQ(memstat_sysctl_all(list.get(), 0), 0);
    const std::string before = everything(list.get());
    kernel->make_throw(row.sysctl);
    EXPECT_EQ(row.query(list.get(), 0), -1) << row.sysctl;
    EXPECT_EQ(memstat_mtl_geterror(list.get()), MEMSTAT_ERROR_IO);
    EXPECT_EQ(everything(list.get()), before);
  }
}

TEST_F(CApiErrors, NothingIsPrinted) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  for (const Row& row : kTable) {
    kernel_->fail(row.sysctl, EPERM);
    EXPECT_EQ(row.query(list_.get(), 0), -1);
    heal();
  }
  EXPECT_EQ(memstat_kvm_all(list_.get(), nullptr), -1);
  EXPECT_EQ(memstat_mtl_set_capture(list_.get(), "/nothing/here"), -1);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace memstat
