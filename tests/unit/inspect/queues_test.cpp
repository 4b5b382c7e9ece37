// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include "core/inspect/unix_sockets.h"
#include "tests/support/process_kernel.h"

namespace memstat::inspections::queues {
namespace {

constexpr std::string_view kNames =
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n";

std::string socket_line(const std::string& state, const std::string& queues, int inode) {
  return "   0: 0100007F:1F90 00000000:0000 " + state + " " + queues + " 00:00000000 00000000  1000        0 " +
         std::to_string(inode) + " 1 0 100 0 0 10 0\n";
}

/// A process 7 with the sockets 70 to 79 in the own network namespace, and 8 with 80 in another.
void add_sockets(ProcessKernel& kernel) {
  kernel.links["/proc/self/ns/net"] = "net:[1]";
  kernel.add(7, "server");
  kernel.add(8, "pod");
  for (int i = 70; i < 80; ++i) kernel.link(7, "socket:[" + std::to_string(i) + "]");
  kernel.link(8, "socket:[80]");
  kernel.links["/proc/7/ns/net"] = "net:[1]";
  kernel.links["/proc/8/ns/net"] = "net:[2]";
  kernel.tables["unix_sockets"] = "";
}

TEST(WhoQueues, BytesAreOfTheProcessThatHoldsTheSocketInItsNamespace) {
  ProcessKernel kernel;
  add_sockets(kernel);
  kernel.files["/proc/self/net/udp"] = std::string(kNames) + socket_line("07", "00000000:00001000", 70) +
                                       socket_line("07", "00000000:00000100", 71) +
                                       socket_line("07", "00000000:00000000", 72);
  kernel.files["/proc/self/net/tcp"] = std::string(kNames) + socket_line("01", "00000020:00000000", 73) +
                                       socket_line("0A", "00000000:00000005", 74) + socket_line("01", "0:8", 999);
  kernel.files["/proc/8/net/tcp6"] = std::string(kNames) + socket_line("01", "00000000:00002000", 80);
  EXPECT_EQ(
      holders_text(answer_of(kernel, "queues")),
      "8 pod tcp6 receive in net:[2] 1 8192B; 7 server udp receive 2 4352B; 7 server tcp send 1 32B; tcp receive 1 8B; "
      "7 server tcp accept 5");
  EXPECT_EQ(answer_of(kernel, "queues").holders[3].user, "1000");
}

TEST(WhoQueues, DamagedLinesAreLeftOutAndHugeQueuesDoNotWrap) {
  ProcessKernel kernel;
  add_sockets(kernel);
  kernel.files["/proc/self/net/udp"] = std::string(kNames) + "0: x y 07 1 2\n" + socket_line("07", "00000001", 70) +
                                       socket_line("07", "g:1", 70) + socket_line("07", "0:ffffffffffffffff", 71) +
                                       socket_line("07", "0:10", 72) + socket_line("07", "0:1ffffffffffffffff", 72);
  EXPECT_EQ(holders_text(answer_of(kernel, "queues")), "7 server udp receive 2 18446744073709551615B");
}

TEST(WhoQueues, UnixBytesAreTheReceivers) {
  ProcessKernel kernel;
  add_sockets(kernel);
  kernel.tables["unix_sockets"] =
      "70 80 100 0 stream connected\n80 70 0 768 stream connected\n"
      "71 80 0 500 datagram connected\n80 71 20 0 datagram connected\n"
      "72 0 0 300 datagram connected\n73 0 5 128 stream listening\nbroken\n";
  EXPECT_EQ(holders_text(answer_of(kernel, "queues")),
            "8 pod unix receive 1 500B; 7 server unix send 1 300B; 7 server unix receive 1 100B");
}

TEST(WhoQueues, LiveUnixSocketsAreReadBySockDiag) {
  UnixSocketsTable table;
  Buffer text;
  if (auto read = table.read(text); !read) GTEST_SKIP() << to_string(read.error());
  for (const UnixSocket& socket : parse_unix_sockets(text.view())) EXPECT_NE(socket.inode, 0U);
}

}  // namespace
}  // namespace memstat::inspections::queues
