// SPDX-License-Identifier: BSD-2-Clause
// Mounts of tmpfs: from handwritten tables and mountinfo, and from this machine.
#include "core/collect/tmpfs_table.h"
#include "core/query.h"
#include "tests/support/result_checks.h"
#include "tests/support/source_reading.h"
#include "tests/support/staged_statistics.h"
#include "tests/support/stream_builder.h"
#include "tests/support/test.h"

namespace memstat::linux_tmpfs_test {
namespace {

const SourceDescriptor& source() { return *find_source("linux_tmpfs"); }

Result<void> parse_table(std::string_view table, Staging& staging) {
  RawBytes raw;
  raw.parts[0].assign(table);
  return parse_bytes(source(), raw, staging);
}

TEST(LinuxTmpfs, HasAmountsAndLimitsOfEachMount) {
  Staging staging;
  ASSERT_TRUE(
      parse_table("tmpfs 1\nmount 4096 8192 2 10 /dev/shm\nmount 0 4096 1 0 /a\\040b\nleft_out 3 77\nend\n", staging));
  const std::map<std::string, std::uint64_t> expected = {
      {"tmpfs_bytes{/dev/shm}", 4096},     {"tmpfs_limit_bytes{/dev/shm}", 8192}, {"tmpfs_files{/dev/shm}", 2},
      {"tmpfs_limit_files{/dev/shm}", 10}, {"tmpfs_bytes{/a\\040b}", 0},          {"tmpfs_limit_bytes{/a\\040b}", 4096},
      {"tmpfs_files{/a\\040b}", 1},        {"tmpfs_mounts_left_out", 3},          {"tmpfs_left_out_bytes", 77}};
  EXPECT_EQ(statistics_of(staging), expected);
}

TEST(LinuxTmpfs, ADamagedTableIsRefused) {
  const std::string table = "tmpfs 1\nmount 1 2 3 4 /a\nleft_out 0 0\nend\n";
  Staging staging;
  for (std::size_t size = 0; size < table.size(); ++size) {
    EXPECT_TRUE(fails(parse_table(table.substr(0, size), staging), ErrorCode::kData)) << size;
  }
  for (const char* line : {"mount 1 2 3 /a", "mount 1 2 3 -4 /a", "left_out 1", "left_out 1 2 3", "other 1", ""}) {
    EXPECT_FALSE(parse_table("tmpfs 1\n" + std::string(line) + "\nend\n", staging)) << line;
  }
  std::string many = "tmpfs 1\n";
  for (std::size_t i = 0; i <= TmpfsTable::kMaxMounts; ++i) many += "mount 1 1 1 1 /" + std::to_string(i) + "\n";
  EXPECT_FALSE(parse_table(many + "end\n", staging));
  ASSERT_TRUE(parse_table("tmpfs 1\nmount 1 1 1 1 /a\nmount 2 2 2 2 /a\nend\n", staging));
  EXPECT_TRUE(has_unique_statistics(staging));
  const std::string long_path = "/" + std::string(5000, 'x');
  for (const auto& [path, other] :
       {std::pair<std::string, std::string>("/a\xff", "/a\xfe"), {long_path + "a", long_path + "b"}}) {
    ASSERT_TRUE(parse_table("tmpfs 1\nmount 1 1 1 1 " + path + "\nmount 2 2 2 2 " + other + "\nend\n", staging));
    EXPECT_TRUE(has_unique_statistics(staging)) << "equal as labels";
  }
}

/// Like a kernel: /N has N pages of 1000 on device 0:N, /hidden is another device, /endless has no limit.
std::optional<MountAmounts> measured(const char* path) {
  const std::string_view name = path;
  if (name == "/gone") return std::nullopt;
  if (name == "/hidden") return MountAmounts{.device = 99, .bytes = 1, .limit_bytes = 1};
  if (name == "/endless") return MountAmounts{.device = 98};
  const auto number = static_cast<std::uint64_t>(std::atoi(path + 1));
  return MountAmounts{.device = number, .bytes = number * 4096, .limit_bytes = 4096000, .files = number, .max_files = 1000};
}
std::string mount_line(const std::string& device, const std::string& path) {
  return "20 1 " + device + " / " + path + " rw - tmpfs x rw\n";
}
std::string table_of(const std::string& mountinfo) {
  Buffer out;
  TmpfsTable().write(mountinfo, measured, out);
  return std::string(out.view());
}

TEST(TmpfsMounts, OfOneFileSystemCountOnceAndHiddenOnesNever) {
  EXPECT_EQ(table_of(mount_line("0:1", "/1") + mount_line("0:1", "/bound") + mount_line("0:2", "/2") +
                     mount_line("0:3", "/hidden") + mount_line("0:4", "/gone") + mount_line("0:98", "/endless") +
                     "5 1 8:1 / / rw - ext4 /dev/sda1 rw\ncut 0:9"),
            "tmpfs 1\nmount 8192 4096000 2 1000 /2\nmount 4096 4096000 1 1000 /1\nleft_out 2 0\nend\n");
  EXPECT_EQ(table_of(""), "tmpfs 1\nleft_out 0 0\nend\n");
}

TEST(TmpfsMounts, BeyondTheLargestAreAddedUp) {
  std::string mountinfo;
  for (int i = 1; i <= 20; ++i) mountinfo += mount_line("0:" + std::to_string(i), "/" + std::to_string(i));
  const std::string text = table_of(mountinfo);
  TmpfsMounts table;
  ASSERT_EQ(read_tmpfs_table(text, table), std::nullopt);
  ASSERT_EQ(table.size, 16U);
  EXPECT_EQ(table.mounts[0].path, "/20");
  EXPECT_EQ(table.mounts[15].path, "/5");
  EXPECT_EQ(table.left_out, 4U);
  EXPECT_EQ(table.left_out_bytes, (1U + 2 + 3 + 4) * 4096);
}

TEST(TmpfsMounts, DeviceNumbersAreTwoNumbers) {
  EXPECT_EQ(device_number("0:23"), 23U);
  EXPECT_EQ(device_number("1:2"), (std::uint64_t{1} << 32U) + 2);
  for (const char* text : {"", ":", "0", "0:", ":1", "0:x", "4294967296:0", "0:4294967296", "0:1:2"}) {
    EXPECT_EQ(device_number(text), std::nullopt) << text;
  }
}

using LiveTmpfs = LiveSource<source>;

TEST_F(LiveTmpfs, CountsAFileInSharedMemory) {
  ASSERT_TRUE(refreshes());
  const auto before = statistics_of(reader_.staging);
  if (!before.contains("tmpfs_bytes{/dev/shm}")) GTEST_SKIP() << "/dev/shm is not one of the largest tmpfs mounts here";
  std::string path = "/dev/shm/memstat_tmpfs_test_XXXXXX";
  const int file = ::mkstemp(path.data());
  ASSERT_GE(file, 0);
  constexpr std::size_t kSize = 8U << 20U;
  std::ofstream(path) << std::string(kSize, 'x') << std::flush;
  const bool is_read = refreshes();
  const auto after = statistics_of(reader_.staging);
  static_cast<void>(std::remove(path.c_str()));
  ASSERT_TRUE(is_read);
  EXPECT_GE(after.at("tmpfs_bytes{/dev/shm}"), before.at("tmpfs_bytes{/dev/shm}") + kSize / 2) << "others use it, too";
  EXPECT_LE(after.at("tmpfs_bytes{/dev/shm}"), after.at("tmpfs_limit_bytes{/dev/shm}"));
}

}  // namespace
}  // namespace memstat::linux_tmpfs_test
