// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include "tests/support/evidence.h"

namespace memstat::causes::kills {
namespace {

TEST(Kills, OfAGroupAreTheDeepestGroups) {
  EvidenceOfMachine machine;
  machine.moved("memstat_oom_kills_total", 2);
  machine.type(Allocator::kMemcg, "/").failures.recent = 2;
  machine.type(Allocator::kMemcg, "/a").failures.recent = 2;
  TypeEvidence& job = machine.type(Allocator::kMemcg, "/a/job");
  job.failures.recent = 2;
  job.limit_bytes = 16 * EvidenceOfMachine::kMiB;
  machine.type(Allocator::kMemcg, "/a/jobs");
  machine.moved("memstat_memcg_events_total", 2, {"/a/job", "oom"});
  machine.moved("memstat_memcg_events_total", 2, {"/a/job", "oom_kill"});
  const Findings found = machine.find();
  ASSERT_EQ(machine.words(), "now cgroup_oom_kill");
  EXPECT_EQ(found[0].headline, "Control group /a/job: 2 processes killed at its limit of 16 MiB");
  EXPECT_EQ(found[0].who.at(0).name, "/a/job");
}

TEST(Kills, OfAGroupHaveItsPeakTheReasonAndALimitThatIsAboveThePeak) {
  EvidenceOfMachine machine;
  machine.moved("memstat_oom_kills_total", 1);
  TypeEvidence& job = machine.type(Allocator::kMemcg, "/a/job");
  job.failures.recent = 1;
  job.limit_bytes = 16 * EvidenceOfMachine::kMiB;
  machine.moved("memstat_memcg_events_total", 1, {"/a/job", "oom"});
  machine.moved("memstat_memcg_events_total", 1, {"/a/job", "oom_kill"});
  machine.metric("memstat_memcg_peak_bytes", 30 * EvidenceOfMachine::kMiB, {"/a/job"});
  machine.evidence.kills = {{.command = "db",
                             .constraint = "memcg",
                             .group = "/a/job",
                             .limit_group = "/a/job",
                             .pid = 7,
                             .program_bytes = 9 * EvidenceOfMachine::kMiB,
                             .is_of_group = true,
                             .seconds_ago = 2,
                             .oom_score_adj = 5}};
  const Finding finding = machine.find().at(0);
  std::string facts;
  for (const Fact& fact : finding.facts) facts += fact.text + "\n";
  EXPECT_NE(facts.find("30 MiB at most since it was created\n"), std::string::npos) << facts;
  EXPECT_NE(facts.find("because group /a/job was at its limit; its oom_score_adj was 5\n"), std::string::npos) << facts;
  EXPECT_NE(finding.effect.find("a limit above the 30 MiB that the group has had at most"), std::string::npos)
      << finding.effect;
  EXPECT_EQ(finding.next.at(1), "echo 30M > /sys/fs/cgroup/a/job/memory.max");
}

TEST(Kills, ByKswapdAreForPagesThatAreTooYoung) {
  EvidenceOfMachine machine;
  machine.part("anonymous", EvidenceOfMachine::kGiB);
  machine.metric("memstat_kernel_log_events_total", 1, {"oom_kill"});
  MetricEvidence& killed = machine.moved("memstat_oom_kills_total", 1);
  machine.evidence.kills = {{.command = "smbd",
                             .constraint = "none",
                             .group = "",
                             .pid = 7,
                             .requested_by = "kswapd3",
                             .gfp = "GFP_KERNEL",
                             .seconds_ago = 90}};
  ASSERT_EQ(machine.words(), "now machine_oom_kill");
  Finding finding = machine.find()[0];
  EXPECT_EQ(finding.headline, "To protect recent pages (MGLRU's min_ttl_ms), kswapd killed 1 process");
  EXPECT_EQ(finding.certainty, Certainty::kLikely);
  EXPECT_NE(finding.effect.find("0 in /sys/kernel/mm/lru_gen/min_ttl_ms"), std::string::npos) << finding.effect;
  for (const auto& [asker, flags] : {std::pair("kswapd0", "GFP_HIGHUSER_MOVABLE"), std::pair("kswapd", "GFP_KERNEL"),
                                     std::pair("kswapd0x", "GFP_KERNEL")}) {
    machine.evidence.kills[0].requested_by = asker;
    machine.evidence.kills[0].gfp = flags;
    EXPECT_EQ(machine.find().at(0).headline, "Memory ran out: the kernel killed 1 process") << asker;
  }
  machine.evidence.kills[0].requested_by = "kswapd0";
  killed.change.recent = 0;
  EXPECT_EQ(machine.words(), "notable killed_before");
}

TEST(Kills, OfTheProcessThatAskedAreNotOfTheLargest) {
  EvidenceOfMachine machine;
  machine.moved("memstat_oom_kills_total", 1);
  machine.evidence.kills = {{.command = "sshd", .constraint = "none", .group = "", .pid = 7, .seconds_ago = 9}};
  EXPECT_TRUE(machine.find().at(0).effect.starts_with("The kernel kills the largest process"));
  machine.evidence.kills[0].had_asked = true;
  EXPECT_TRUE(machine.find().at(0).effect.starts_with("The kernel kills the process that asks for memory"));
}

TEST(Kills, AGroupThatFoundRoomAgainIsNone) {
  EvidenceOfMachine machine;
  machine.metric("memstat_oom_kills_total", 5);
  machine.type(Allocator::kMemcg, "/a").failures.recent = 2;
  EXPECT_EQ(machine.words(), "");
}

TEST(Kills, OfTheMachineNameTheLargestPartAndExplainWhatFollowed) {
  EvidenceOfMachine machine;
  machine.moved("memstat_oom_kills_total", 1);
  machine.part("anonymous", 12 * EvidenceOfMachine::kGiB).change.recent = 4 * EvidenceOfMachine::kGiB;
  machine.part("shared", EvidenceOfMachine::kGiB).change.recent = EvidenceOfMachine::kMiB;
  machine.evidence.available_bytes = EvidenceOfMachine::kMiB;
  machine.moved("memstat_pressure_stall_seconds_total", 90, {"full"});
  const Findings found = machine.find();
  ASSERT_EQ(machine.words(), "now machine_oom_kill");
  EXPECT_EQ(found[0].about.at(0).type, "anonymous");
  EXPECT_EQ(found[0].explains.size(), 2U) << "little memory and stalls";
}

TEST(Kills, ThatMadeRoomWereOfProgramMemoryAndTheLogHasTheVictim) {
  EvidenceOfMachine machine;
  machine.moved("memstat_oom_kills_total", 1);
  machine.part("anonymous", EvidenceOfMachine::kMiB).change.recent = -EvidenceOfMachine::kMiB;
  machine.part("page_cache", EvidenceOfMachine::kGiB).change.recent = EvidenceOfMachine::kGiB;
  machine.evidence.kills = {{.command = "db", .constraint = "none", .group = "/db", .pid = 7, .program_bytes = 1e9}};
  EXPECT_EQ(machine.find().at(0).about.at(0).type, "anonymous");
  EXPECT_TRUE(machine.find().at(0).who.empty()) << "one of many";
  machine.evidence.kills[0].program_bytes = 9e9;
  EXPECT_EQ(machine.find().at(0).who.at(1).name, "/db");
}

TEST(Kills, BeforeWhatTheVictimHadIsFreeAreOfTheVictim) {
  EvidenceOfMachine machine;
  machine.moved("memstat_oom_kills_total", 1);
  machine.part("anonymous", 12 * EvidenceOfMachine::kGiB).change.recent = 4 * EvidenceOfMachine::kGiB;
  machine.evidence.available_bytes = EvidenceOfMachine::kMiB;
  machine.evidence.kills = {
      {.command = "hog", .constraint = "none", .group = "", .pid = 7, .program_bytes = 11 * EvidenceOfMachine::kGiB}};
  EXPECT_EQ(machine.find().at(0).who.at(0).name, "hog (pid 7)");
  machine.part("unaccounted", 13 * EvidenceOfMachine::kGiB);
  EXPECT_TRUE(machine.find().at(0).who.empty()) << "more memory is elsewhere";
}

TEST(Kills, OfGroupsDoNotCountAsThoseOfTheMachine) {
  EvidenceOfMachine machine;
  machine.moved("memstat_oom_kills_total", 4);
  machine.part("anonymous", EvidenceOfMachine::kGiB);
  const KillEvidence of_machine{.command = "hog", .constraint = "none", .group = "", .pid = 7, .program_bytes = 9e9};
  const KillEvidence of_group{
      .command = "job", .constraint = "memcg", .group = "/job", .limit_group = "/job", .is_of_group = true};
  machine.evidence.kills = {of_group, of_machine, of_group, of_machine};
  EXPECT_EQ(machine.find().at(0).headline, "Memory ran out: the kernel killed 2 processes");
}

TEST(Kills, OfAVictimThatDidNotGrowAreOfThePartThatDid) {
  EvidenceOfMachine machine;
  machine.moved("memstat_oom_kills_total", 1);
  machine.part("anonymous", EvidenceOfMachine::kGiB).change.recent = -4 * EvidenceOfMachine::kGiB;
  machine.part("shared", 9 * EvidenceOfMachine::kGiB).change.recent = 3 * EvidenceOfMachine::kGiB;
  machine.metric("memstat_memcg_part_bytes", 8 * EvidenceOfMachine::kGiB, {"/web", "shmem"});
  machine.evidence.kills = {
      {.command = "db", .constraint = "none", .group = "/db", .pid = 7, .program_bytes = 4 * EvidenceOfMachine::kGiB}};
  EXPECT_EQ(machine.find().at(0).who.at(1).name, "/db");
  for (MetricEvidence& one : machine.evidence.metrics) {
    if (one.labels[0] == "shared") one.change.recent = 5 * EvidenceOfMachine::kGiB;
  }
  EXPECT_EQ(machine.find().at(0).about.at(0).type, "shared");
  EXPECT_EQ(machine.find().at(0).who.at(0).name, "/web");
}

TEST(Kills, ThatMadeNoRoomWereOfThePartThatIsLargestNow) {
  EvidenceOfMachine machine;
  machine.moved("memstat_oom_kills_total", 3);
  machine.part("anonymous", EvidenceOfMachine::kGiB);
  machine.part("shared", 12 * EvidenceOfMachine::kGiB);
  machine.evidence.available_bytes = EvidenceOfMachine::kGiB;
  EXPECT_EQ(machine.find().at(0).about.at(0).type, "shared");
}

TEST(Kills, BeforeTheFirstPollAreHistory) {
  EvidenceOfMachine machine;
  machine.metric("memstat_oom_kills_total", 7);
  machine.part("anonymous", 1);
  EXPECT_EQ(machine.words(), "");
  EXPECT_TRUE(is_ruled_out(machine.evidence, "machine_oom_kill"));
  machine.evidence.polls = 1;
  EXPECT_FALSE(is_ruled_out(machine.evidence, "machine_oom_kill")) << "needs at least two polls";
}

TEST(Kills, OfVersionOneAreOfTheGroupAboveThatIsAtItsLimit) {
  EvidenceOfMachine machine;
  machine.moved("memstat_oom_kills_total", 2);
  machine.part("anonymous", 1);
  TypeEvidence& pod = machine.type(Allocator::kMemcg, "/pod");
  pod.limit_bytes = 64 * EvidenceOfMachine::kMiB;
  for (const char* const child : {"/pod/a", "/pod/b"}) {
    machine.type(Allocator::kMemcg, child).failures.recent = 1;
    machine.moved("memstat_memcg_events_total", 1, {child, "oom_kill"});
  }
  EXPECT_EQ(machine.words(), "now machine_oom_kill") << "no group met its limit";
  machine.evidence.types[0].sleeps.recent = 40;
  ASSERT_EQ(machine.words(), "now cgroup_oom_kill") << "once for both";
  EXPECT_EQ(machine.find()[0].who.at(0).name, "/pod");
}

TEST(Kills, OfTheLogBeforeTheFirstPollAreNamed) {
  EvidenceOfMachine machine;
  machine.metric("memstat_oom_kills_total", 7);
  machine.metric("memstat_kernel_log_events_total", 7, {"oom_kill"});
  machine.evidence.polls = 2;
  machine.evidence.recent_seconds = machine.evidence.watched_seconds = 2;
  machine.evidence.kills = {{.command = "db",
                             .constraint = "memcg",
                             .group = "/pod/db",
                             .limit_group = "/pod",
                             .pid = 7,
                             .program_bytes = 1e9,
                             .is_of_group = true,
                             .seconds_ago = 240}};
  ASSERT_EQ(machine.words(), "notable killed_before");
  EXPECT_EQ(machine.find()[0].headline, "db (pid 7) was killed 4 min ago: group /pod was at its limit");
  EXPECT_EQ(machine.find()[0].who.at(1).name, "/pod");
  machine.evidence.kills[0].is_of_group = false;
  EXPECT_EQ(machine.find()[0].headline, "db (pid 7) was killed 4 min ago: out of memory, by the kernel's log");
  machine.evidence.kills[0].seconds_ago = 7200;
  EXPECT_EQ(machine.find()[0].headline, "db (pid 7) was killed 2 h ago: out of memory, by the kernel's log")
      << "people ask an hour later";
}

KillEvidence kill_of_machine(double bytes) {
  return {.command = "gnome-shell",
          .constraint = "none",
          .group = "/user.slice",
          .pid = 955,
          .program_bytes = bytes,
          .requested_by = "kworker/1:0",
          .gfp = "GFP_KERNEL",
          .seconds_ago = 3};
}

TEST(Kills, ThatSomebodyRequestedAreNoShortage) {
  EvidenceOfMachine machine;
  machine.moved("memstat_oom_kills_total", 1);
  machine.part("anonymous", EvidenceOfMachine::kGiB);
  machine.evidence.kills = {kill_of_machine(76 * EvidenceOfMachine::kMiB)};
  machine.evidence.kills[0].is_requested = true;
  ASSERT_EQ(machine.words(), "notable kill_requested");
  EXPECT_EQ(machine.find()[0].certainty, Certainty::kConfirmed);
  EXPECT_EQ(machine.find()[0].who.at(0).name, "gnome-shell (pid 955)");
  machine.evidence.metrics[0].change.recent = machine.evidence.metrics[1].change.recent = 2;
  EXPECT_NE(machine.words().find("machine_oom_kill"), std::string::npos) << "another kill, that nobody requested";
}

TEST(Kills, BesideMuchAvailableMemoryThatNobodyWaitedForAreNoShortage) {
  EvidenceOfMachine machine;
  machine.moved("memstat_oom_kills_total", 1);
  machine.metric("memstat_allocation_stalls_total", 0, {"Normal"});
  machine.part("anonymous", EvidenceOfMachine::kGiB);
  machine.evidence.kills = {kill_of_machine(76 * EvidenceOfMachine::kMiB)};
  ASSERT_EQ(machine.words(), "notable machine_oom_kill");
  EXPECT_EQ(machine.find()[0].headline, "The kernel killed 1 process as if memory had run out: 8 GiB are available");
  EXPECT_EQ(machine.find()[0].certainty, Certainty::kPossible);
  machine.evidence.kills[0].program_bytes = 7.5 * EvidenceOfMachine::kGiB;
  EXPECT_EQ(machine.words(), "now machine_oom_kill") << "the victim released what is available now";
}

TEST(Kills, OfAZoneThatHasOnlyContiguousPagesLeftAreOfThatZone) {
  EvidenceOfMachine machine;
  machine.moved("memstat_oom_kills_total", 1);
  machine.moved("memstat_allocation_stalls_total", 300, {"DMA"});
  machine.part("anonymous", EvidenceOfMachine::kGiB);
  machine.evidence.kills = {kill_of_machine(25 * EvidenceOfMachine::kMiB)};
  TypeEvidence& zone = machine.type(Allocator::kPage, "node 0 DMA");
  zone.object_bytes = 4096;
  zone.bytes = 140 * EvidenceOfMachine::kMiB;
  zone.free_objects = 129778;
  machine.metric("memstat_zone_watermark_bytes", 10 * EvidenceOfMachine::kMiB, {"0", "DMA", "min"});
  EXPECT_EQ(machine.words(), "now machine_oom_kill") << "the zone has free memory";
  machine.metric("memstat_zone_free_cma_bytes", 128398 * 4096.0, {"0", "DMA"});
  ASSERT_EQ(machine.words(), "now zone_short");
  EXPECT_EQ(machine.find()[0].about.at(0).type, "node 0 DMA");
  EXPECT_EQ(machine.find()[0].explains.size(), 1U) << "the kill";
}

TEST(Kills, AreBlamedOnUnaccountedMemoryRatherThanOnASmallPart) {
  EvidenceOfMachine machine;
  machine.moved("memstat_oom_kills_total", 1);
  machine.moved("memstat_allocation_stalls_total", 300, {"Normal"});
  machine.part("slab_unreclaimable", 98 * EvidenceOfMachine::kMiB);
  machine.evidence.available_bytes = 7 * EvidenceOfMachine::kMiB;
  EXPECT_EQ(machine.find().at(0).about.at(0).type, "slab_unreclaimable");
  machine.metric("memstat_unaccounted_bytes", 14 * EvidenceOfMachine::kGiB);
  ASSERT_EQ(machine.words(), "now unaccounted_large");
  EXPECT_EQ(machine.find()[0].about.at(0).type, "unaccounted");
  EXPECT_EQ(machine.find()[0].explains.size(), 2U) << "the kill, and how little is left";
}

KillEvidence kill_in(std::string_view limit_group, double seconds_ago = 10) {
  return {.command = "java",
          .constraint = "memcg",
          .group = std::string(limit_group) + "/main",
          .limit_group = std::string(limit_group),
          .pid = 9,
          .program_bytes = 1e8,
          .is_of_group = true,
          .seconds_ago = seconds_ago};
}

TEST(Kills, OfAGroupBelowThoseThatAreReadAreNamedByTheLog) {
  EvidenceOfMachine machine;
  machine.moved("memstat_oom_kills_total", 3);
  machine.type(Allocator::kMemcg, "/kubepods/burstable").failures.recent = 3;
  machine.moved("memstat_memcg_events_total", 3, {"/kubepods/burstable", "oom"});
  machine.moved("memstat_memcg_events_total", 3, {"/kubepods/burstable", "oom_kill"});
  machine.evidence.kills = {kill_in("/kubepods/burstable/pod1/c1"), kill_in("/kubepods/burstable/pod1/c1")};
  ASSERT_EQ(machine.words(), "now cgroup_oom_kill");
  EXPECT_EQ(machine.find()[0].who.at(0).name, "/kubepods/burstable/pod1/c1");
  EXPECT_EQ(machine.find()[0].who.at(1).name, "/kubepods/burstable");
  machine.evidence.kills.push_back(kill_in("/kubepods/burstable/pod2"));
  EXPECT_EQ(machine.find()[0].about.at(0).type, "/kubepods/burstable") << "two groups below it were at their limits";
  EXPECT_EQ(machine.find()[0].who.at(0).name, "/kubepods/burstable/pod2") << "the newest first";
  machine.evidence.kills = {kill_in("/kubepods/burstable/pod1/c1", 500), kill_in("/other")};
  const Findings found = machine.find();
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].who.at(0).name, "/kubepods/burstable") << "an old kill, and another group";
  EXPECT_EQ(found[1].about.at(0).type, "/other") << "which is not read";
}

