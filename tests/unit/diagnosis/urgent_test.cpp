// SPDX-License-Identifier: BSD-2-Clause
#include "core/diagnosis/urgent.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/support/evidence.h"

namespace memstat {
namespace {

KillEvidence kill(std::string_view command, std::uint64_t pid, double seconds_ago) {
  KillEvidence kill{.command = std::string(command), .constraint = "none", .group = "/user.slice", .pid = pid};
  kill.program_bytes = 9 * EvidenceOfMachine::kGiB;
  kill.seconds_ago = seconds_ago;
  return kill;
}
KillEvidence kill_in(std::string_view group, std::uint64_t pid, double seconds_ago) {
  KillEvidence one = kill("web", pid, seconds_ago);
  one.constraint = "memcg";
  one.is_of_group = true;
  one.limit_group = group;
  return one;
}

/// A machine that polls each 10 s, and counted these kills recently and at its last poll.
class NewKills : public testing::Test {
 protected:
  NewKills() {
    machine_.part("anonymous", 900 * EvidenceOfMachine::kMiB);
    machine_.evidence.poll_seconds = 10;
  }
  void count(double recent, double last) { machine_.moved("memstat_oom_kills_total", recent).change.last = last; }
  void group(std::string_view name, double kills) {
    TypeEvidence& type = machine_.type(Allocator::kMemcg, name);
    type.bytes = type.limit_bytes = 64 * EvidenceOfMachine::kMiB;
    type.failures = type.sleeps = {.total = kills, .since_start = kills, .recent = kills};
    machine_.moved("memstat_memcg_events_total", kills, {name, "oom_kill"});
  }
  /// "kill_requested bash (pid 7)", separated by commas.
  [[nodiscard]] std::string words(std::vector<std::size_t> indexes = {}) const {
    const Findings found = machine_.find();
    add_new_kills(machine_.evidence, found, indexes);
    std::string words;
    for (const std::size_t index : indexes) {
      const Finding& one = found.at(index);
      words += (words.empty() ? "" : ", ") + one.cause + " " + one.killed;
    }
    return words;
  }

  EvidenceOfMachine machine_;
};

TEST_F(NewKills, AreNoneWhileNoneIsCounted) {
  count(2, 0);
  machine_.evidence.kills = {kill("hog", 5, 200)};
  EXPECT_EQ(words(), "");
}

TEST_F(NewKills, ARequestedOneAfterAShortageIsAboutTheRequest) {
  count(2, 1);
  machine_.evidence.kills = {kill("hog", 5, 80), kill("bash", 7, 1)};
  machine_.evidence.kills[1].is_requested = true;
  EXPECT_EQ(words(), "kill_requested bash (pid 7)");
  machine_.evidence.kills[1].seconds_ago.reset();
  EXPECT_EQ(words(), "kill_requested bash (pid 7)") << "without a time in the log";
}

TEST_F(NewKills, AShortageAfterARequestedOneIsAboutTheShortage) {
  count(2, 1);
  machine_.evidence.kills = {kill("bash", 7, 80), kill("hog", 5, 1)};
  machine_.evidence.kills[0].is_requested = true;
  EXPECT_EQ(words(), "machine_oom_kill hog (pid 5)");
  machine_.evidence.kills[1].constraint = "cpuset";
  EXPECT_EQ(words(), "numa_bound_oom hog (pid 5)");
}

TEST_F(NewKills, AreAboutTheGroupThatWasAtItsLimit) {
  count(3, 1);
  group("/a", 1);
  group("/b", 1);
  machine_.evidence.kills = {kill("hog", 5, 90), kill_in("/b", 8, 50), kill_in("/a", 9, 2)};
  EXPECT_EQ(words(), "cgroup_oom_kill web (pid 9)");
  std::swap(machine_.evidence.kills[1].limit_group, machine_.evidence.kills[2].limit_group);
  EXPECT_EQ(words(), "cgroup_oom_kill web (pid 9)") << "in the other group";
}

TEST_F(NewKills, OfTwoKindsInOnePollAreBoth) {
  count(2, 2);
  group("/a", 1);
  machine_.evidence.kills = {kill("hog", 5, 4), kill_in("/a", 9, 2)};
  EXPECT_EQ(words(), "cgroup_oom_kill web (pid 9), machine_oom_kill hog (pid 5)");
}

TEST_F(NewKills, WithoutALogAreAboutWhatTheCountersShow) {
  count(1, 1);
  group("/a", 1);
  EXPECT_EQ(words(), "cgroup_oom_kill ");
  EXPECT_EQ(words({0}), "cgroup_oom_kill ") << "once";
}

TEST_F(NewKills, ByAProgramAreCountedByTheJournal) {
  machine_.moved("memstat_program_kills_total", 1).change.last = 1;
  machine_.evidence.program_kills = {{.program = "earlyoom", .command = "hog", .group = {}, .pid = 5, .seconds_ago = 1}};
  EXPECT_EQ(words(), "program_kill hog (pid 5)");
}

TEST(GroupsInDanger, AreThoseOfFindingsAndThenThoseNearestToTheirLimits) {
  EvidenceOfMachine machine;
  const auto add = [&](std::string_view name, double bytes, double limit) {
    TypeEvidence& type = machine.type(Allocator::kMemcg, name);
    type.bytes = bytes;
    if (limit > 0) type.limit_bytes = limit;
  };
  add("/calm", 1 * EvidenceOfMachine::kMiB, 100 * EvidenceOfMachine::kMiB);
  add("/unlimited", 900 * EvidenceOfMachine::kMiB, 0);
  add("/nearly", 99 * EvidenceOfMachine::kMiB, 100 * EvidenceOfMachine::kMiB);
  Findings findings(1);
  findings[0].is_about("slab", "dentry").is_about("memcg", "/calm");
  EXPECT_EQ(groups_in_danger(machine.evidence, findings), (std::vector<std::string>{"/calm", "/nearly"}));
  EXPECT_EQ(groups_in_danger(machine.evidence, {}), (std::vector<std::string>{"/nearly", "/calm"}));
  for (int i = 0; i < 100; ++i) add("/calm", 1 * EvidenceOfMachine::kMiB, 100 * EvidenceOfMachine::kMiB);
  findings.resize(1);
  for (int i = 0; i < 100; ++i) findings[0].is_about("memcg", "/" + std::to_string(i));
  EXPECT_EQ(groups_in_danger(machine.evidence, findings).size(), kMaxGroupsInDanger);
}

}  // namespace
}  // namespace memstat
