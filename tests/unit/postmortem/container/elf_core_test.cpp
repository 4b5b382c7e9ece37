// SPDX-License-Identifier: BSD-2-Clause
#include "core/postmortem/container/dump_file.h"

#include "core/postmortem/container/vmcoreinfo.h"
#include "tests/support/fake_linux_dump.h"
#include "tests/support/fixtures.h"
#include "tests/support/result_checks.h"
#include "tests/support/test.h"

namespace memstat::postmortem {
namespace {

constexpr std::size_t kSecondHeader = 64 + 56;  // of the memory segment in a FakeLinuxDump

Result<std::unique_ptr<PhysicalMemory>> open_bytes(const std::string& bytes) {
  const TemporaryDirectory directory;
  write_text(directory.file("dump"), bytes);
  return open_elf_core(*BlockFile::open(directory.file("dump")));
}

TEST(ElfCore, ReadsWhatItHoldsAndNothingElse) {
  const std::string bytes = FakeLinuxDump(small_kernel()).elf();
  auto memory = open_bytes(bytes);
  ASSERT_TRUE(memory) << to_string(memory.error());
  EXPECT_THAT(std::string((*memory)->vmcoreinfo()), HasSubstr("OSRELEASE=6.1.0-fake\n"));
  constexpr std::uint64_t kBegin = 0x1000000;
  constexpr std::uint64_t kSize = 2U << 20U;
  std::string got(10000, '\0');
  ASSERT_TRUE((*memory)->read(kBegin + 4000, got.data(), got.size()));
  EXPECT_EQ(got, bytes.substr(0x4000 + 4000, got.size()));
  EXPECT_TRUE((*memory)->read(kBegin + kSize - 8, got.data(), 8));
  for (const std::uint64_t address : {kBegin - 1, kBegin + kSize - 7, kBegin + kSize, ~std::uint64_t{0} - 3}) {
    EXPECT_TRUE(fails((*memory)->read(address, got.data(), 8), ErrorCode::kKvmShortRead)) << address;
  }
}

TEST(ElfCore, AnOmittedRemainderIsZeros) {
  const std::string whole = FakeLinuxDump(small_kernel()).elf();
  constexpr std::uint64_t kStored = 12345;
  auto memory = open_bytes(with(whole, kSecondHeader + 32, kStored));
  ASSERT_TRUE(memory) << to_string(memory.error());
  std::string got(100, 'x');
  ASSERT_TRUE((*memory)->read(0x1000000 + kStored - 50, got.data(), got.size()));
  EXPECT_EQ(got, whole.substr(0x4000 + kStored - 50, 50) + std::string(50, '\0'));
  EXPECT_FALSE((*memory)->read(0x1000000 + (2U << 20U), got.data(), 1));
}

TEST(ElfCore, RefusesHeadersThatCannotBe) {
  const std::string bytes = FakeLinuxDump(small_kernel()).elf();
  const std::uint64_t most = ~std::uint64_t{0};
  const std::pair<std::string, const char*> cases[] = {
      {with(bytes, 4, std::uint8_t{1}), "32-bit or big-endian"},
      {with(bytes, 5, std::uint8_t{2}), "is not an ELF core file"},
      {with(bytes, 18, std::uint16_t{40}), "ELF machine 40"},
      {with(bytes, 32, most - 3), "cut short"},
      {with(bytes, 54, std::uint16_t{32}), "program headers of another size"},
      {with(bytes, 56, std::uint16_t{0}), "has 0 program headers"},
      {with(bytes, 56, std::uint16_t{1}), "no PT_LOAD"},
      {with(bytes, kSecondHeader + 32, most - 3), "more than 2^64"},
      {with(bytes, 64 + 32, std::uint64_t{1} << 40U), "bytes of notes"},
  };
  for (const auto& [dump, says] : cases) {
    const auto memory = open_bytes(dump);
    ASSERT_FALSE(memory) << says;
    EXPECT_THAT(to_string(memory.error()), HasSubstr(says));
  }
}

TEST(ElfCore, WithMoreHeadersThanTheirFieldHoldsHasTheirNumberInASection) {
  std::string bytes = FakeLinuxDump(small_kernel()).elf();
  const std::size_t section = 0x800;
  bytes = with(bytes, 56, std::uint16_t{0xffff});
  bytes = with(bytes, 40, std::uint64_t{section});
  EXPECT_TRUE(open_bytes(with(bytes, section + 44, std::uint32_t{2})));
  EXPECT_FALSE(open_bytes(with(bytes, section + 44, std::uint32_t{0xffffffff})));
}

TEST(ElfCore, AddressesThatStandTwiceAreReadOnce) {
  // The notes' header becomes a segment within the other one, like the kernel's text in /proc/vmcore.
  std::string bytes = FakeLinuxDump(small_kernel()).elf();
  bytes = with(bytes, 64, std::uint32_t{1});
  bytes = with(bytes, 64 + 24, std::uint64_t{0x1001000});
  const auto memory = open_bytes(bytes);
  ASSERT_TRUE(memory) << to_string(memory.error());
  std::string got(0x3000, '\0');
  ASSERT_TRUE((*memory)->read(0x1000000, got.data(), got.size()));
  EXPECT_EQ(got, bytes.substr(0x4000, got.size()));
}

TEST(FindNote, CutShortAnywhereIsNotThere) {
  const std::string bytes = FakeLinuxDump(small_kernel()).elf().substr(0x1000, 0x2000);
  const std::string_view found = find_note(bytes, "VMCOREINFO");
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(find_note(bytes, "CORE"), "regs");
  EXPECT_EQ(find_note(bytes, "OTHER"), "");
  const auto end = static_cast<std::size_t>(found.data() - bytes.data()) + found.size();
  for (std::size_t size = 0; size < end; ++size) EXPECT_EQ(find_note(bytes.substr(0, size), "VMCOREINFO"), "") << size;
  EXPECT_EQ(find_note(std::string(24, '\xff'), "CORE"), "");
}

TEST(VmCoreInfo, HasSymbolsAndNumbers) {
  const VmCoreInfo info(
      "=x\nA\nSYMBOL(a)=ffffffff81000000\nNUMBER(b)=-16\nNUMBER(c)=0x1f\nNUMBER(d)=7\nNUMBER(e)=q\nX=1\nX=2");
  EXPECT_EQ(info.symbol("a"), 0xffffffff81000000U);
  EXPECT_EQ(info.number("b"), ~std::uint64_t{0} - 15);
  EXPECT_EQ(info.number("c"), 31U);
  EXPECT_EQ(info.number("d"), 7U);
  EXPECT_FALSE(info.number("e"));
  EXPECT_FALSE(info.symbol("b"));
  EXPECT_EQ(info.text("X"), "1");
}

}  // namespace
}  // namespace memstat::postmortem