TEST(Kills, WhoseGroupTheLogDoesNotNameAreNotBlamedOnAnother) {
  EvidenceOfMachine machine;
  machine.moved("memstat_oom_kills_total", 3);
  machine.evidence.kills = {kill_in("/a", 9), kill_in("/b", 8), kill_in("", 7)};
  for (KillEvidence& kill : machine.evidence.kills) {
    kill.command = kill.limit_group;
    kill.is_of_group = true;
  }
  Findings found = machine.find();
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].killed.substr(0, 2), "/b");
  EXPECT_EQ(found[1].killed.substr(0, 2), "/a");
  machine.type(Allocator::kMemcg, "/c").failures.recent = 1;
  for (const std::string_view event : {"oom", "oom_kill"}) machine.moved("memstat_memcg_events_total", 1, {"/c", event});
  found = machine.find();
  const auto of_c =
      std::find_if(found.begin(), found.end(), [](const Finding& one) { return one.about.at(0).type == "/c"; });
  ASSERT_NE(of_c, found.end());
  EXPECT_EQ(of_c->killed.substr(0, 4), " (pi") << "its group has been counted, and no other victim is of it";
}

TEST(Kills, ThatWereRequestedAreNotOfGroupsThatAreNotRead) {
  EvidenceOfMachine machine;
  machine.moved("memstat_oom_kills_total", 1);
  machine.metric("memstat_allocation_stalls_total", 0);
  machine.evidence.kills = {{.command = "shell", .constraint = "none", .group = "/s", .pid = 7, .seconds_ago = 2}};
  machine.evidence.kills[0].is_requested = true;
  EXPECT_EQ(machine.words(), "notable kill_requested");
}

