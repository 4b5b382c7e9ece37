// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/process/stop_deadline.h"

#include "tests/support/test.h"

#include <future>

namespace memstat {
namespace {

using std::chrono::milliseconds;
constexpr std::chrono::seconds kPatience{60};
constexpr milliseconds kNever{std::chrono::hours(1)};

TEST(StopDeadline, ExpiresOnceWhenItsTimeIsOver) {
  std::promise<void> expired;
  StopDeadline deadline([&] { expired.set_value(); });
  deadline.begin(milliseconds(1));
  EXPECT_EQ(expired.get_future().wait_for(kPatience), std::future_status::ready);
}

TEST(StopDeadline, EndsBeforeItsTimeWithoutExpiring) {
  bool has_expired = false;
  {
    StopDeadline deadline([&] { has_expired = true; });
    deadline.begin(kNever);
  }
  EXPECT_FALSE(has_expired);
}

TEST(StopDeadline, DoesNotExpireOnceItIsCancelled) {
  std::promise<void> expired;
  std::future<void> has_expired = expired.get_future();
  {
    StopDeadline deadline([&] { expired.set_value(); });
    deadline.begin(kNever);
    deadline.cancel();
    EXPECT_EQ(has_expired.wait_for(milliseconds(0)), std::future_status::timeout);
    deadline.begin(milliseconds(1));  // and can begin again
    EXPECT_EQ(has_expired.wait_for(kPatience), std::future_status::ready);
  }
}

}  // namespace
}  // namespace memstat
