// SPDX-License-Identifier: BSD-2-Clause
// Idle times of memory from handwritten files. Captured and live kernels: tests/guests/checker.py.
#include <bit>

#include "core/query.h"
#include "tests/support/bundled_files.h"
#include "tests/support/test.h"

namespace memstat::linux_damon_test {
namespace {

const std::string kDirectory = "/sys/module/damon_stat/parameters/";
const std::string kTimes = kDirectory + "memory_idle_ms_percentiles";

using Seconds = std::map<std::string, double>;

/// The numbers 0 to 100, each plus `more`.
std::string times(int more = 0, int count = 101) {
  std::string text;
  for (int i = 0; i < count; ++i) text += (i == 0 ? "" : ",") + std::to_string(i + more);
  return text + "\n";
}

class Damon : public testing::Test {
 protected:
  Damon() { files_.contents = {{kDirectory + "enabled", "Y\n"}, {kTimes, times()}}; }
  /// Seconds by percent.
  std::map<std::string, double> seconds() {
    std::map<std::string, double> found;
    for (const auto& [name, bits] : files_.statistics()) found[name.substr(name.find('{'))] = std::bit_cast<double>(bits);
    return found;
  }
  BundledFiles files_{*find_source("linux_damon")};
};

TEST_F(Damon, HasTheIdleTimesOfFourShares) {
  EXPECT_EQ(seconds(), (Seconds{{"{25}", 0.025}, {"{50}", 0.05}, {"{75}", 0.075}, {"{90}", 0.09}}));
}

TEST_F(Damon, HasZeroForMemoryThatIsBeingAccessed) {
  files_.contents[kTimes] = times(-50);
  EXPECT_EQ(seconds(), (Seconds{{"{25}", 0}, {"{50}", 0}, {"{75}", 0.025}, {"{90}", 0.04}}));
}

TEST_F(Damon, HasNothingWhileTheMonitorIsOffOrHasNotEndedARound) {
  files_.contents[kTimes] = times(-100);
  EXPECT_EQ(seconds(), Seconds());
  files_.contents = {{kDirectory + "enabled", "N\n"}, {kTimes, times()}};
  EXPECT_EQ(seconds(), Seconds()) << "the times are those of the last round";
}

TEST_F(Damon, RefusesFewerTimesAndWhatIsNoNumber) {
  files_.expect_refused_with(kTimes, times(0, 100), times(0, 100).size() - 1);
  files_.expect_refused_with(kTimes, "1,x" + times(), 2);
  files_.expect_refused_with(kTimes, "1,2", 3);
  files_.expect_refused_with(kDirectory + "enabled", "Y", 0);
}

}  // namespace
}  // namespace memstat::linux_damon_test