TEST(Kills, OfAGroupThatTheLogDoesNotNameAreNotOfTheMachine) {
  EvidenceOfMachine machine;
  machine.moved("memstat_oom_kills_total", 1);
  machine.evidence.kills = {{.command = "cache",
                             .constraint = "",
                             .group = "",
                             .pid = 7,
                             .program_bytes = 1e8,
                             .is_of_group = true,
                             .limit_bytes = 200 * EvidenceOfMachine::kMiB,
                             .seconds_ago = 2}};
  const Findings found = machine.find();
  ASSERT_EQ(machine.words(), "now cgroup_oom_kill");
  EXPECT_EQ(found[0].headline, "1 process killed at a control group's limit of 200 MiB");
  EXPECT_EQ(found[0].who.at(0).name, "cache (pid 7)");
}

TEST(Kills, OfAGroupWithAHostileNameAreShownByACommandThatIsSafeToPaste) {
  EvidenceOfMachine machine;
  constexpr std::string_view kName = "/x';reboot;'";
  machine.moved("memstat_oom_kills_total", 1);
  machine.type(Allocator::kMemcg, kName).failures.recent = 1;
  machine.moved("memstat_memcg_events_total", 1, {kName, "oom_kill"});
  machine.moved("memstat_memcg_events_total", 1, {kName, "oom"});
  ASSERT_EQ(machine.words(), "now cgroup_oom_kill");
  EXPECT_EQ(machine.find()[0].next.back(), R"(memstatctl show 'memcg//x'\'';reboot;'\''')");
}

