// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include "core/diagnosis/culprits.h"
#include "tests/support/evidence.h"

namespace memstat::causes::user_watches {
namespace {

constexpr double kMiB = EvidenceOfMachine::kMiB;

InspectionAnswer watches(std::vector<Holder> holders) {
  InspectionAnswer answer;
  answer.question = "watches";
  answer.kind = "process";
  answer.things = "inotify watches";
  answer.holders = std::move(holders);
  return answer;
}

Holder process(std::uint64_t pid, const char* user, std::uint64_t count) {
  return {.pid = pid, .command = "sync", .user = user, .group = "/web.service", .name = "", .count = count, .bytes = {}};
}

TEST(UserWatches, AreOfAUserInAllItsProcesses) {
  EvidenceOfMachine machine;
  machine.metric("memstat_table_user_limit_objects", 2000, {"inotify_watches"});
  EXPECT_FALSE(is_ruled_out(machine.evidence, "inotify_watches_full")) << "no inspection was made";
  machine.evidence.inspections = {watches({process(7, "web", 1200), process(8, "root", 900), process(9, "web", 300)})};
  EXPECT_EQ(machine.words(), "");
  EXPECT_TRUE(is_ruled_out(machine.evidence, "inotify_watches_full"));
  machine.evidence.inspections[0].holders[2].count = 790;
  ASSERT_EQ(machine.words(), "now inotify_watches_full");
  std::string who;
  const Diagnosis diagnosis = diagnose(machine.evidence);
  for (const Finding::Who& one : diagnosis.findings.at(0).who) who += one.kind + " " + one.name + "; ";
  EXPECT_EQ(who, "user web; process sync (pid 7); process sync (pid 9); group /web.service; ");
}

TEST(UserWatches, AreAtLeastWhatTheProcessesThatWereReachedHave) {
  EvidenceOfMachine machine;
  machine.metric("memstat_table_user_limit_objects", 3000, {"inotify_watches"});
  machine.evidence.inspections = {watches({process(7, "web", 1700)})};
  EXPECT_EQ(machine.words(), "");
  machine.evidence.inspections[0].is_cut = true;
  ASSERT_EQ(machine.words(), "notable inotify_watches_full");
  EXPECT_EQ(machine.find()[0].headline, "User web has at least 1700 of 3000 inotify watches");
  machine.evidence.inspections[0].holders[0].count = 1400;
  EXPECT_EQ(machine.words(), "");
}

TEST(UserWatches, AreAskedForBeforeThereIsAFinding) {
  const std::vector<std::string_view> questions = questions_of({});
  EXPECT_EQ(questions, (std::vector<std::string_view>{"group-limits", "files", "maps", "quotas", "tmpfs", "unmapped",
                                                      "user-tasks", "mounts", "message-queues", "zombies", "rings",
                                                      "modules", "keys", "queues", "inotify", "watches"}));
  EXPECT_GT(kMiB, 0);
}

}  // namespace
}  // namespace memstat::causes::user_watches
