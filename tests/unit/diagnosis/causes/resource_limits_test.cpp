// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include "tests/support/evidence.h"

namespace memstat::causes::resource_limits {
namespace {

Holder row(const char* group, const char* name, std::uint64_t count, std::uint64_t limit) {
  return {.pid = 0, .command = "", .user = "", .group = group, .name = name, .count = count, .bytes = {}, .limit = limit};
}

TEST(ResourceLimits, AreOneFindingForEachSubject) {
  EvidenceOfMachine machine(EvidenceSystem::kFreeBsd);
  EXPECT_FALSE(is_ruled_out(machine.evidence, "resource_limit_full")) << "nobody was asked";
  InspectionAnswer answer;
  answer.question = "group-limits";
  answer.kind = "limit";
  answer.things = "in use";
  answer.holders = {row("jail j1", "memoryuse", 60U << 20U, 60U << 20U),
                    row("jail j1", "maxproc", 20, 20),
                    row("user 1001", "nsem", 93, 100),
                    row("damaged", "nthr", 5, 5),
                    row("jail j2", "nthr", 5, 0),
                    row("jail j3", "nthr", 85, 100)};
  machine.evidence.inspections = {answer};
  ASSERT_EQ(machine.words(), "now resource_limit_full, notable resource_limit_full");
  const Findings found = machine.find();
  EXPECT_EQ(found[0].headline, "Jail j1 is at its limits: memory 60 MiB of 60 MiB; 20 of 20 processes");
  ASSERT_EQ(found[0].who.size(), 1U);
  EXPECT_EQ(found[0].who[0].kind + " " + found[0].who[0].name, "jail j1");
  EXPECT_EQ(found[0].next.at(0), "rctl -hu jail:j1");
  EXPECT_EQ(found[1].headline, "User 1001 is near its limit: 93 of 100 nsem");
  EXPECT_EQ(found[1].effect, "Requests for more fail.");
}

/// What memstatd has of two jails at each poll: j1 has all its processes, j2 may have as many open files as it likes.
void add_jails(EvidenceOfMachine& machine) {
  machine.metric("memstat_jails_counted", 2);
  TypeEvidence& j1 = machine.type(Allocator::kJail, "j1");
  j1.bytes = 1 << 20;
  j1.objects = 20;
  machine.metric("memstat_jail_limit", 20, {"j1", "maxproc", "deny"});
  machine.metric("memstat_jail_limit", 64 << 20, {"j1", "memoryuse", "deny"});
  machine.metric("memstat_jail_limit", 10, {"j2", "openfiles", "log"});
  machine.metric("memstat_jail_limit", 0, {"j2", "nthr", "deny"});
  machine.metric("memstat_jail_limit", 5, {"j2", "nsem", "deny"});
  machine.metric("memstat_jail_objects", 95, {"j2", "openfiles"});
  machine.metric("memstat_jail_objects", 7, {"j2", "nthr"});
}

TEST(ResourceLimits, OfJailsThatMemstatdCountsNeedNoInspection) {
  EvidenceOfMachine machine(EvidenceSystem::kFreeBsd);
  EXPECT_FALSE(is_ruled_out(machine.evidence, "jail_limit_full")) << "the kernel does not count";
  add_jails(machine);
  ASSERT_EQ(machine.words(), "now jail_limit_full");
  EXPECT_EQ(machine.find()[0].headline, "Jail j1 is at its limit: 20 of 20 processes");
  machine.metric("memstat_jail_limit", 100, {"j2", "openfiles", "deny"});
  ASSERT_EQ(machine.words(), "now jail_limit_full, notable jail_limit_full");
  EXPECT_EQ(machine.find()[1].headline, "Jail j2 is near its limit: 95 of 100 open files");
}

TEST(ResourceLimits, OfAJailAreSaidOnce) {
  EvidenceOfMachine machine(EvidenceSystem::kFreeBsd);
  add_jails(machine);
  InspectionAnswer answer;
  answer.question = "group-limits";
  answer.holders = {row("jail j1", "maxproc", 20, 20), row("jail j1", "nsem", 5, 5), row("user 1001", "maxproc", 20, 20)};
  machine.evidence.inspections = {answer};
  EXPECT_EQ(machine.words(), "now resource_limit_full, now resource_limit_full, now jail_limit_full");
  EXPECT_EQ(machine.find()[0].headline, "Jail j1 is at its limit: 5 of 5 nsem") << "memstatd does not count these";
}

}  // namespace
}  // namespace memstat::causes::resource_limits