TEST(Kills, OfAGroupHaveEndedThoughAnotherGroupStillHasThem) {
  EvidenceOfMachine machine;
  machine.moved("memstat_oom_kills_total", 2);
  machine.evidence.kills = {kill_in("/old", 250), kill_in("/new", 5)};
  machine.evidence.recent_seconds = 300;
  Findings found = machine.find();
  ASSERT_EQ(machine.words(), "now cgroup_oom_kill, now cgroup_oom_kill");
  EXPECT_EQ(found[0].about.at(0).type, "/new");
  EXPECT_EQ(found[1].facts.at(0).text, "1 time out of memory in 5 min, the last one 4 min ago");
  machine.evidence.kills.clear();
  for (const std::string_view name : {"/old", "/new"}) {
    machine.type(Allocator::kMemcg, name).failures.recent = 1;
    machine.moved("memstat_memcg_events_total", 1, {name, "oom"});
    machine.moved("memstat_memcg_events_total", 1, {name, "oom_kill"}).change.still = name == "/old" ? 250 : 0;
  }
  found = machine.find();
  ASSERT_EQ(found.size(), 2U) << "without a log";
  EXPECT_FALSE(found[0].is_past);
  EXPECT_TRUE(found[1].is_past);
  EXPECT_EQ(found[1].about.at(0).type, "/old");
}

