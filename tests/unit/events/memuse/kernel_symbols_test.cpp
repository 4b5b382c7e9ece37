// SPDX-License-Identifier: BSD-2-Clause
#include "core/events/memuse/kernel_symbols.h"
#include "tests/support/result_checks.h"
#include "tests/support/test.h"

namespace memstat::events {
namespace {

const std::string kTable =
    "0000000000000000 A fixed_percpu_data\n"
    "ffffffff81000000 T _stext\n"
    "ffffffff81000000 T _text\n"
    "ffffffff81002000 t do_fcntl\n"
    "ffffffff81001000 T fcntl_dirnotify\n"
    "ffffffff81001800 D some_data\n"
    "ffffffffc0001000 t nf_alloc\t[nf_conntrack]\n";

TEST(KernelSymbols, NameTheFunctionOfACall) {
  KernelSymbols symbols;
  ASSERT_TRUE(symbols.parse(kTable));
  EXPECT_EQ(symbols.name_of_caller(0xffffffff81001005), "fcntl_dirnotify");
  EXPECT_EQ(symbols.name_of_caller(0xffffffff81001900), "fcntl_dirnotify") << "variables are not called";
  EXPECT_EQ(symbols.name_of_caller(0xffffffff81002000), "fcntl_dirnotify") << "its last call does not return";
  EXPECT_EQ(symbols.name_of_caller(0xffffffff81002001), "do_fcntl");
  EXPECT_EQ(symbols.name_of_caller(0xffffffff81000010), "_stext") << "the first of several names";
  EXPECT_EQ(symbols.name_of_caller(0xffffffffc0001010), "nf_alloc [nf_conntrack]");
  EXPECT_EQ(symbols.name_of_caller(0xffffffff80000000), "");
  EXPECT_EQ(symbols.name_of_caller(0), "");
}

TEST(KernelSymbols, AreNoneWhereTheKernelHidesThem) {
  KernelSymbols symbols;
  ASSERT_TRUE(symbols.parse("0000000000000000 T _stext\n0000000000000000 t do_fcntl\n"));
  EXPECT_TRUE(symbols.empty());
  EXPECT_EQ(symbols.name_of_caller(0xffffffff81001005), "");
}

TEST(KernelSymbols, AreRefusedAtTheLineThatIsNone) {
  KernelSymbols symbols;
  EXPECT_TRUE(
      fails(symbols.parse("ffffffff81000000 T _text\nffffffff8100zz00 T odd\n"), {.code = ErrorCode::kData, .offset = 25U}));
  EXPECT_TRUE(symbols.empty());
}

}  // namespace
}  // namespace memstat::events
