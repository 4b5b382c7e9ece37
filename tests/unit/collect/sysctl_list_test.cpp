// SPDX-License-Identifier: BSD-2-Clause
#include "core/collect/sysctl_list.h"

#include "tests/support/result_checks.h"
#include "tests/support/sysctl_kernel.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

class ListedSysctls : public testing::Test {
 protected:
  Result<void> list(std::initializer_list<std::string_view> names) {
    for (const std::string_view name : names) {
      if (auto result = list_sysctl(kernel_, "sysctl x", name, state_); !result) return result;
    }
    return {};
  }
  Result<void> read() {
    constexpr SysctlRules kRules{.find = [](KernelView&, SysctlListState&) { return Result<void>(); },
                                 .is_needed = [](std::string_view name) { return name == "needed"; },
                                 .is_setting = [](std::string_view name) { return name.starts_with("max"); }};
    return read_listed_sysctls(kernel_, "sysctl x", kRules, state_, bundle_);
  }
  /// "name name ..." of a whole bundle, or the error.
  std::string names() {
    std::string text;
    const auto result = for_each_listed_sysctl("sysctl x", bundle_.view(), [&](std::string_view name, std::string_view) {
      text += std::string(name) + " ";
      return name != "bad";
    });
    return result ? text : to_string(result.error());
  }

  SysctlKernel kernel_;
  SysctlListState state_;
  Buffer bundle_;
};

TEST_F(ListedSysctls, AreThoseThatTheKernelHas) {
  kernel_.set_u32("a.b", 1);
  kernel_.set_u32("a.d", 2);
  ASSERT_TRUE(list({"a.b", "a.c", "a.d"}));
  EXPECT_EQ(state_.list, (SysctlList{"a.b", "a.d"}));
  ASSERT_TRUE(read());
  EXPECT_EQ(names(), "a.b a.d ");
  kernel_.sysctls.erase("a.b");
  ASSERT_TRUE(read());
  EXPECT_EQ(names(), "a.d ") << "gone with its module";
  kernel_.sysctls.clear();
  EXPECT_EQ(read().error().code, ErrorCode::kNotPresent) << "all of them";
}

TEST_F(ListedSysctls, ThatAreNeededAreErrorsWhenTheyAreGone) {
  kernel_.set_u32("needed", 1);
  kernel_.set_u32("a", 1);
  ASSERT_TRUE(list({"needed", "a"}));
  ASSERT_TRUE(read());
  kernel_.sysctls.erase("needed");
  EXPECT_EQ(read().error().detail, "needed");
}

TEST_F(ListedSysctls, AreInTheirOrderWhetherSettingsAreReadOrNot) {
  const std::array names_in_order{"max.a", "b", "c", "max.d", "max.e", "f", "max.g"};
  for (const char* name : names_in_order) kernel_.set_u32(name, 1);
  ASSERT_TRUE(list({"max.a", "b", "c", "max.d", "max.e", "f", "max.g"}));
  kernel_.sysctls.erase("max.d");
  kernel_.is_live = true;
  for (int poll = 0; poll < 9; ++poll) {
    ASSERT_TRUE(read());
    EXPECT_EQ(names(), "max.a b c max.e f max.g ") << poll;
  }
  EXPECT_EQ(kernel_.reads["b"], 10) << "one of them to find it";
  EXPECT_EQ(kernel_.reads["max.g"], 4) << "at the polls 0, 4 and 8";
  kernel_.sysctls.erase("c");
  ASSERT_TRUE(read());
  EXPECT_EQ(names(), "max.a b max.e f max.g ");
}

TEST_F(ListedSysctls, ThatAreSettingsAreReadEachTimeWhereEachPollIsAnotherMoment) {
  for (const char* name : {"max.a", "b"}) kernel_.set_u32(name, 1);
  ASSERT_TRUE(list({"max.a", "b"}));
  for (int poll = 0; poll < 3; ++poll) ASSERT_TRUE(read());
  EXPECT_EQ(kernel_.reads["max.a"], 4) << "a capture";
  kernel_.is_live = true;
  kernel_.is_recorded = true;
  for (int poll = 0; poll < 3; ++poll) ASSERT_TRUE(read());
  EXPECT_EQ(kernel_.reads["max.a"], 7) << "a recording";
}