TEST(Kills, OfAGroupThatIsGoneAreNotOfTheMachine) {
  EvidenceOfMachine machine;
  machine.moved("memstat_oom_kills_total", 1);
  machine.part("anonymous", 1);
  EXPECT_EQ(machine.words(), "now machine_oom_kill") << "without a log";
  machine.evidence.kills = {kill_in("/run-u12.scope")};
  ASSERT_EQ(machine.words(), "now cgroup_oom_kill");
  EXPECT_EQ(machine.find()[0].who.at(0).name, "/run-u12.scope");
  EXPECT_EQ(machine.find()[0].next.back(), "memstatctl events") << "there is nothing left to show";
  KillEvidence of_machine = kill_in("");
  of_machine.is_of_group = false;
  machine.evidence.kills.push_back(of_machine);
  EXPECT_EQ(machine.find().size(), 2U) << "both kinds";
}

TEST(Kills, OfEarlierAreNotBlamedOnCurrentOnes) {
  EvidenceOfMachine machine;
  machine.moved("memstat_oom_kills_total", 1);
  machine.part("anonymous", 1);
  machine.evidence.kills = {
      {.command = "db", .constraint = "none", .group = "/db", .pid = 7, .program_bytes = 9e9, .seconds_ago = 500}};
  ASSERT_EQ(machine.words(), "now machine_oom_kill");
  EXPECT_TRUE(machine.find()[0].who.empty());
}

