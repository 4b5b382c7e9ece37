// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include "tests/support/evidence.h"

namespace memstat::causes::queues {
namespace {

constexpr double kMiB = EvidenceOfMachine::kMiB;

TEST(Queues, LostMessagesAreNowAndOldOnesNothing) {
  EvidenceOfMachine machine;
  machine.metric("memstat_socket_dropped_messages", 5000, {"NETLINK"});
  EXPECT_EQ(machine.words(), "");
  machine.evidence.metrics[0].change.recent = 3000;
  EXPECT_EQ(machine.words(), "now netlink_queue");
}

TEST(Queues, LostMessagesAreBehindLostMemoryAndTheirReaderIsNamed) {
  EvidenceOfMachine machine;
  machine.moved("memstat_socket_dropped_messages", 3000, {"NETLINK"});
  machine.moved("memstat_socket_events_total", 9000, {"UDP", "RcvbufErrors"});
  machine.growing("account", "anonymous", 9 * kMiB * 1024, 6 * kMiB * 1024, 300).memory_seconds = 600;
  ASSERT_EQ(machine.words(), "soon anonymous_growth, now netlink_queue, now udp_buffer_full");
  machine.evidence.inspections.push_back(answer_to(
      "losses",
      {{.pid = 8, .command = "resolver", .user = "", .group = "/dns", .name = "udp", .count = 9000, .bytes = {}},
       {.pid = 7, .command = "watcher", .user = "", .group = "/w", .name = "netlink", .count = 3000, .bytes = {}}}));
  const std::vector<Finding> found = diagnose(machine.evidence).findings;
  EXPECT_EQ(found.at(1).who.at(0).name, "watcher (pid 7)");
  EXPECT_EQ(found.at(2).who.at(0).name, "resolver (pid 8)");
}

TEST(Queues, UnreadBytesAreNotableFromAHundredthOfMemoryOn) {
  EvidenceOfMachine machine;
  machine.metric("memstat_socket_queued_bytes", 90 * kMiB, {"PACKET"});
  EXPECT_EQ(machine.words(), "");
  machine.evidence.metrics[0].value = 200 * kMiB;
  EXPECT_EQ(machine.words(), "notable unread_queues");
}

TEST(Queues, UnreadPacketsAreTheCauseOfTheCachesThatTheyFill) {
  EvidenceOfMachine machine;
  machine.metric("memstat_socket_queued_bytes", 200 * kMiB, {"PACKET"});
  machine.growing("slab", "kmalloc-2k", 4e8, 3e8, 300);
  ASSERT_EQ(machine.words(), "notable unread_queues");
  EXPECT_EQ(machine.find()[0].explains.size(), 1U);
}

TEST(Queues, SocketsOfOtherNamespacesAreNamedWhereTheyHoldMemory) {
  EvidenceOfMachine machine;
  machine.metric("memstat_socket_allocated_objects", 900, {"TCP"});
  TypeEvidence& tcp = machine.type(Allocator::kSocket, "TCP");
  tcp.objects = 100;
  EXPECT_EQ(machine.words(), "");
  tcp.bytes = 300 * kMiB;
  EXPECT_EQ(machine.words(), "notable sockets_elsewhere");
  tcp.objects = 800;
  EXPECT_EQ(machine.words(), "");
}

TEST(Queues, AFewLostMessagesOfALongTimeAreEnough) {
  EvidenceOfMachine machine;
  machine.moved("memstat_socket_dropped_messages", 4, {"NETLINK"});
  EXPECT_EQ(machine.words(), "");
  machine.evidence.metrics[0].change.recent = 12;
  EXPECT_EQ(machine.words(), "notable netlink_queue");
}

TEST(Queues, LostMessagesOfBeforeAreNotable) {
  EvidenceOfMachine machine;
  machine.moved("memstat_socket_dropped_messages", 3000, {"NETLINK"}).change.still = 119;
  EXPECT_EQ(machine.words(), "now netlink_queue");
  machine.evidence.metrics[0].change.still = 120;
  ASSERT_EQ(machine.words(), "notable netlink_queue");
  EXPECT_EQ(machine.find()[0].headline, "3000 kernel messages lost, the last one 2 min ago");
}

TEST(Queues, AFullQueueWhoseSenderGaveUpIsPossible) {
  EvidenceOfMachine machine;
  machine.metric("memstat_socket_dropped_messages", 90, {"NETLINK"});
  machine.metric("memstat_socket_queued_bytes", 1e5, {"NETLINK"});
  EXPECT_EQ(machine.words(), "");
  machine.evidence.metrics[1].value = 2e5;
  ASSERT_EQ(machine.words(), "notable netlink_queue");
  EXPECT_EQ(machine.find()[0].certainty, Certainty::kPossible);
}

}  // namespace
}  // namespace memstat::causes::queues
