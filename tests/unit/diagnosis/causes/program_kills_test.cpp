// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include "tests/support/evidence.h"

namespace memstat::causes::program_kills {
namespace {

constexpr double kMiB = EvidenceOfMachine::kMiB;

ProgramKillEvidence kill_by_earlyoom() {
  return {.program = "earlyoom",
          .command = "stress",
          .group = {},
          .reason = "at or below SIGTERM limits: mem 10.00%, swap 10.00%",
          .pid = 1234,
          .bytes = 4096 * kMiB,
          .seconds_ago = 20};
}

TEST(ProgramKills, NamesTheProgramTheVictimAndTheReason) {
  EvidenceOfMachine machine;
  machine.evidence.program_kills = {kill_by_earlyoom()};
  ASSERT_EQ(machine.words(), "now program_kill");
  const Finding finding = machine.find()[0];
  EXPECT_EQ(finding.headline, "earlyoom killed stress (pid 1234) with 4 GiB");
  EXPECT_EQ(finding.who.at(0).name, "stress (pid 1234)");
  EXPECT_EQ(finding.facts.at(1).text, "earlyoom: at or below SIGTERM limits: mem 10.00%, swap 10.00%");
  EXPECT_EQ(finding.next.at(1), "journalctl --since -1h -n 50 -u earlyoom");
  EXPECT_FALSE(finding.is_past);
  EXPECT_TRUE(
      finding.effect.ends_with("What would have prevented it: other limits of earlyoom (its options -m and -s), or less "
                               "memory for the victim, which held 4 GiB of 16 GiB."))
      << finding.effect;
  machine.evidence.program_kills[0].bytes = 64 * kMiB;
  EXPECT_TRUE(machine.find()[0].effect.ends_with("(its options -m and -s).")) << "the victim held little";
  machine.evidence.program_kills[0].program = "a later one";
  EXPECT_EQ(machine.find()[0].effect.find("prevented"), std::string::npos);
}

TEST(ProgramKills, TheRecentVictimWithTheMostMemoryIsNamed) {
  EvidenceOfMachine machine;
  ProgramKillEvidence small = kill_by_earlyoom();
  small.command = "electron";
  small.pid = 99;
  small.bytes = 17 * kMiB;
  small.seconds_ago = 10;
  machine.evidence.program_kills = {kill_by_earlyoom(), small};
  const Finding finding = machine.find().at(0);
  EXPECT_EQ(finding.headline, "earlyoom killed stress (pid 1234) with 4 GiB");
  EXPECT_EQ(finding.killed, "stress (pid 1234)");
  EXPECT_TRUE(finding.facts.at(0).text.ends_with(", the last one by earlyoom of electron (pid 99), 10 s ago"))
      << finding.facts.at(0).text;
  machine.evidence.program_kills[0].seconds_ago = 7200;
  EXPECT_EQ(machine.find().at(0).killed, "electron (pid 99)") << "the other is history";
  machine.evidence.program_kills[1].seconds_ago = 7100;
  EXPECT_EQ(machine.find().at(0).killed, "electron (pid 99)") << "the last of those that are history";
}

TEST(ProgramKills, NamesAGroup) {
  EvidenceOfMachine machine;
  machine.evidence.program_kills = {{.program = "systemd-oomd",
                                     .command = {},
                                     .group = "/user.slice/user-1000.slice/user@1000.service/app.slice/build.scope",
                                     .reason = "memory pressure for /user.slice being 61.10% > 50.00%",
                                     .processes = 12,
                                     .seconds_ago = 20}};
  const Finding finding = machine.find()[0];
  EXPECT_EQ(finding.headline, "systemd-oomd killed the 12 processes of /user.slice/user...slice/build.scope");
  EXPECT_EQ(finding.about.at(0).type, machine.evidence.program_kills[0].group);
  machine.evidence.program_kills[0].processes = 0;
  EXPECT_EQ(machine.find()[0].headline, "systemd-oomd killed group /user.slice/user...slice/build.scope");
}

TEST(ProgramKills, NamesAPod) {
  EvidenceOfMachine machine;
  machine.evidence.program_kills = {
      {.program = "kubelet", .command = {}, .group = {}, .pod = "shop/cart-0", .seconds_ago = 20}};
  const Finding finding = machine.find()[0];
  EXPECT_EQ(finding.headline, "kubelet evicted the pod shop/cart-0");
  EXPECT_EQ(finding.who.at(0).kind, "pod");
}

TEST(ProgramKills, OlderOnesAreHistory) {
  EvidenceOfMachine machine;
  machine.evidence.program_kills = {kill_by_earlyoom()};
  machine.evidence.program_kills[0].seconds_ago = 7200;
  ASSERT_EQ(machine.words(), "notable program_kill");
  EXPECT_TRUE(machine.find()[0].is_past);
  EXPECT_EQ(machine.find()[0].headline, "earlyoom killed stress (pid 1234) with 4 GiB, 2 h ago");
  machine.evidence.program_kills.push_back(kill_by_earlyoom());
  EXPECT_EQ(machine.words(), "now program_kill");
  machine.evidence.program_kills.back().seconds_ago = 200;
  EXPECT_TRUE(machine.find()[0].is_paused) << "as urgent, but what continues comes first";
  machine.evidence.program_kills.clear();
  EXPECT_EQ(machine.words(), "");
}

TEST(ProgramKills, LongNamesFit) {
  EvidenceOfMachine machine;
  ProgramKillEvidence kill = kill_by_earlyoom();
  kill.command = kill.group = kill.reason = std::string(500, 'x');
  kill.program = "systemd-oomd";
  kill.processes = 123456;
  kill.seconds_ago = 7200;
  machine.evidence.program_kills = {kill};
  EXPECT_EQ(machine.find().size(), 1U) << "find() checks the length";
}

}  // namespace
}  // namespace memstat::causes::program_kills