TEST(Kills, WithGroupsThatAreNotReadTheMachineIsOnlyPossible) {
  EvidenceOfMachine machine;
  machine.moved("memstat_oom_kills_total", 1);
  machine.metric("memstat_memcg_groups_left_out", 4);
  EXPECT_EQ(machine.find().at(0).certainty, Certainty::kPossible);
}

TEST(Kills, OfAGroupBelowThatIsGoneAreNotAtTheLimitOfTheOneAbove) {
  EvidenceOfMachine machine;
  machine.evidence.poll_seconds = 10;
  machine.moved("memstat_oom_kills_total", 2);
  TypeEvidence& pods = machine.type(Allocator::kMemcg, "/kubepods.slice");
  pods.failures = {.recent = 2, .still = 50};
  pods.limit_bytes = 28 * EvidenceOfMachine::kGiB;
  machine.moved("memstat_memcg_events_total", 2, {"/kubepods.slice", "oom"});
  machine.moved("memstat_memcg_events_total", 2, {"/kubepods.slice", "oom_kill"});
  machine.metric("memstat_memcg_local_events_total", 0, {"/kubepods.slice", "oom"});
  ASSERT_EQ(machine.words(), "now cgroup_oom_kill");
  EXPECT_EQ(machine.find()[0].headline, "Control group /kubepods.slice: 2 processes killed below it in 5 min");
  machine.evidence.types[0].failures.still = 20;
  EXPECT_EQ(machine.find()[0].headline, "Control group /kubepods.slice: 2 processes killed")
      << "its local events may not have been read again";
  machine.evidence.metrics[2].change.recent = 2;
  EXPECT_EQ(machine.find()[0].headline, "Control group /kubepods.slice: 2 processes killed at its limit of 28 GiB");
  machine.evidence.metrics[2].change.recent = 0;
  machine.evidence.kills = {kill_in("/kubepods.slice/a"), kill_in("/kubepods.slice/b")};
  EXPECT_EQ(machine.find()[0].headline, "Control group /kubepods.slice: 2 processes killed below it in 5 min")
      << "by the log";
  machine.evidence.kills = {kill_in("/kubepods.slice")};
  EXPECT_EQ(machine.find()[0].headline, "Control group /kubepods.slice: 2 processes killed at its limit of 28 GiB");
}

