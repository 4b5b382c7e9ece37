// SPDX-License-Identifier: BSD-2-Clause
#include "core/postmortem/container/freebsd_minidump.h"

#include <gmock/gmock.h>

#include "tests/support/fake_freebsd_dump.h"
#include "tests/support/fixtures.h"

namespace memstat::postmortem {
namespace {

using ::testing::HasSubstr;

Result<std::unique_ptr<FreeBsdMinidump>> open_minidump(const std::string& bytes) {
  const TemporaryDirectory directory;
  write_text(directory.file("vmcore.0"), bytes);
  auto file = BlockFile::open(directory.file("vmcore.0"));
  if (!file) return std::move(file.error());
  return FreeBsdMinidump::open(*std::move(file));
}

TEST(FreeBsdMinidump, OfEveryVersionReadsPhysicalAndVirtualMemory) {
  struct Case {
    Machine machine;
    unsigned version;
    std::uint64_t page;
  };
  for (const Case& kind : {Case{Machine::kX86, 1, 4096}, Case{Machine::kX86, 2, 4096}, Case{Machine::kX86, 3, 4096},
                           Case{Machine::kArm64, 1, 4096}, Case{Machine::kArm64, 2, 4096}, Case{Machine::kArm64, 3, 4096},
                           Case{Machine::kArm64, 3, 16384}}) {
    SCOPED_TRACE(std::string(to_string(kind.machine)) + " " + std::to_string(kind.version));
    FakeFreeBsdOptions options = small_freebsd();
    options.machine = kind.machine;
    options.minidump_version = kind.version;
    options.page_bytes = kind.page;
    const FakeFreeBsdDump fake(options);
    const auto dump = open_minidump(fake.dump());
    ASSERT_TRUE(dump) << to_string(dump.error());
    EXPECT_EQ((*dump)->machine(), kind.machine);
    EXPECT_EQ((*dump)->layout().page_bytes, kind.page);
    EXPECT_EQ((*dump)->damage(), "");
    const auto read = [&](std::uint64_t physical) {
      char byte = 0;
      const auto done = (*dump)->read(physical, &byte, 1);
      return done ? std::string(1, byte) : done.error().detail;
    };
    EXPECT_EQ(read(3 * kind.page), "x");
    EXPECT_THAT(read(4 * kind.page), HasSubstr("is not in the dump"));
    EXPECT_THAT(read(FakeFreeBsdDump::kPhysical), HasSubstr("is not in the dump"));
    EXPECT_THAT(read(std::uint64_t{1} << 60U), HasSubstr("is not in the dump"));
    const auto place = (*dump)->translate(fake.address("osrelease"));
    ASSERT_TRUE(place) << to_string(place.error());
    EXPECT_EQ(read(place->address), "1");
    EXPECT_FALSE((*dump)->translate(0));
    EXPECT_FALSE((*dump)->translate((*dump)->layout().kernel_base));
    EXPECT_FALSE((*dump)->translate(~std::uint64_t{7}));
    EXPECT_EQ((*dump)->translate((*dump)->layout().direct_base)->address, (*dump)->layout().direct_begins);
  }
}

TEST(FreeBsdMinidump, KnowsPagesOfTwoMegabytes) {
  const FakeFreeBsdDump fake(small_freebsd());
  const auto dump = open_minidump(fake.dump());
  ASSERT_TRUE(dump);
  const std::uint64_t address = (*dump)->layout().kernel_base + (8U << 21U) + 0x12345;
  const auto place = (*dump)->translate(address);
  ASSERT_TRUE(place) << to_string(place.error());
  EXPECT_EQ(place->address, FakeFreeBsdDump::kPhysical + 0x12345);
  EXPECT_EQ(place->bytes, (2U << 20U) - 0x12345);
}

TEST(FreeBsdMinidump, HeadersThatCannotBeAreRefused) {
  const std::string whole = FakeFreeBsdDump(small_freebsd()).dump();
  struct Case {
    std::size_t at;
    std::string bytes;
    ErrorCode code;
  };
  for (const Case& damage :
       {Case{17, "mips", ErrorCode::kVersion}, Case{24, std::string("\4\0\0\0", 4), ErrorCode::kVersion},
        Case{24, std::string(4, '\0'), ErrorCode::kVersion}, Case{32, "\xf0\xff\xff\xff", ErrorCode::kData},
        Case{32, std::string(4, '\0'), ErrorCode::kData}, Case{32, "\7", ErrorCode::kData},
        Case{36, "\xff\xff\xff\xff", ErrorCode::kData}, Case{64, "\xff\xff\xff\x7f", ErrorCode::kData},
        Case{0, "maxi", ErrorCode::kData}, Case{28, "\xff\xff\xff\xff", ErrorCode::kKvmShortRead}}) {
    std::string bytes = whole;
    bytes.replace(damage.at, damage.bytes.size(), damage.bytes);
    const auto dump = open_minidump(bytes);
    ASSERT_FALSE(dump) << damage.at;
    EXPECT_EQ(dump.error().code, damage.code) << to_string(dump.error());
  }
}

}  // namespace
}  // namespace memstat::postmortem
