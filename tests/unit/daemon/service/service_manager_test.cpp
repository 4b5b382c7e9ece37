// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/service/service_watch.h"

#include <unistd.h>

#include "tests/support/notify_socket.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

class ServiceManagerTest : public testing::Test {
 protected:
  void TearDown() override {
    for (const char* const name : {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"}) unsetenv(name);
  }
  NotifySocket socket_;
};

TEST_F(ServiceManagerTest, AWatchdogForAnotherProcessIsNotOurs) {
  setenv("NOTIFY_SOCKET", socket_.name().c_str(), 1);
  setenv("WATCHDOG_USEC", "30000000", 1);
  setenv("WATCHDOG_PID", std::to_string(getpid() + 1).c_str(), 1);
  EXPECT_FALSE(ServiceManager::of_environment().watchdog());
  setenv("NOTIFY_SOCKET", socket_.name().c_str(), 1);
  setenv("WATCHDOG_USEC", "30000000", 1);
  setenv("WATCHDOG_PID", std::to_string(getpid()).c_str(), 1);
  EXPECT_TRUE(ServiceManager::of_environment().watchdog());
}

TEST_F(ServiceManagerTest, NonsenseInTheEnvironmentIsAsNothing) {
  const std::string long_name = "/" + std::string(200, 'x');
  for (const std::string& name : {std::string("x"), std::string("@"), std::string("/"), std::string("relative"), long_name,
                                  std::string("/nonexistent/socket"), std::string("@no such socket")}) {
    setenv("NOTIFY_SOCKET", name.c_str(), 1);
    EXPECT_FALSE(ServiceManager::of_environment().is_there()) << name;
  }
  for (const char* const period : {"", "0", "-1", "abc", "99999999999999999999", "18446744073709551615"}) {
    setenv("NOTIFY_SOCKET", socket_.name().c_str(), 1);
    setenv("WATCHDOG_USEC", period, 1);
    const ServiceManager manager = ServiceManager::of_environment();
    EXPECT_TRUE(manager.is_there());
    EXPECT_FALSE(manager.watchdog()) << period;
  }
}

TEST_F(ServiceManagerTest, AManagerThatDoesNotReadIsNotWaitedFor) {
  setenv("NOTIFY_SOCKET", socket_.name().c_str(), 1);
  const ServiceManager manager = ServiceManager::of_environment();
  for (int i = 0; i < 5000; ++i) manager.notify("STATUS=again");
  EXPECT_EQ(socket_.receive(), "STATUS=again");
}

}  // namespace
}  // namespace memstat
