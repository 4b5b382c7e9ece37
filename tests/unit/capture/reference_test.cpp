// SPDX-License-Identifier: BSD-2-Clause
#include "core/capture/reference.h"

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

}  // namespace
}  // namespace memstat