TEST(Kills, OfNoGroupThatIsReadAreOnlyProbablyOfGroupsWhereTheMachineHadMemory) {
  EvidenceOfMachine machine;
  machine.moved("memstat_oom_kills_total", 5);
  machine.part("anonymous", 1);
  machine.metric("memstat_allocation_stalls_total", 9, {"Normal"});
  ASSERT_EQ(machine.words(), "now cgroup_oom_kill");
  EXPECT_EQ(machine.find()[0].certainty, Certainty::kPossible);
  EXPECT_TRUE(machine.find()[0].next.back().ends_with("/examples/kernel-log.conf"));
  machine.metric("memstat_kernel_log_events_total", 0, {"oom_kill"});
  EXPECT_EQ(machine.find()[0].next.size(), 1U) << "the log is read";
  machine.evidence.kills = {{.command = "db", .constraint = "none", .group = "/db", .pid = 7, .program_bytes = 1e9}};
  EXPECT_EQ(machine.words(), "notable machine_oom_kill") << "by the log, but memory had not run out";
  machine.evidence.kills.clear();
  machine.evidence.available_bytes = EvidenceOfMachine::kGiB;
  EXPECT_EQ(machine.find().at(0).cause, "machine_oom_kill") << "little is available";
  machine.evidence.available_bytes = 8 * EvidenceOfMachine::kGiB;
  for (MetricEvidence& one : machine.evidence.metrics) {
    if (one.metric == "memstat_allocation_stalls_total") one.change.recent = 7;
  }
  EXPECT_EQ(machine.words(), "now machine_oom_kill") << "allocations had to wait";
}

TEST(Kills, OfALogWithoutTimesAreTheNewestThatWereCounted) {
  EvidenceOfMachine machine;
  machine.moved("memstat_oom_kills_total", 2);
  machine.evidence.kills = {kill_in("/old"), kill_in("/a"), kill_in("/a"), kill_in("/a"), kill_in("/a")};
  for (KillEvidence& kill : machine.evidence.kills) kill.seconds_ago = std::nullopt;
  ASSERT_EQ(machine.words(), "now cgroup_oom_kill");
  EXPECT_EQ(machine.find()[0].headline, "Control group /a: 2 processes killed at its limit");
}

