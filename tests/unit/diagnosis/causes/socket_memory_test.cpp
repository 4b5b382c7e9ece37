// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include "tests/support/evidence.h"

namespace memstat::causes::socket_memory {
namespace {

TEST(SocketMemory, EachProtocolAtItsLimit) {
  for (const auto& [cause, type] : {std::pair("tcp_memory_full", "TCP"), std::pair("udp_memory_full", "UDP"),
                                    std::pair("fragments_full", "FRAG"), std::pair("fragments6_full", "FRAG6")}) {
    EvidenceOfMachine machine;
    TypeEvidence& one = machine.type(Allocator::kSocket, type);
    one.bytes = 7e6;
    one.limit_bytes = 10e6;
    EXPECT_EQ(machine.words(), "") << cause;
    one.bytes = 10e6;
    EXPECT_EQ(machine.words(), std::string("now ") + cause);
  }
}

TEST(SocketMemory, NamesTheGroupThatHasMostOfIt) {
  EvidenceOfMachine machine;
  TypeEvidence& tcp = machine.type(Allocator::kSocket, "TCP");
  tcp.bytes = tcp.limit_bytes = 10e6;
  machine.metric("memstat_memcg_part_bytes", 9e6, {"/web", "sock"});
  EXPECT_EQ(machine.find().at(0).who.at(0).name, "/web");
}

TEST(SocketMemory, PressureIsNotableAndAPartOfAFullLimit) {
  EvidenceOfMachine machine;
  TypeEvidence& tcp = machine.type(Allocator::kSocket, "TCP");
  tcp.bytes = 8e6;
  tcp.limit_bytes = 10e6;
  machine.metric("memstat_socket_memory_pressure", 1, {"TCP"});
  EXPECT_EQ(machine.words(), "notable tcp_pressure");
  tcp.bytes = 9.3e6;
  EXPECT_EQ(machine.words(), "notable tcp_pressure") << "and nearly full";
  tcp.bytes = 10e6;
  EXPECT_EQ(machine.words(), "now tcp_memory_full");
}

TEST(SocketMemory, DropsAtARateAreConfirmedAndAFewAreNot) {
  struct Drop {
    const char* words;
    const char* metric;
    const char* type;
    const char* kind;
  };
  for (const Drop& drop :
       {Drop{"now udp_buffer_full", "memstat_socket_events_total", "UDPv6", "RcvbufErrors"},
        Drop{"now tcp_receive_dropped", "memstat_socket_events_total", "TCP", "TCPRcvQDrop"},
        Drop{"wasteful conntrack_evicts", "memstat_table_events_total", "conntrack", "early_drop"},
        Drop{"now listen_overflow", "memstat_socket_events_total", "TCP", "ListenOverflows"},
        Drop{"now syn_queue_full", "memstat_socket_events_total", "TCP", "TCPReqQFullDrop"},
        Drop{"notable syn_cookies", "memstat_socket_events_total", "TCP", "TCPReqQFullDoCookies"},
        Drop{"wasteful neighbours6_collected", "memstat_table_events_total", "ndisc_cache", "forced_gc_runs"},
        Drop{"wasteful neighbours_collected", "memstat_table_events_total", "arp_cache", "forced_gc_runs"}}) {
    EvidenceOfMachine machine;
    MetricEvidence& event = machine.moved(drop.metric, 2, {drop.type, drop.kind});
    EXPECT_EQ(machine.words(), "") << drop.words;
    event.change.recent = 3000;
    EXPECT_EQ(machine.words(), drop.words);
  }
}

TEST(SocketMemory, AFullReceiveQueueIsTheProgramsWhileMemoryOfTcpIsPlenty) {
  EvidenceOfMachine machine;
  machine.moved("memstat_socket_events_total", 3000, {"TCP", "TCPRcvQDrop"});
  TypeEvidence& tcp = machine.limited(Allocator::kSocket, "TCP", 100, 1000);
  EXPECT_EQ(machine.words(), "notable tcp_receive_dropped");
  tcp.objects = 890;
  tcp.limit_used = 0.95;
  tcp.limit_objects = 0;  // its limit is not a finding of its own here
  EXPECT_EQ(machine.words(), "now tcp_receive_dropped");
}

TEST(SocketMemory, DatagramsThatAreLostNowAndThenAreWorthAWord) {
  EvidenceOfMachine machine;
  machine.moved("memstat_socket_events_total", 29, {"UDP", "RcvbufErrors"});
  EXPECT_EQ(machine.words(), "");
  machine.evidence.metrics[0].change.recent = 40;
  EXPECT_EQ(machine.words(), "notable udp_buffer_full");
}

TEST(SocketMemory, ReportsDropsThatEnded) {
  EvidenceOfMachine machine;
  machine.evidence.recent_seconds = 600;
  machine.moved("memstat_socket_events_total", 5197, {"UDP", "RcvbufErrors"}).change.still = 190;
  EXPECT_EQ(machine.words(), "now udp_buffer_full") << "it may continue";
  machine.evidence.metrics[0].change.still = 300;
  ASSERT_EQ(machine.words(), "notable udp_buffer_full");
  EXPECT_EQ(machine.find()[0].headline, "5197 datagrams dropped, the last one 5 min ago");
  machine.moved("memstat_socket_events_total", 700, {"UDPLite", "RcvbufErrors"});
  EXPECT_EQ(machine.words(), "now udp_buffer_full") << "another sample moves";
}

TEST(SocketMemory, FullQueuesOfAnyNamespaceAreFoundInWhatWaits) {
  EvidenceOfMachine machine;
  machine.moved("memstat_socket_events_total", 0, {"TCP", "ListenOverflows"});
  machine.moved("memstat_socket_events_total", 0, {"UDP", "RcvbufErrors"});
  InspectionAnswer queues;
  queues.question = "queues";
  queues.holders = {
      {.pid = 7, .command = "python3", .user = {}, .group = "/pod", .name = "tcp accept", .count = 60, .bytes = {}},
      {.pid = 8,
       .command = "dns",
       .user = {},
       .group = "/pod",
       .name = "udp receive in net:[9]",
       .count = 2,
       .bytes = 200000}};
  machine.evidence.inspections = {queues};
  EXPECT_EQ(machine.words(), "") << "the queues are half full";
  machine.evidence.inspections[0].holders[0].count = 100;
  ASSERT_EQ(machine.words(), "notable listen_overflow") << "nobody connects any more";
  EXPECT_EQ(machine.find()[0].headline, "100 connections wait to be accepted, perhaps a full queue");
  machine.evidence.inspections[0].holders[0].name = "tcp accept in net:[9]";
  ASSERT_EQ(machine.words(), "notable listen_overflow");
  EXPECT_EQ(machine.find()[0].headline,
            "100 connections wait to be accepted in another network namespace, perhaps a full queue");
  EXPECT_EQ(diagnose(machine.evidence).findings[0].next.back(), "nsenter -n -t 7 ss -ltn | awk '$2 > $3'");
  machine.evidence.inspections[0].holders[0].count = 9;
  machine.evidence.inspections[0].holders[1].count = 1;
  EXPECT_EQ(machine.words(), "notable udp_buffer_full");
}

TEST(SocketMemory, AFewLostRequestsOfSlowClientsStayForMinutes) {
  EvidenceOfMachine machine;
  MetricEvidence& event = machine.moved("memstat_socket_events_total", 4, {"TCP", "ListenOverflows"});
  EXPECT_EQ(machine.words(), "");
  event.change.recent = 9;
  ASSERT_EQ(machine.words(), "notable listen_overflow") << "9 in 5 min";
  EXPECT_EQ(diagnose(machine.evidence).findings.at(0).next.at(0), "memstatctl who queues");
}

TEST(SocketMemory, SimilarLossesArePossible) {
  EvidenceOfMachine machine;
  machine.moved("memstat_socket_events_total", 3000, {"TCP", "TCPBacklogDrop"});
  ASSERT_EQ(machine.words(), "notable tcp_receive_dropped");
  EXPECT_EQ(machine.find()[0].certainty, Certainty::kPossible);
}

}  // namespace
}  // namespace memstat::causes::socket_memory