TEST_F(ListedSysctls, ThatAreSettingsAreReadAgainAfterAFailure) {
  for (const char* name : {"max.a", "b"}) kernel_.set_u32(name, 1);
  ASSERT_TRUE(list({"max.a", "b"}));
  kernel_.is_live = true;
  kernel_.failures["b"] = EIO;
  EXPECT_FALSE(read());
  kernel_.failures.clear();
  ASSERT_TRUE(read());
  EXPECT_EQ(names(), "max.a b ");
}

TEST_F(ListedSysctls, ThatWereCutShortOrHoldSomethingElseAreKnownAsSuch) {
  kernel_.set_u32("bad", 1);
  ASSERT_TRUE(list({"bad"}));
  ASSERT_TRUE(read());
  EXPECT_EQ(names(),
            "sysctl x: offset 11: a sysctl is repeated, or holds something other than a number of 1, 2, 4 or 8 bytes");
  for (std::size_t cut = 0; cut < 15; ++cut) {
    bundle_.resize(cut);
    EXPECT_EQ(names(), "sysctl x: offset " + std::to_string(cut) + ": the data ends early");
    ASSERT_TRUE(read());
  }
}

TEST_F(ListedSysctls, ThatComeTwiceAreRefusedWhateverTheirHashes) {
  FileBundleWriter bundle(bundle_, state_.scratch);
  // So many that some have the hash of another one.
  constexpr std::size_t kNames = 3000;
  for (std::size_t i = 0; i < kNames; ++i) ASSERT_TRUE(bundle.add("a." + std::to_string(i), "x"));
  ASSERT_TRUE(bundle.add(kEndOfListedSysctls, ""));
  std::size_t count = 0;
  const auto take = [&count](std::string_view, std::string_view) { return ++count != 0; };
  EXPECT_TRUE(for_each_listed_sysctl("x", bundle_.view(), take));
  EXPECT_EQ(count, kNames);
  for (const char* name : {"a", ""}) {
    FileBundleWriter twice(bundle_, state_.scratch);
    for (const char* each : {"b", name, "c", name}) ASSERT_TRUE(twice.add(each, "x"));
    ASSERT_TRUE(twice.add(kEndOfListedSysctls, ""));
    EXPECT_TRUE(fails(for_each_listed_sysctl("x", bundle_.view(), take), ErrorCode::kData)) << name;
    EXPECT_TRUE(for_each_sysctl_record("x", bundle_.view(), take));
  }
}

TEST(SysctlIndex, IsTheOneTextOfItsNumber) {
  EXPECT_EQ(sysctl_index("0", 2), 0U);
  EXPECT_EQ(sysctl_index("1", 2), 1U);
  for (const char* text : {"2", "00", "01", "", "-1", "x", "1 "}) EXPECT_EQ(sysctl_index(text, 2), std::nullopt) << text;
}

TEST(SysctlNumber, HasTheWidthThatItWasReadWith) {
  EXPECT_EQ(sysctl_number("\x01"), 1U);
  EXPECT_EQ(sysctl_number(SysctlKernel::bytes_of(std::uint16_t{65535})), 65535U);
  EXPECT_EQ(sysctl_number(SysctlKernel::bytes_of(std::uint32_t{4294967295U})), 4294967295U);
  EXPECT_EQ(sysctl_number(SysctlKernel::bytes_of(~std::uint64_t{0})), ~std::uint64_t{0});
  for (const std::size_t size : {0U, 3U, 5U, 7U, 9U, 16U}) EXPECT_EQ(sysctl_number(std::string(size, 'x')), std::nullopt);
}

TEST(SysctlAmount, IsNothingBelowZero) {
  EXPECT_EQ(sysctl_amount(SysctlKernel::bytes_of(std::int32_t{-1})), 0U);
  EXPECT_EQ(sysctl_amount(SysctlKernel::bytes_of(std::int64_t{-5})), 0U);
  EXPECT_EQ(sysctl_amount("\xff"), 0U);
  EXPECT_EQ(sysctl_amount(SysctlKernel::bytes_of(std::int32_t{2147483647})), 2147483647U);
  EXPECT_EQ(sysctl_amount("abc"), std::nullopt);
}

}  // namespace
}  // namespace memstat
