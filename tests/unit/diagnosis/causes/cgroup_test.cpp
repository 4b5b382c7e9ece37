// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include "tests/support/evidence.h"

namespace memstat::causes::cgroup {
namespace {

constexpr double kMiB = EvidenceOfMachine::kMiB;

TEST(Cgroup, FullOfPageCacheIsHealthyAndOfProgramsIsNot) {
  EvidenceOfMachine machine;
  TypeEvidence& group = machine.type(Allocator::kMemcg, "/db");
  group.bytes = 99 * kMiB;
  group.limit_bytes = 100 * kMiB;
  group.limit_used = 0.99;
  group.sleeps.recent = 1e6;
  MetricEvidence& anonymous = machine.metric("memstat_memcg_anonymous_bytes", 20 * kMiB, {"/db"});
  EXPECT_EQ(machine.words(), "");
  anonymous.value = 95 * kMiB;
  EXPECT_EQ(machine.words(), "wasteful cgroup_full");
  EXPECT_EQ(machine.find().at(0).who.at(0).name, "/db");
  group.sleeps.recent = 0;
  EXPECT_EQ(machine.words(), "notable cgroup_full");
}

TEST(Cgroup, FullIsWhatLeavesLittleHeadroomIfThatIsKnown) {
  EvidenceOfMachine machine;
  TypeEvidence& group = machine.type(Allocator::kMemcg, "/db");
  group.bytes = 99 * kMiB;
  group.limit_bytes = 100 * kMiB;
  machine.metric("memstat_memcg_anonymous_bytes", 95 * kMiB, {"/db"});
  MetricEvidence& headroom = machine.metric("memstat_memcg_headroom_bytes", 60 * kMiB, {"/db", "max"});
  EXPECT_EQ(machine.words(), "") << "there is swap";
  headroom.value = 3 * kMiB;
  ASSERT_EQ(machine.words(), "notable cgroup_full");
  EXPECT_EQ(machine.find()[0].headline, "Control group /db is nearly full: 97 MiB of 100 MiB cannot be reclaimed");
  EXPECT_EQ(machine.find()[0].facts[0].text, "3 MiB can still be allocated before a process is killed");
  machine.metric("memstat_memcg_headroom_set_by", 1, {"/db", "max", "/"});
  for (MetricEvidence& one : machine.evidence.metrics) {
    if (one.metric == "memstat_memcg_anonymous_bytes") one.value = 20 * kMiB;
  }
  EXPECT_EQ(machine.words(), "") << "a group above it is full";
}

TEST(Cgroup, FullIsReadWhereTheVersionHasItsFiles) {
  EvidenceOfMachine machine;
  TypeEvidence& group = machine.type(Allocator::kMemcg, "/a b");
  group.bytes = group.limit_bytes = 100 * kMiB;
  machine.metric("memstat_memcg_anonymous_bytes", 99 * kMiB, {"/a b"});
  ASSERT_EQ(machine.words(), "notable cgroup_full");
  EXPECT_EQ(machine.find()[0].next.back(), "cat '/sys/fs/cgroup/a b/memory.stat' | head");
  machine.metric("memstat_memcg_events_total", 0, {"/a b", "oom_kill"});
  EXPECT_EQ(machine.find()[0].next.back(), "cat '/sys/fs/cgroup/memory/a b/memory.stat' | head") << "version 1";
}

TEST(Cgroup, FullOfTmpfsIsNotFullOfPageCache) {
  EvidenceOfMachine machine;
  TypeEvidence& group = machine.type(Allocator::kMemcg, "/db");
  group.bytes = 99 * kMiB;
  group.limit_bytes = 100 * kMiB;
  machine.metric("memstat_memcg_anonymous_bytes", 5 * kMiB, {"/db"});
  EXPECT_EQ(machine.words(), "");
  machine.metric("memstat_memcg_part_bytes", 90 * kMiB, {"/db", "shmem"});
  EXPECT_EQ(machine.words(), "notable cgroup_full");
}

TEST(Cgroup, AGroupThatStallsJustAboveHighIsSlowed) {
  EvidenceOfMachine machine;
  TypeEvidence& group = machine.type(Allocator::kMemcg, "/db");
  group.bytes = 100 * kMiB;
  group.sleeps.recent = 50;
  machine.metric("memstat_memcg_high_bytes", 100 * kMiB, {"/db"});
  EXPECT_EQ(machine.words(), "");
  machine.moved("memstat_memcg_pressure_stall_seconds_total", 90, {"/db", "full"});
  EXPECT_EQ(machine.words(), "now cgroup_throttled");
}

TEST(Cgroup, AboveHighIsSlowedAndNearItIsNot) {
  EvidenceOfMachine machine;
  TypeEvidence& group = machine.type(Allocator::kMemcg, "/db");
  group.bytes = 101 * kMiB;
  group.sleeps.recent = 50;
  machine.metric("memstat_memcg_high_bytes", 100 * kMiB, {"/db"});
  EXPECT_EQ(machine.words(), "");
  group.bytes = 110 * kMiB;
  EXPECT_EQ(machine.words(), "now cgroup_throttled");
}

TEST(Cgroup, OfPageCacheAboveHighIsHealthyUnlessItWaits) {
  EvidenceOfMachine machine;
  TypeEvidence& group = machine.type(Allocator::kMemcg, "/backup");
  group.bytes = 110 * kMiB;
  group.sleeps.recent = 500;
  machine.metric("memstat_memcg_high_bytes", 100 * kMiB, {"/backup"});
  MetricEvidence* const anonymous = &machine.metric("memstat_memcg_anonymous_bytes", 2 * kMiB, {"/backup"});
  EXPECT_EQ(machine.words(), "");
  anonymous->value = 100 * kMiB;
  EXPECT_EQ(machine.words(), "now cgroup_throttled");
  anonymous->value = 2 * kMiB;
  MetricEvidence& stalls = machine.moved("memstat_memcg_pressure_stall_seconds_total", 200, {"/backup", "full"});
  machine.evidence.poll_seconds = 10;
  EXPECT_EQ(machine.words(), "") << "it waited, and does not any more";
  stalls.change.last = 3;
  EXPECT_EQ(machine.words(), "now cgroup_throttled");
  stalls.change.recent = 60;
  EXPECT_EQ(machine.words(), "") << "it reads more than the cache may have, and is little slower for it";
}

TEST(Cgroup, DeeperThanIsReadIsThrottledIfItsEventsMoveAndItWaits) {
  EvidenceOfMachine machine;
  machine.type(Allocator::kMemcg, "/kubepods").bytes = 100 * kMiB;
  machine.moved("memstat_memcg_events_total", 900, {"/kubepods", "high"});
  EXPECT_EQ(machine.words(), "");
  machine.moved("memstat_memcg_pressure_stall_seconds_total", 90, {"/kubepods", "full"});
  EXPECT_EQ(machine.words(), "now cgroup_throttled");
  EXPECT_EQ(machine.find().at(0).who.at(0).name, "/kubepods");
  machine.moved("memstat_memcg_events_total", 900, {"/kubepods/pod", "high"});
  EXPECT_EQ(machine.words(), "") << "the group below has no waits, so it must be above its bound";
}

TEST(Cgroup, OfAHeapThatReachesItsLimitWithinTheMinute) {
  EvidenceOfMachine machine;
  machine.evidence.recent_seconds = 60;
  machine.evidence.poll_seconds = 10;
  TypeEvidence& group = machine.type(Allocator::kMemcg, "/java");
  group.bytes = 130 * kMiB;
  group.limit_bytes = 150 * kMiB;
  MetricEvidence& heap = machine.metric("memstat_memcg_anonymous_bytes", 126 * kMiB, {"/java"});
  EXPECT_EQ(machine.words(), "");
  heap.change = {.total = 126 * kMiB, .since_start = 60 * kMiB, .recent = 60 * kMiB, .last = 10 * kMiB};
  EXPECT_EQ(machine.words(), "soon cgroup_full");
  EXPECT_NEAR(machine.find()[0].seconds_left.value_or(0), 24, 0.1);
  heap.value = 60 * kMiB;
  EXPECT_EQ(machine.words(), "") << "the rest is page cache";
}

TEST(Cgroup, TasksAtTheirLimit) {
  EvidenceOfMachine machine;
  machine.metric("memstat_memcg_tasks_limit", 100, {"/a"});
  MetricEvidence* tasks = &machine.metric("memstat_memcg_tasks", 60, {"/a"});
  EXPECT_EQ(machine.words(), "");
  tasks->value = 92;
  EXPECT_EQ(machine.words(), "notable cgroup_tasks_full");
  tasks->value = 100;
  EXPECT_EQ(machine.words(), "now cgroup_tasks_full");
}

TEST(Cgroup, SocketsThatReclaimSlows) {
  EvidenceOfMachine machine;
  MetricEvidence& event = machine.moved("memstat_memcg_events_total", 3, {"/a", "sock_throttled"});
  EXPECT_EQ(machine.words(), "");
  event.change.recent = 900;
  EXPECT_EQ(machine.words(), "notable cgroup_sockets_throttled");
}

TEST(Cgroup, ThatSleepsAllTheTimeRarelyMeetsItsBound) {
  EvidenceOfMachine machine;
  machine.evidence.recent_seconds = machine.evidence.watched_seconds = 2;
  machine.metric("memstat_memcg_high_bytes", 100e6, {"/a"});
  TypeEvidence& group = machine.type(Allocator::kMemcg, "/a");
  group.bytes = 110e6;
  group.sleeps.total = 9;
  EXPECT_EQ(machine.words(), "") << "nobody waits";
  machine.moved("memstat_memcg_pressure_stall_seconds_total", 1.9, {"/a", "full"});
  EXPECT_EQ(machine.words(), "now cgroup_throttled");
}

TEST(Cgroup, ThatWasRefusedATaskHadNoneLeft) {
  EvidenceOfMachine machine;
  machine.metric("memstat_memcg_tasks_limit", 100, {"/a"});
  machine.metric("memstat_memcg_tasks", 95, {"/a"});
  EXPECT_EQ(machine.words(), "notable cgroup_tasks_full");
  machine.moved("memstat_kernel_log_events_total", 1, {"pids_full"});
  EXPECT_EQ(machine.words(), "now cgroup_tasks_full");
}

TEST(Cgroup, ALimitThatIsNotReadIsCountedAbove) {
  EvidenceOfMachine machine;
  for (const char* group : {"/kubepods", "/kubepods/burstable"}) {
    machine.type(Allocator::kMemcg, group).bytes = 1e9;
    machine.moved("memstat_memcg_events_total", 40, {group, "max"});
    machine.metric("memstat_memcg_anonymous_bytes", 5e8, {group});
  }
  EXPECT_EQ(machine.words(), "") << "half of it may be page cache";
  for (MetricEvidence& one : machine.evidence.metrics) {
    if (one.metric == "memstat_memcg_anonymous_bytes") one.value = 9.5e8;
  }
  ASSERT_EQ(machine.words(), "notable cgroup_full");
  EXPECT_EQ(machine.find()[0].headline, "A group below /kubepods/burstable is at its limit, and little can be reclaimed");
}

TEST(Cgroup, TasksNearTheLimitAgainAndAgainCountAtNoPoll) {
  EvidenceOfMachine machine;
  machine.metric("memstat_memcg_tasks_limit", 1200, {"/a"});
  MetricEvidence& tasks = machine.metric("memstat_memcg_tasks", 300, {"/a"});
  tasks.change.highest = 900;
  EXPECT_EQ(machine.words(), "");
  machine.evidence.metrics[0].change.highest = machine.evidence.metrics[1].change.highest = 1127;
  ASSERT_EQ(machine.words(), "notable cgroup_tasks_full");
  EXPECT_EQ(machine.find()[0].headline, "Control group /a was near its limit of tasks: 1127 of 1200 at the highest");
}

TEST(Cgroup, OutOfMemoryWithNothingToKillFailsNow) {
  EvidenceOfMachine machine;
  TypeEvidence& group = machine.type(Allocator::kMemcg, "/a");
  group.bytes = 1e9;
  group.limit_bytes = 1e9;
  group.sleeps.recent = 40;
  machine.metric("memstat_memcg_anonymous_bytes", 9.9e8, {"/a"});
  machine.metric("memstat_memcg_events_total", 0, {"/a", "oom"});
  machine.metric("memstat_memcg_events_total", 0, {"/a", "oom_kill"});
  EXPECT_EQ(machine.words(), "wasteful cgroup_full");
  machine.evidence.types[0].failures.recent = 1838;
  ASSERT_EQ(machine.words(), "now cgroup_full");
  EXPECT_EQ(machine.find()[0].headline, "Control group /a is out of memory, and no process of it is killed");
  EXPECT_TRUE(machine.find()[0].facts.at(0).text.starts_with("out of memory 1838 times in "));
  EXPECT_TRUE(machine.find()[0].effect.ends_with("Requests beyond the limit fail, or are repeated."));
}

}  // namespace
}  // namespace memstat::causes::cgroup