TEST(Kills, HaveWhatTheKernelDidAfterTheLastOne) {
  const auto facts_of = [](bool is_of_group, std::vector<LoggedEvidence> logged) {
    EvidenceOfMachine machine;
    machine.moved("memstat_oom_kills_total", 1);
    machine.part("anonymous", 1);
    machine.evidence.available_bytes = EvidenceOfMachine::kMiB;
    KillEvidence kill = is_of_group ? kill_in("/a") : KillEvidence{.command = "db", .constraint = "none", .group = "/db"};
    kill.pid = 7;
    kill.seconds_ago = 5;
    machine.evidence.kills = {kill};
    machine.evidence.logged = std::move(logged);
    std::string facts;
    for (const Finding& one : machine.find()) {
      if (one.cause != "cgroup_oom_kill" && one.cause != "machine_oom_kill") continue;
      for (const Fact& fact : one.facts) facts += fact.text + "\n";
    }
    return facts;
  };
  const auto line = [](std::string_view event, double seconds_ago, std::string text) {
    return LoggedEvidence{.event = event, .seconds_ago = seconds_ago, .subject = "java", .line = std::move(text)};
  };
  const std::string exiting = "the kernel then chose java, which was already exiting: nothing more was killed\n";
  const std::string of_group = "Memory cgroup out of memory: OOM victim 9 (java) is already exiting. Skip killing the task";
  const auto of_a_group = [&](std::string_view event, double seconds_ago, std::string text) {
    LoggedEvidence one = line(event, seconds_ago, std::move(text));
    one.is_of_group = true;
    return one;
  };
  EXPECT_NE(facts_of(true, {of_a_group("victim_exiting", 4, of_group)}).find(exiting), std::string::npos);
  EXPECT_EQ(facts_of(true, {of_a_group("victim_exiting", 9, of_group)}).find(exiting), std::string::npos)
      << "before the kill";
  EXPECT_EQ(facts_of(false, {of_a_group("victim_exiting", 4, of_group)}).find(exiting), std::string::npos) << "of a group";
  const std::string nobody = "Out of memory and no killable processes...";
  EXPECT_NE(facts_of(false, {line("nobody_to_kill", 4, nobody)}).find("nothing more was killed"), std::string::npos);
  EXPECT_EQ(facts_of(false, {of_a_group("nobody_to_kill", 4, nobody)}).find("nothing more was killed"), std::string::npos);
  const std::string unfreed = "the kernel could not free the victim's memory at once (oom_reaper)\n";
  EXPECT_NE(facts_of(true, {line("reaper_failed", 3, "oom_reaper: unable to reap pid:7 (db)")}).find(unfreed),
            std::string::npos);
  EXPECT_EQ(facts_of(true, {line("reaper_failed", 3, "oom_reaper: unable to reap pid:77 (db)")}).find(unfreed),
            std::string::npos);
}

TEST(Kills, ThatEndedAreBelowWhatStillFails) {
  EvidenceOfMachine machine;
  machine.moved("memstat_oom_kills_total", 2).change.still = 200;
  machine.part("anonymous", 1);
  machine.moved("memstat_socket_events_total", 900, {"TCP", "ListenOverflows"});
  ASSERT_EQ(machine.words(), "now listen_overflow, now machine_oom_kill");
  EXPECT_EQ(machine.find()[1].facts[0].text, "2 kills in 5 min, the last one 3 min ago");
}

TEST(Kills, TheLastOfSeveralSmallVictimsThatFreedMemoryIsNamed) {
  EvidenceOfMachine machine;
  machine.moved("memstat_oom_kills_total", 2);
  machine.part("anonymous", EvidenceOfMachine::kGiB);
  machine.evidence.kills = {{.command = "db", .constraint = "none", .group = "/db", .pid = 6, .program_bytes = 6e6}};
  EXPECT_TRUE(machine.find().at(0).who.empty()) << "one kill says nothing";
  machine.evidence.kills.push_back(
      {.command = "node", .constraint = "none", .group = "/user.slice/a", .pid = 7, .program_bytes = 1e5});
  const Finding finding = machine.find().at(0);
  ASSERT_EQ(finding.who.size(), 2U);
  EXPECT_EQ(finding.who[0].name + " " + finding.who[1].name, "node (pid 7) /user.slice/a");
}

}  // namespace
}  // namespace memstat::causes::kills
