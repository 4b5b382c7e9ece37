// SPDX-License-Identifier: BSD-2-Clause
// The compressed swap cache from text made by hand, from captured kernels against their debugfs, and from this machine's
// kernel against an independent reader.
#include <gtest/gtest.h>

#include <sstream>

#include "core/query.h"
#include "tests/support/fixtures.h"
#include "tests/support/prepared_kernel_view.h"
#include "tests/support/source_reading.h"
#include "tests/support/stream_builder.h"

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

TEST_F(Zswap, TellsPoolPagesLimitAndRefusals) { EXPECT_EQ(words(), "40960/30/204800/23"); }

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

// As pread did of debugfs, whose files are no longer read so.
TEST_F(Zswap, FailsWhereAFileThatItHasCannotBeRead) {
  SourceReader reader(source());
  ASSERT_TRUE(open_source(reader, view_));
  for (const int system_errno : {ESPIPE, EACCES, EIO}) {
    view_.failures[kDebug + "reject_alloc_fail"] = system_errno;
    const auto result = read_source(reader, view_);
    ASSERT_FALSE(result) << system_errno;
    EXPECT_EQ(result.error().path, kDebug + "reject_alloc_fail");
  }
  view_.failures[kDebug + "reject_alloc_fail"] = ENOENT;
  EXPECT_TRUE(read_source(reader, view_)) << "gone with its module";
}

TEST_F(Zswap, RefusesWhatIsNoNumber) {
  RawBytes raw = make_raw("");
  Staging staging;
  for (const auto& [text, offset] : {std::pair<const char*, std::uint64_t>{"", 0},
                                     {"MemTotal: 1 kB\n", 15},
                                     {"MemTotal: 1 kB\nZswap: x kB\n", 15},
                                     {"Zswap: 1 kB\nZswapped: 18446744073709551616 kB\n", 12},
                                     {"Zswap: 1 kB\n", 12},
                                     {"Zswap: 1 kB\nZswapped: 1", 12}}) {
    raw.parts[0].assign(text);
    const auto result = parse_bytes(source(), raw, staging);
    ASSERT_FALSE(result) << text;
    EXPECT_EQ(result.error().code, ErrorCode::kData);
    EXPECT_EQ(result.error().path, "/proc/meminfo");
    EXPECT_EQ(result.error().offset, offset) << text;
  }
}

/// The number that follows `key` in a text of words.
std::uint64_t number_after(KernelView& view, const std::string& path, const std::string& key) {
  Buffer text;
  if (!view.read_file(path, text)) return 0;
  std::istringstream words{std::string(text.view())};
  std::uint64_t number = 0;
  if (key.empty()) {
    words >> number;
    return number;
  }
  for (std::string word; words >> word;) {
    if (word == key && words >> number) return number;
  }
  return 0;
}

using CapturedZswap = CapturedSource<source>;

TEST_P(CapturedZswap, EqualsMeminfoAndDebugfs) {
  const MemoryType& type = *list_.first();
  EXPECT_EQ(type.figure(Field::kBytes), number_after(*view_, "/proc/meminfo", "Zswap:") * 1024);
  if (GetParam().find("pools") == std::string::npos) return;
  EXPECT_GT(type.figure(Field::kCount), 1000U);
  // debugfs was read a moment later.
  const auto near = [](std::uint64_t a, std::uint64_t b) { return a <= b + b / 10 && b <= a + a / 10; };
  EXPECT_TRUE(near(type.figure(Field::kBytes), number_after(*view_, kDebug + "pool_total_size", "")));
  EXPECT_TRUE(near(type.figure(Field::kCount), number_after(*view_, kDebug + "stored_pages", "")));
  ASSERT_TRUE(type.fields().has(Field::kFailures));
  const std::uint64_t total = number_after(*view_, "/proc/meminfo", "MemTotal:") / 4;  // pages
  EXPECT_EQ(type.figure(Field::kBytesLimit), total * 20 / 100 * 4096);
  EXPECT_LT(type.figure(Field::kBytes), type.figure(Field::kBytesLimit));
}

INSTANTIATE_TEST_SUITE_P(Captures, CapturedZswap, shown_by("linux_zswap"), name_of_capture);

using LiveZswap = LiveSource<source>;

TEST_F(LiveZswap, EqualsMeminfo) {
  bool is_equal = false;
  for (int round = 0; round < 100 && !is_equal; ++round) {  // a machine that swaps changes it between the reads
    ASSERT_TRUE(refreshes());
    is_equal = list_.first()->figure(Field::kBytes) == number_after(*view_, "/proc/meminfo", "Zswap:") * 1024;
  }
  EXPECT_TRUE(is_equal);
  EXPECT_EQ(list_.first()->fields().has(Field::kBytesLimit), number_after(*view_, kPercent, "") != 0);
}

}  // namespace
}  // namespace memstat::linux_zswap_test
