// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/poll/capture_bound.h"

#include "core/kernel/open_view.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

class CaptureBoundTest : public testing::Test {
 protected:
  static void say(const char* text) { ASSERT_EQ(::setenv("MEMSTAT_CAPTURE_MAX", text, 1), 0); }
  void TearDown() override { ::unsetenv("MEMSTAT_CAPTURE_MAX"); }
};

TEST_F(CaptureBoundTest, TheFlagGoesBeforeTheEnvironmentAndBothBeforeTheDefault) {
  ::unsetenv("MEMSTAT_CAPTURE_MAX");
  EXPECT_EQ(*capture_bound({}), kMaxCaptureBytes);
  say("");
  EXPECT_EQ(*capture_bound({}), kMaxCaptureBytes);
  say("2GiB");
  EXPECT_EQ(*capture_bound({}), 2ULL << 30);
  EXPECT_EQ(*capture_bound(1000), 1000U);
}

TEST_F(CaptureBoundTest, AnInvalidSizeIsAnErrorThatNamesTheVariable) {
  say("much");
  const auto bound = capture_bound({});
  ASSERT_FALSE(bound);
  EXPECT_NE(to_string(bound.error()).find("MEMSTAT_CAPTURE_MAX"), std::string::npos);
  EXPECT_EQ(*capture_bound(1000), 1000U) << "if the flag is given, the variable is ignored";
}

}  // namespace
}  // namespace memstat
