// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include "tests/support/freebsd_tables.h"
#include "tests/support/process_kernel.h"

namespace memstat::inspections::freebsd_queues {
namespace {

constexpr std::uint16_t kSocketType = 2;
const Inspection& question() { return *find_inspection("queues", OperatingSystem::kFreeBsd); }

class WhoQueuesOnFreeBsd : public testing::Test {
 protected:
  WhoQueuesOnFreeBsd() {
    kernel_.set("kern.proc.proc", exported_process(7, "nginx") + exported_process(8, "child"));
    kernel_.set("kern.file", exported_file(7, 1, 50) + exported_file(7, kSocketType, 51) +
                                 exported_file(8, kSocketType, 51) + exported_file(8, kSocketType, 52) +
                                 exported_file(8, kSocketType, 53));
  }
  void set(const std::string& name, SocketTable table, const std::vector<SocketFigures>& sockets) {
    std::string records;
    for (const SocketFigures& one : sockets) records += exported_socket(table, one);
    kernel_.set("net." + name + ".pcblist", exported_sockets(table, records));
  }
  SysctlKernel kernel_;
};

TEST_F(WhoQueuesOnFreeBsd, BytesAreThoseOfTheProcessThatHoldsTheSocketTheFirstOfSeveral) {
  set("inet.tcp", SocketTable::kTcp,
      {{.object = 51, .unread = 100, .unsent = 20}, {.object = 52, .unread = 5, .is_v6 = true}, {.object = 53}});
  set("inet.udp", SocketTable::kUdp, {{.object = 53, .unread = 9}});
  const auto answer = inspect(kernel_, question()).value();
  EXPECT_EQ(holders_text(answer),
            "7 nginx tcp receive 1 100B; 7 nginx tcp send 1 20B; 8 child udp receive 1 9B; 8 child tcp6 receive 1 5B");
  EXPECT_EQ(answer.looked_at, 5U);  // three sockets, two processes
}

TEST_F(WhoQueuesOnFreeBsd, SocketsOfAProcessAreAddedUp) {
  set("inet.tcp", SocketTable::kTcp, {{.object = 52, .unread = 100}, {.object = 53, .unread = 20}});
  EXPECT_EQ(holders_text(inspect(kernel_, question()).value()), "8 child tcp receive 2 120B");
}

TEST_F(WhoQueuesOnFreeBsd, AListenerHasConnectionsThatWait) {
  set("inet.tcp", SocketTable::kTcp, {{.object = 51, .waiting = 128}});
  EXPECT_EQ(holders_text(inspect(kernel_, question()).value()), "7 nginx tcp accept 128");
}

TEST_F(WhoQueuesOnFreeBsd, ALocalSocketsSentBytesCountForItsReceiver) {
  set("local.stream", SocketTable::kLocal, {{.object = 51, .unsent = 700}, {.object = 52, .unread = 700}});
  set("local.dgram", SocketTable::kLocal, {{.object = 53, .unread = 30}});
  EXPECT_EQ(holders_text(inspect(kernel_, question()).value()), "8 child unix receive 2 730B");
}

TEST_F(WhoQueuesOnFreeBsd, ASocketThatNoProcessHoldsHasItsUser) {
  set("inet.tcp", SocketTable::kTcp, {{.object = 0, .unsent = 3}, {.object = 99, .unsent = 4}});
  const auto answer = inspect(kernel_, question()).value();
  EXPECT_EQ(holders_text(answer), "tcp send 2 7B");
  EXPECT_EQ(answer.holders[0].user, "77");
}

TEST_F(WhoQueuesOnFreeBsd, AKernelWithoutAProtocolHasTheOthersAndAnUnknownStructureIsNoAnswer) {
  EXPECT_EQ(holders_text(inspect(kernel_, question()).value()), "");
  kernel_.set("net.inet.udp.pcblist", std::string(64, '\1'));
  EXPECT_EQ(inspect(kernel_, question()).error().code, ErrorCode::kVersion);
  kernel_.failures["net.inet.udp.pcblist"] = EPERM;
  EXPECT_EQ(inspect(kernel_, question()).error().code, ErrorCode::kPermission);
}

TEST_F(WhoQueuesOnFreeBsd, TheNumberOfSocketsIsBounded) {
  std::vector<SocketFigures> sockets(40, SocketFigures{.object = 99, .unread = 1});
  set("inet.tcp", SocketTable::kTcp, sockets);
  const auto answer = inspect(kernel_, question(), {.max_objects = 30}).value();
  EXPECT_TRUE(answer.is_cut);
  EXPECT_EQ(holders_text(answer), "tcp receive 30 30B");
}

}  // namespace
}  // namespace memstat::inspections::freebsd_queues
