// SPDX-License-Identifier: BSD-2-Clause
// The compressed swap cache from handwritten text. Captured and live kernels: tests/guests/checker.py.
#include "core/query.h"
#include "tests/support/prepared_kernel_view.h"
#include "tests/support/result_checks.h"
#include "tests/support/source_reading.h"
#include "tests/support/test.h"

namespace memstat::linux_zswap_test {
namespace {

constexpr const char* kMeminfo = "MemTotal: 1003 kB\nZswap: 40 kB\nZswapped: 120 kB\n";
constexpr const char* kPercent = "/sys/module/zswap/parameters/max_pool_percent";
const std::string kDebug = "/sys/kernel/debug/zswap/";

const SourceDescriptor& source() { return *find_source("linux_zswap"); }

class Zswap : public testing::Test {
 protected:
  Zswap() {
    view_.contents["/proc/meminfo"] = {kMeminfo};
    view_.contents[kPercent] = {"20\n"};
    view_.contents[kDebug + "pool_limit_hit"] = {"5\n"};
    view_.contents[kDebug + "reject_alloc_fail"] = {"7\n"};
    view_.contents[kDebug + "reject_kmemcache_fail"] = {"11\n"};
  }
  /// "bytes/count/limit/failures", "-" for a figure that is none.
  std::string words() {
    SourceReader reader(source());
    MemoryTypeList list;
    if (const auto result = open_source(reader, view_); !result) return to_string(result.error());
    if (const auto result = refresh(reader, view_, list, 1); !result) return to_string(result.error());
    EXPECT_EQ(list.size(), 1U);
    EXPECT_EQ(list.first()->name(), "zswap");
    return figure_words(reader.staging.types()[0], {Field::kBytes, Field::kCount, Field::kBytesLimit, Field::kFailures});
  }
  PreparedKernelView view_{OperatingSystem::kLinux};
};

TEST_F(Zswap, HasPoolPagesLimitAndRefusals) { EXPECT_EQ(words(), "40960/30/204800/23"); }

TEST_F(Zswap, DoesWithoutDebugfsAndParameters) {
  view_.failures[kDebug + "reject_alloc_fail"] = EACCES;
  EXPECT_EQ(words(), "40960/30/204800/-") << "a part of the refusals is none";
  view_.contents = {{"/proc/meminfo", {kMeminfo}}};
  EXPECT_EQ(words(), "40960/30/-/-");
  view_.contents[kPercent] = {"0\n"};
  EXPECT_EQ(words(), "40960/30/-/-");
  view_.contents[kPercent] = {"many\n"};
  EXPECT_EQ(words(), "40960/30/-/-");
  view_.contents[kPercent] = {"18446744073709551615\n"};
  EXPECT_EQ(words(), "40960/30/-/-");
}

TEST_F(Zswap, AsksDebugfsOnKernelsBefore519) {
  view_.contents["/proc/meminfo"] = {"MemTotal: 1003 kB\n"};
  SourceReader reader(source());
  EXPECT_EQ(open_source(reader, view_).error().code, ErrorCode::kNotPresent);
  view_.contents[kDebug + "pool_total_size"] = {"8192\n"};
  view_.contents[kDebug + "stored_pages"] = {"6\n"};
  EXPECT_EQ(words(), "8192/6/204800/23");
}

// Like pread of debugfs, whose files are no longer read like this.
TEST_F(Zswap, FailsWhereAFileThatItHasCannotBeRead) {
  SourceReader reader(source());
  ASSERT_TRUE(open_source(reader, view_));
  for (const int system_errno : {ESPIPE, EIO}) {
    view_.failures[kDebug + "reject_alloc_fail"] = system_errno;
    EXPECT_TRUE(fails(read_source(reader, view_), {.path = kDebug + "reject_alloc_fail"})) << system_errno;
  }
  for (const int system_errno : {ENOENT, EACCES}) {
    view_.failures[kDebug + "reject_alloc_fail"] = system_errno;
    EXPECT_TRUE(read_source(reader, view_)) << "gone with its module, or only for root";
  }
}

}  // namespace
}  // namespace memstat::linux_zswap_test
