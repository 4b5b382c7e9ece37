// SPDX-License-Identifier: BSD-2-Clause
// Questions answered with a line of /proc/PID/status.
#include <gtest/gtest.h>

#include "tests/support/process_kernel.h"

namespace memstat::status_lines_test {
namespace {

struct StatusLine {
  const char* question;
  std::string key;
};

class WhoByStatus : public testing::TestWithParam<StatusLine> {
 protected:
  [[nodiscard]] std::string line(const std::string& value) const { return GetParam().key + ":" + value + "\n"; }
  ProcessKernel kernel_;
};

TEST_P(WhoByStatus, TheLineCountsInBytes) {
  kernel_.add(7, "small", 0, "", line("\t      12 kB"));
  kernel_.add(8, "large", 0, "", "Before:\t 9999 kB\n" + line("\t     800 kB") + "After:\t 9999 kB\n");
  kernel_.add(9, "none", 0, "", line("\t       0 kB"));
  kernel_.add(10, "other", 0, "", "X" + line("\t 5 kB"));
  EXPECT_EQ(holders_text(answer_of(kernel_, GetParam().question)), "8 large 819200B; 7 small 12288B");
}

TEST_P(WhoByStatus, ADamagedOrHugeNumberIsNone) {
  kernel_.add(7, "huge", 0, "", line("\t 18446744073709551615 kB"));
  kernel_.add(8, "wide", 0, "", line("\t 99999999999999999999999 kB"));
  kernel_.add(9, "text", 0, "", line("\tmany kB"));
  kernel_.add(10, "bare", 0, "", line(""));
  EXPECT_EQ(holders_text(answer_of(kernel_, GetParam().question)), "");
}

INSTANTIATE_TEST_SUITE_P(Questions, WhoByStatus,
                         testing::Values(StatusLine{"anonymous", "RssAnon"}, StatusLine{"locked", "VmLck"},
                                         StatusLine{"page-tables", "VmPTE"}, StatusLine{"pinned", "VmPin"}),
                         [](const auto& line) { return line.param.key; });

}  // namespace
}  // namespace memstat::status_lines_test
