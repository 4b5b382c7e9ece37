// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include "tests/support/process_kernel.h"

namespace memstat::inspections::anonymous {
namespace {

TEST(WhoAnonymous, TheLineOfStatusCountsInBytes) {
  ProcessKernel kernel;
  kernel.add(7, "small", 0, "", "RssAnon:\t      12 kB\n");
  kernel.add(8, "large", 0, "", "RssAnon:\t     800 kB\nRssFile:\t 9999 kB\n");
  kernel.add(9, "none", 0, "", "RssAnon:\t       0 kB\n");
  EXPECT_EQ(holders_text(answer_of(kernel, "anonymous")), "8 large 819200B; 7 small 12288B");
}

TEST(WhoAnonymous, ADamagedOrHugeNumberIsNone) {
  ProcessKernel kernel;
  kernel.add(7, "huge", 0, "", "RssAnon:\t 18446744073709551615 kB\n");
  kernel.add(8, "wide", 0, "", "RssAnon:\t 99999999999999999999999 kB\n");
  kernel.add(9, "text", 0, "", "RssAnon:\tmany kB\n");
  kernel.add(10, "bare", 0, "", "RssAnon:\n");
  EXPECT_EQ(holders_text(answer_of(kernel, "anonymous")), "");
}

}  // namespace
}  // namespace memstat::inspections::anonymous
