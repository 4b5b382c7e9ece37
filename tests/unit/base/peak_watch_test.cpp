// SPDX-License-Identifier: BSD-2-Clause
#include "core/base/peak_watch.h"

#include "tests/support/test.h"

namespace memstat {
namespace {

constexpr std::size_t kLarge = 10 * PeakWatch::kMinPeak;

/// How many of the polls end a peak.
unsigned ends(PeakWatch& watch, unsigned polls, std::size_t used) {
  unsigned count = 0;
  for (unsigned i = 0; i < polls; ++i) count += watch.is_over(used) ? 1 : 0;
  return count;
}

TEST(PeakWatch, ReportsTheEndOfAPeakOnce) {
  PeakWatch watch;
  EXPECT_EQ(ends(watch, 2 * PeakWatch::kPolls, kLarge / 10), 0U);
  EXPECT_EQ(ends(watch, 1, kLarge), 0U) << "one poll is a peak";
  EXPECT_EQ(ends(watch, PeakWatch::kPolls, kLarge / 10), 0U) << "not at once";
  EXPECT_EQ(ends(watch, PeakWatch::kPolls, kLarge / 10), 1U);
  EXPECT_EQ(ends(watch, 10 * PeakWatch::kPolls, kLarge / 10), 0U);
}

TEST(PeakWatch, KeepsWhatIsNeededNowAndThen) {
  PeakWatch watch;
  unsigned count = 0;
  for (int i = 0; i < 100; ++i) count += ends(watch, PeakWatch::kPolls / 2, 0) + ends(watch, 1, kLarge);
  EXPECT_EQ(count, 0U);
}

TEST(PeakWatch, IgnoresSmallChangesAndSmallPeaks) {
  PeakWatch watch;
  EXPECT_EQ(ends(watch, PeakWatch::kPolls, kLarge) + ends(watch, 5 * PeakWatch::kPolls, kLarge / 2), 0U);
  PeakWatch small;
  EXPECT_EQ(ends(small, PeakWatch::kPolls, PeakWatch::kMinPeak - 1) + ends(small, 5 * PeakWatch::kPolls, 0), 0U);
}

}  // namespace
}  // namespace memstat
