// SPDX-License-Identifier: BSD-2-Clause
#include "core/postmortem/linux/kallsyms.h"

#include "tests/support/fake_linux_dump.h"
#include "tests/support/test.h"

namespace memstat::postmortem {
namespace {

std::vector<std::string> names_of(const SymbolNames& table, std::uint32_t count) {
  std::vector<std::string> names;
  const auto walked = table.for_each(count, [&](std::uint32_t number, std::string_view name) {
    EXPECT_EQ(number, names.size());
    names.emplace_back(name);
    return true;
  });
  if (!walked) names.push_back("error " + std::string(reason(walked.error().code)));
  return names;
}

FakeKernelOptions plain_kernel() {
  FakeKernelOptions options = small_kernel();
  options.has_memory = false;
  return options;
}

TEST(SymbolNames, AreTheirTokensLongOnesToo) {
  const FakeLinuxDump dump(plain_kernel());
  const std::string names = dump.table("kallsyms_names");
  const std::string tokens = dump.table("kallsyms_token_table");
  const std::string index = dump.table("kallsyms_token_index");
  const std::vector<std::string> found = names_of({names, tokens, index}, 10);
  ASSERT_EQ(found.size(), 10U);
  EXPECT_EQ(found[0], "_stext");
  EXPECT_EQ(found[1], std::string(200, 'x'));
  EXPECT_EQ(found.back(), "slab_caches");
  EXPECT_EQ(names_of({names, tokens, index}, 11).back(), "error data") << "there are ten";
}

TEST(SymbolNames, CutShortAnywhereAreThoseBefore) {
  const FakeLinuxDump dump(plain_kernel());
  const std::string names = dump.table("kallsyms_names");
  const std::string tokens = dump.table("kallsyms_token_table");
  const std::string index = dump.table("kallsyms_token_index");
  for (std::size_t size = 0; size < names.size(); ++size) {
    EXPECT_EQ(names_of({std::string_view(names).substr(0, size), tokens, index}, 10).back(), "error data") << size;
  }
  for (std::size_t size = 0; size < tokens.size(); ++size) {
    EXPECT_EQ(names_of({names, std::string_view(tokens).substr(0, size), index}, 10).size(), 10U) << size;
  }
  for (std::size_t size = 0; size < index.size(); ++size) {
    EXPECT_EQ(names_of({names, tokens, std::string_view(index).substr(0, size)}, 10).size(), 10U) << size;
  }
}

TEST(SymbolNames, LongerThanAnyAreAnError) {
  std::string tokens(600, 'a');
  tokens += '\0';
  const std::string index(512, '\0');  // each token is that long one
  EXPECT_EQ(names_of({std::string("\1\1", 2), tokens, index}, 1), std::vector<std::string>{std::string(599, 'a')});
  EXPECT_EQ(names_of({std::string("\2\1\1", 3), tokens, index}, 1), std::vector<std::string>{"error data"});
}

TEST(SymbolAddress, IsMadeInOneOfThreeWays) {
  constexpr std::uint64_t kBase = 0xffffffff81000000;
  constexpr std::uint64_t kPlace = 0xffffffff82000000;
  EXPECT_EQ(symbol_address(SymbolAddresses::kPerCpuAbsolute, 0x1f000, kBase, kPlace), 0x1f000U);
  EXPECT_EQ(symbol_address(SymbolAddresses::kPerCpuAbsolute, 0xffffffff, kBase, kPlace), kBase);
  EXPECT_EQ(symbol_address(SymbolAddresses::kPerCpuAbsolute, 0xfffffffe, kBase, kPlace), kBase + 1);
  EXPECT_EQ(symbol_address(SymbolAddresses::kRelative, 0xfffffffe, kBase, kPlace), kBase + 0xfffffffe);
  EXPECT_EQ(symbol_address(SymbolAddresses::kPlace, 0xfffffffe, kBase, kPlace), kPlace - 2);
}

}  // namespace
}  // namespace memstat::postmortem
