// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/service/service_watch.h"

#include "tests/support/notify_socket.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

class ServiceWatchTest : public testing::Test {
 protected:
  ServiceWatchTest() {
    setenv("NOTIFY_SOCKET", socket_.name().c_str(), 1);
    setenv("WATCHDOG_USEC", "8000", 1);
    manager_ = ServiceManager::of_environment();
  }

  ServiceWatch::Checks checks() {
    return {.is_first_poll_served =
                [this] {
                  ++looks_;
                  return served_.load();
                },
            .is_serving =
                [this] {
                  ++looks_;
                  return serving_.load();
                },
            .is_polling =
                [this](std::chrono::nanoseconds) {
                  ++looks_;
                  return polling_.load();
                },
            .status = [this] { return "sources up: " + std::to_string(up_.load()); }};
  }
  /// Waits until this many more checks have been called.
  void wait_for_looks(int count) {
    const int before = looks_;
    while (looks_ < before + count) std::this_thread::yield();
  }
  std::vector<std::string> received() {
    std::vector<std::string> messages;
    while (const auto message = socket_.receive()) messages.push_back(*message);
    return messages;
  }
  void wait_for(const std::string& message) {
    while (socket_.receive() != message) std::this_thread::yield();
  }

  NotifySocket socket_;
  ServiceManager manager_;
  std::atomic<int> looks_ = 0;
  std::atomic<bool> served_ = true;
  std::atomic<bool> serving_ = true;
  std::atomic<bool> polling_ = true;
  std::atomic<int> up_ = 3;
};

TEST_F(ServiceWatchTest, IsReadyOnlyWhenAPollIsServed) {
  served_ = false;
  ServiceWatch watch(manager_, checks());
  watch.polled();
  wait_for_looks(1);
  watch.polled();
  wait_for_looks(1);
  EXPECT_EQ(received(), std::vector<std::string>{});
  served_ = true;
  watch.polled();
  wait_for("READY=1");
  wait_for("STATUS=sources up: 3");
}

TEST_F(ServiceWatchTest, SaysItsStatusWhenThatChanges) {
  ServiceWatch watch(manager_, checks());
  wait_for("STATUS=sources up: 3");
  up_ = 2;
  watch.polled();
  wait_for("STATUS=sources up: 2");
}

TEST_F(ServiceWatchTest, GivesNoSignOfLifeWhilePollsOrServerDoNotWork) {
  ServiceWatch watch(manager_, checks());
  wait_for("WATCHDOG=1");
  for (std::atomic<bool>* const check : {&serving_, &polling_}) {
    *check = false;
    wait_for_looks(3);  // the check under way has ended
    received();
    wait_for_looks(3);
    EXPECT_EQ(received(), std::vector<std::string>{});
    *check = true;
    wait_for("WATCHDOG=1");
  }
}

}  // namespace
}  // namespace memstat
