// SPDX-License-Identifier: BSD-2-Clause
#include "core/postmortem/container/dump_file.h"

#include "core/kernel/open_view.h"
#include "tests/support/compressed_dump.h"
#include "tests/support/fixtures.h"
#include "tests/support/result_checks.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

Result<OpenedView> open_bytes(const TemporaryDirectory& directory, const std::string& bytes) {
  write_text(directory.file("dump"), bytes);
  return open_view(directory.file("dump"));
}

std::string slabinfo_of(const Result<OpenedView>& opened) {
  Buffer bytes;
  if (!opened) return to_string(opened.error());
  const auto read = opened->view->read_file("/proc/slabinfo", bytes);
  return read ? std::string(bytes.view()) : to_string(read.error());
}

TEST(KdumpFile, HasTheTypesOfTheElfDumpHoweverItsPagesArePacked) {
  const TemporaryDirectory directory;
  const FakeLinuxDump dump(small_kernel());
  const std::string wanted = slabinfo_of(open_bytes(directory, dump.elf()));
  ASSERT_THAT(wanted, HasSubstr("dentry               165    200"));
  for (const PagePacking packing : {PagePacking::kNone, PagePacking::kZlib, PagePacking::kLzo, PagePacking::kZstd}) {
    for (const bool has_holes : {false, true}) {
      const std::string whole = compressed_dump(dump, packing, has_holes);
      const auto opened = open_bytes(directory, whole);
      EXPECT_EQ(slabinfo_of(opened), wanted) << static_cast<int>(packing) << has_holes;
      EXPECT_TRUE(!opened || opened->notes.empty());
    }
  }
  const auto flattened = open_bytes(directory, "makedumpfile" + std::string(4096, '\0'));
  ASSERT_TRUE(fails(flattened, ErrorCode::kVersion));
  EXPECT_THAT(to_string(flattened.error()), HasSubstr("makedumpfile -R"));
}

TEST(KdumpFile, RefusesHeadersThatCannotBe) {
  const TemporaryDirectory directory;
  const std::string bytes = compressed_dump(FakeLinuxDump(small_kernel()), PagePacking::kZlib, true);
  const std::pair<std::string, const char*> cases[] = {
      {with(bytes, 8, std::uint32_t{2}), "of version 2"},
      {with(bytes, 272, std::uint32_t{0x393073}), "another machine"},
      {with(bytes, 428, std::uint32_t{0}), "blocks of 0 bytes"},
      {with(bytes, 428, std::uint32_t{1}), "blocks of 1 bytes"},
      {with(bytes, 428, std::uint32_t{1} << 30U), "blocks of 1073741824 bytes"},
      {with(bytes, 428, std::uint32_t{4097}), "blocks of 4097 bytes"},
      {with(bytes, 432, ~std::uint32_t{0}), "a second header of 4294967295 blocks"},
      {with(bytes, 436, std::uint32_t{0}), "bitmaps of 0 bytes"},
      {with(bytes, 436, ~std::uint32_t{0}), "bitmaps of 8796093020160 bytes"},
      {with(bytes, 436, std::uint32_t{1} << 17U), "cut short"},
      {with(bytes, 4096 + 12, std::uint32_t{1}), "--reassemble"},
      {with(bytes, 4096 + 40, std::uint64_t{1} << 40U), "a VMCOREINFO of"},
      {with(bytes, 4096 + 32, ~std::uint64_t{0}), "cut short"},
      {with(bytes, 4096 + 40, std::uint64_t{0}), "VMCOREINFO"},
      {with(bytes, 4096 + 96, std::uint64_t{0}), "holds no memory"},
  };
  for (const auto& [dump, says] : cases) {
    const auto opened = open_bytes(directory, dump);
    ASSERT_FALSE(opened) << says;
    EXPECT_THAT(to_string(opened.error()), HasSubstr(says));
  }
}

TEST(KdumpFile, PagesThatCannotBeUnpackedAreErrorsOfTheirAddresses) {
  const TemporaryDirectory directory;
  const std::string bytes = compressed_dump(FakeLinuxDump(small_kernel()), PagePacking::kZlib, true);
  const std::size_t first = 7 * 4096;  // the descriptor of the first page
  for (const auto& [dump, says] :
       {std::pair{with(bytes, first + 12, std::uint32_t{4}), "snappy, which this build does not read"},
        std::pair{with(bytes, first + 12, std::uint32_t{64}), "by unknown method 64"},
        std::pair{with(bytes, first + 12, std::uint32_t{0x20}), "cannot be unpacked by zstd"},
        std::pair{with(bytes, first + 12, std::uint32_t{0x2}), "cannot be unpacked by lzo"},
        std::pair{with(bytes, first + 12, std::uint32_t{0}), "has a page of"},
        std::pair{with(bytes, first + 8, std::uint32_t{0}), "has a page of 0 bytes"},
        std::pair{with(bytes, first + 8, ~std::uint32_t{0}), "has a page of 4294967295 bytes"},
        std::pair{with(bytes, first, ~std::uint64_t{0}), "cut short"}}) {
    write_text(directory.file("dump"), dump);
    auto file = postmortem::BlockFile::open(directory.file("dump"));
    ASSERT_TRUE(file);
    auto memory = postmortem::open_kdump_file(*std::move(file));
    ASSERT_TRUE(memory) << to_string(memory.error());
    char byte = 0;
    const auto read = (*memory)->read(0x1001000, &byte, 1);  // page 0 is empty, so it was left out
    ASSERT_FALSE(read) << says;
    EXPECT_THAT(to_string(read.error()), HasSubstr(says));
    EXPECT_THAT(to_string((*memory)->read(0x1000000, &byte, 1).error()), HasSubstr("left out"));
    EXPECT_THAT(to_string((*memory)->read(std::uint64_t{1} << 60U, &byte, 1).error()), HasSubstr("not in the dump"));
  }
}

}  // namespace
}  // namespace memstat
