// SPDX-License-Identifier: BSD-2-Clause
#include "core/postmortem/linux/kallsyms.h"

#include "core/kernel/open_view.h"
#include "tests/support/fake_linux_dump.h"
#include "tests/support/fixtures.h"
#include "tests/support/result_checks.h"
#include "tests/support/test.h"

namespace memstat::postmortem {
namespace {

FakeKernelOptions old_kernel() {
  FakeKernelOptions options = small_kernel(SlabKernel::kPages);
  options.hides_symbols = true;
  return options;
}

TEST(FindSymbolTables, FindsThemAmongOtherBytes) {
  const std::string tables = FakeLinuxDump(old_kernel()).table("kallsyms");
  for (const std::size_t before : {0U, 8U, 4096U}) {
    std::string noise(before, '\0');
    for (std::size_t i = 0; i < noise.size(); ++i) noise[i] = static_cast<char>(i * 7);
    const auto found = find_symbol_tables(noise + tables + noise);
    ASSERT_TRUE(found) << before;
    EXPECT_EQ(found->offsets, before);
    EXPECT_EQ(found->count, found->relative_base + 8);
    EXPECT_EQ(found->names, found->count + 8);
    EXPECT_EQ(found->index, before + tables.size() - 512);
    EXPECT_LT(found->tokens, found->index);
  }
}

TEST(FindSymbolTables, CutShortOrChangedAreNotThere) {
  const std::string tables = FakeLinuxDump(old_kernel()).table("kallsyms");
  const auto whole = find_symbol_tables(tables);
  ASSERT_TRUE(whole);
  for (std::size_t size = 0; size < tables.size(); size += 7)
    EXPECT_FALSE(find_symbol_tables(tables.substr(0, size))) << size;
  for (std::size_t from = 8; from < tables.size(); from += 8) EXPECT_FALSE(find_symbol_tables(tables.substr(from))) << from;
  for (const std::uint64_t at : {whole->count, whole->names, whole->index, whole->index + 2, whole->index + 510}) {
    std::string changed = tables;
    changed[static_cast<std::size_t>(at)] = static_cast<char>(changed[static_cast<std::size_t>(at)] ^ 0x55);
    EXPECT_FALSE(find_symbol_tables(changed)) << at;
  }
}

TEST(FindSymbolTables, OfAKernelThatHidesThemItsTypesAreRead) {
  const TemporaryDirectory directory;
  for (const auto machine : {Machine::kX86, Machine::kArm64}) {
    FakeKernelOptions options = old_kernel();
    options.machine = machine;
    write_text(directory.file("dump"), FakeLinuxDump(options).elf());
    const auto opened = open_view(directory.file("dump"));
    ASSERT_TRUE(opened) << to_string(opened.error());
    EXPECT_TRUE(opened->notes.empty());
    Buffer bytes;
    ASSERT_TRUE(opened->view->read_file("/proc/slabinfo", bytes));
    EXPECT_THAT(std::string(bytes.view()), HasSubstr("dentry               165    200"));
  }
}

}  // namespace
}  // namespace memstat::postmortem
