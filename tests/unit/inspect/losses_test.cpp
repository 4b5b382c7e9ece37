// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include "tests/support/process_kernel.h"

namespace memstat::inspections::losses {
namespace {

std::string datagram_socket(int inode, const std::string& drops) {
  return "  1: 0100007F:0035 00000000:0000 07 00000000:00000000 00:00000000 00000000   101        0 " +
         std::to_string(inode) + " 2 0000000000000000 " + drops + "\n";
}

TEST(WhoLosses, AreOfTheProcessesThatDoNotReadInEachNamespace) {
  ProcessKernel kernel;
  kernel.links["/proc/self/ns/net"] = "net:[1]";
  kernel.links["/proc/7/ns/net"] = "net:[1]";
  kernel.links["/proc/8/ns/net"] = "net:[2]";
  kernel.add(7, "resolver");
  kernel.add(8, "pod");
  for (const int inode : {70, 71, 72}) kernel.link(7, "socket:[" + std::to_string(inode) + "]");
  kernel.link(8, "socket:[80]");
  kernel.files["/proc/self/net/udp"] = "  sl  local_address\n" + datagram_socket(70, "400") + datagram_socket(71, "0") +
                                       datagram_socket(99, "5") + datagram_socket(71, "x") + "1: 2 3\n";
  kernel.files["/proc/self/net/netlink"] =
      "sk               Eth Pid        Groups   Rmem     Wmem     Dump  Locks    Drops    Inode\n"
      "0000000000000000 0   7          00000001 212992   0        0     2        30       72\n"
      "0000000000000000 0   0          00000001 0        0        0     2        0        73\ntorn 1\n";
  kernel.files["/proc/8/net/udp6"] = datagram_socket(80, "9");
  EXPECT_EQ(holders_text(answer_of(kernel, "losses")),
            "7 resolver udp 400; 7 resolver netlink 30; 8 pod udp6 in net:[2] 9; udp 5");
}

TEST(WhoLosses, ATableWithoutThatColumnHasNone) {
  ProcessKernel kernel;
  kernel.links["/proc/self/ns/net"] = "net:[1]";
  kernel.add(7, "resolver");
  kernel.link(7, "socket:[70]");
  kernel.files["/proc/self/net/netlink"] = "sk Eth Pid Groups Rmem Wmem Dump Locks Inode\n0 0 7 1 5 0 0 2 70\n";
  EXPECT_EQ(holders_text(answer_of(kernel, "losses")), "");
}

}  // namespace
}  // namespace memstat::inspections::losses
