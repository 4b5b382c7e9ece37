// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include "core/diagnosis/culprits.h"
#include "tests/support/evidence.h"

namespace memstat::causes::own_limits {
namespace {

Holder holder(const char* name, std::uint64_t count, std::optional<std::uint64_t> limit) {
  return {.pid = 7,
          .command = "proxy",
          .user = "web",
          .group = "/web.service",
          .name = name,
          .count = count,
          .bytes = {},
          .limit = limit};
}

TEST(OwnLimits, EachIsFoundWhereItsRowIsFull) {
  struct Row {
    const char *question, *name, *cause;
  };
  for (const Row& row :
       {Row{"files", "", "now process_files_full"}, Row{"maps", "", "now process_maps_full"},
        Row{"user-tasks", "tasks", "now user_tasks_full"},
        Row{"user-tasks", "queued signals and timers", "now user_signals_full"},
        Row{"quotas", "pages of pipes, at least", "wasteful pipe_quota"},
        Row{"quotas", "pages of pipes", "wasteful pipe_quota"},
        Row{"quotas", "pages of pipes, at least (hard limit)", "now pipes_full"},
        Row{"quotas", "epoll watches", "now epoll_watches_full"}, Row{"quotas", "fanotify marks", "now fanotify_marks_full"},
        Row{"quotas", "net namespaces", "now namespaces_full"}, Row{"mounts", "", "now mounts_full"},
        Row{"message-queues", "/dev/mqueue", "now mqueue_full"}}) {
    EvidenceOfMachine machine;
    machine.evidence.inspections = {answer_to(row.question, {holder(row.name, 3000, 3000)})};
    EXPECT_EQ(machine.words(), row.cause);
    EXPECT_FALSE(machine.find().at(0).who.empty()) << row.cause;
    machine.evidence.inspections[0].holders[0].count = 1500;
    EXPECT_EQ(machine.words(), "") << row.cause << " with half of it";
  }
}

TEST(OwnLimits, TheFullestIsNamedAndNotTheLargest) {
  EvidenceOfMachine machine;
  machine.evidence.inspections = {answer_to("files", {holder("", 90000, 1048576), holder("", 1000, 1024)})};
  machine.evidence.inspections[0].holders[1].command = "mail";
  ASSERT_EQ(machine.words(), "notable process_files_full");
  EXPECT_EQ(machine.find()[0].headline, "mail (pid 7) has 1000 of 1024 open files");
}

TEST(OwnLimits, AProgramThatLoweredItsLimitBelowWhatItHasIsNotAtIt) {
  EvidenceOfMachine machine;
  machine.evidence.inspections = {answer_to("files", {holder("", 200, 64)})};
  EXPECT_EQ(machine.words(), "");
  machine.evidence.inspections = {answer_to("user-tasks", {holder("tasks", 200, 16)})};
  EXPECT_EQ(machine.words(), "");
}

TEST(OwnLimits, HalfOfAUsersLimitIsWorthAWordWhereNotAllProcessesWereReached) {
  EvidenceOfMachine machine;
  machine.evidence.inspections = {answer_to("quotas", {holder("epoll watches", 1700, 3000)})};
  EXPECT_EQ(machine.words(), "");
  machine.evidence.inspections[0].is_cut = true;
  ASSERT_EQ(machine.words(), "notable epoll_watches_full");
  EXPECT_EQ(machine.find()[0].headline, "User web has at least 1700 of 3000 epoll watches");
  machine.evidence.inspections = {answer_to("files", {holder("", 700, 1024)})};
  machine.evidence.inspections[0].is_cut = true;
  EXPECT_EQ(machine.words(), "") << "a process is counted whole";
}

TEST(OwnLimits, WithoutALimitNothingIsFull) {
  EvidenceOfMachine machine;
  machine.evidence.inspections = {answer_to("files", {holder("", 1024, {})})};
  EXPECT_EQ(machine.words(), "");
}

TEST(OwnLimits, ZombiesAreTheirParents) {
  EvidenceOfMachine machine;
  machine.evidence.inspections = {answer_to("zombies", {holder("", 49, {})})};
  EXPECT_EQ(machine.words(), "");
  machine.evidence.inspections[0].holders[0].count = 300;
  ASSERT_EQ(machine.words(), "notable zombies");
  EXPECT_EQ(machine.find()[0].who.at(0).name, "proxy (pid 7)");
  machine.limited(Allocator::kTable, "threads", 500, 1000);
  EXPECT_EQ(machine.words(), "wasteful zombies");
}

TEST(OwnLimits, NearALimitWhatHappensAtItIsStillToCome) {
  EvidenceOfMachine machine;
  machine.evidence.inspections = {answer_to("user-tasks", {holder("tasks", 19, 20)})};
  EXPECT_EQ(machine.find().at(0).effect,
            "When the limit is reached, its programs cannot start threads or processes: EAGAIN.");
  machine.evidence.inspections[0].holders[0].count = 20;
  EXPECT_EQ(machine.find().at(0).effect, "Its programs cannot start threads or processes: EAGAIN.");
}

TEST(OwnLimits, TheProcessIsInTheNextStepAndAlmostAllIsNotAll) {
  EvidenceOfMachine machine;
  machine.evidence.inspections = {answer_to("files", {holder("", 1023, 1024)})};
  const Finding finding = diagnose(machine.evidence).findings.at(0);
  EXPECT_EQ(finding.next.back(), "prlimit --nofile --pid 7");
  EXPECT_EQ(finding.facts.at(0).text, "99.9 % of its limit");
}

TEST(OwnLimits, PipesThatMayBeLargerAreNotRuledOut) {
  EvidenceOfMachine machine;
  machine.evidence.inspections = {answer_to("quotas", {holder("pages of pipes, at least", 1056, 16384)})};
  EXPECT_FALSE(is_ruled_out(machine.evidence, "pipe_quota"));
  EXPECT_TRUE(is_ruled_out(machine.evidence, "epoll_watches_full"));
  machine.evidence.inspections[0].holders[0].count = 16384;
  EXPECT_EQ(machine.find().at(0).headline, "User web has at least 16384 of 16384 pages of pipes");
}

TEST(OwnLimits, WhatAllUsersHaveTogetherIsWorthAWordWhereTheAnswerIsCut) {
  EvidenceOfMachine machine;
  machine.type(Allocator::kSlab, "eventpoll_epi").objects = 4020;
  machine.metric("memstat_table_user_limit_objects", 4000, {"epoll_watches"});
  machine.evidence.inspections = {answer_to("quotas", {holder("epoll watches", 800, 4000)})};
  EXPECT_EQ(machine.words(), "") << "all processes were reached: they are of several users";
  machine.evidence.inspections[0].is_cut = true;
  ASSERT_EQ(machine.words(), "notable epoll_watches_full");
  machine.evidence.inspections[0].parts = "processes";
  machine.evidence.inspections[0].seen = 90;
  machine.evidence.inspections[0].total = 120;
  EXPECT_EQ(machine.find()[0].headline, "4020 epoll watches in all, one user may have 4000");
  EXPECT_EQ(machine.find()[0].facts.at(1).text, "User web has at least 800 of them");
  EXPECT_EQ(machine.find()[0].facts.at(2).text, "examined: 90 of 120 processes");
  EXPECT_TRUE(machine.find()[0].who.empty()) << "those that were not reached have most of them";
  machine.evidence.view.add(ViewReason::kPidNamespace);
  EXPECT_EQ(machine.words(), "") << "from inside a container";
  machine.evidence.view = {};
  machine.evidence.inspections[0].holders[0].count = 4000;
  EXPECT_EQ(machine.find()[0].headline, "User web has at least 4000 of 4000 epoll watches");
}

TEST(OwnLimits, QueuesOfOtherNamespacesAreCountedInTheirCache) {
  EvidenceOfMachine machine;
  machine.type(Allocator::kSlab, "mqueue_inode_cache").objects = 240;
  machine.metric("memstat_table_user_limit_objects", 400000, {"epoll_watches"});
  machine.evidence.inspections = {answer_to("message-queues", {})};
  EXPECT_EQ(machine.words(), "") << "they may be directories";
  machine.evidence.inspections.push_back(answer_to("quotas", {holder("ipc namespaces", 1, 4000)}));
  ASSERT_EQ(machine.words(), "notable mqueue_full");
  EXPECT_EQ(machine.find()[0].headline, "238 POSIX message queues in all, one namespace may have 256");
  machine.evidence.inspections[1].holders[0].count = 100;
  EXPECT_EQ(machine.words(), "") << "each namespace has an inode for its directory";
}

TEST(OwnLimits, AFewZombiesEachOfManyParentsAreManyInAll) {
  EvidenceOfMachine machine;
  machine.evidence.inspections = {answer_to("zombies", std::vector<Holder>(3, holder("", 30, {})))};
  EXPECT_EQ(machine.words(), "");
  machine.evidence.inspections[0].holders.push_back(holder("", 20, {}));
  ASSERT_EQ(machine.words(), "notable zombies");
  EXPECT_EQ(machine.find()[0].headline, "110 children have ended, and proxy (pid 7) and others do not wait");
}

}  // namespace
}  // namespace memstat::causes::own_limits
