// SPDX-License-Identifier: BSD-2-Clause
#include "core/capture/reference.h"

#include "core/capture/manifest.h"
#include "tests/support/fixtures.h"
#include "tests/support/result_checks.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

struct Case {
  const char* text;
  const char* path;
  std::optional<std::size_t> poll;
};

TEST(CaptureReference, OnlyDigitsBehindTheLastAtAreAPoll) {
  for (const Case& value :
       {Case{"a", "a", {}}, Case{"a@0", "a", 0}, Case{"a@12", "a", 12}, Case{"a@007", "a", 7}, Case{"a@b@3", "a@b", 3},
        Case{"a@3@4", "a@3", 4}, Case{"root@host/c", "root@host/c", {}}, Case{"a@3/c", "a@3/c", {}}, Case{"a@", "a@", {}},
        Case{"a@-1", "a@-1", {}}, Case{"a@+1", "a@+1", {}}, Case{"a@1x", "a@1x", {}}, Case{"a@ 1", "a@ 1", {}},
        Case{"@3", "@3", {}}, Case{"", "", {}}, Case{"a@18446744073709551615", "a", SIZE_MAX},
        Case{"a@18446744073709551616", "a@18446744073709551616", {}}}) {
    const CaptureReference parsed = parse_capture_reference(value.text);
    EXPECT_EQ(parsed.path, value.path) << value.text;
    EXPECT_EQ(parsed.poll, value.poll) << value.text;
  }
}

TEST(CaptureReference, SelectsThePollNamedOrTheLast) {
  if (native_byte_order() != "little") GTEST_SKIP() << "the captured machine has the other byte order";
  const auto capture = open_fixture("freebsd-15.0-amd64-4cpu.tar.zst");
  ASSERT_EQ(capture->poll_count(), 3U);
  ASSERT_TRUE(select_poll(*capture, {.path = "c", .poll = {}}));
  EXPECT_EQ(capture->selected_poll(), 2U);
  ASSERT_TRUE(select_poll(*capture, {.path = "c", .poll = 1}));
  EXPECT_EQ(capture->selected_poll(), 1U);
  for (const std::size_t poll : {std::size_t{3}, SIZE_MAX}) {
    EXPECT_TRUE(fails(select_poll(*capture, {.path = "c", .poll = poll}),
                      {.code = ErrorCode::kNotPresent, .path = "c", .detail = "0 to 2"}));
    EXPECT_EQ(capture->selected_poll(), 1U) << "as it was";
  }
}

TEST(CaptureReference, OpensAtThePollWithNotesOrGivesTheErrorOfTheCapture) {
  if (native_byte_order() != "little") GTEST_SKIP() << "the captured machine has the other byte order";
  const auto opened = open_at(open_fixture("freebsd-15.0-amd64-4cpu.tar.zst"), {.path = "c", .poll = 1}, {"a note"});
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->view.get(), opened->capture);
  EXPECT_EQ(opened->capture->selected_poll(), 1U);
  EXPECT_EQ(opened->notes, std::vector<std::string>{"a note"});
  EXPECT_TRUE(
      fails(open_at(open_fixture("freebsd-15.0-amd64-4cpu.tar.zst"), {.path = "c", .poll = 3}), ErrorCode::kNotPresent));
  const auto damaged = open_at(data_error("c", 7, "is damaged"), {.path = "c", .poll = {}});
  ASSERT_FALSE(damaged);
  EXPECT_EQ(damaged.error().detail, "is damaged");
}

}  // namespace
}  // namespace memstat
