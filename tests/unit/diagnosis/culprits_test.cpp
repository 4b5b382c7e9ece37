// SPDX-License-Identifier: BSD-2-Clause
#include "core/diagnosis/culprits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <vector>

#include "core/inspect/inspection.h"
#include "tests/support/evidence.h"

namespace memstat {
namespace {

Holder process(std::uint64_t pid, std::string command, std::optional<std::uint64_t> count,
               std::optional<std::uint64_t> bytes = {}) {
  return {.pid = pid, .command = std::move(command), .user = "", .group = "", .name = "", .count = count, .bytes = bytes};
}

InspectionAnswer answer(std::string_view question, std::string_view kind, std::string_view things,
                        std::vector<Holder> holders) {
  InspectionAnswer one;
  one.question = question;
  one.kind = kind;
  one.things = things;
  one.holders = std::move(holders);
  return one;
}

std::string culprits_of(const Finding& finding) {
  std::string text;
  for (const Finding::Who& one : finding.who) text += one.kind + " " + one.name + "; ";
  return text + finding.facts.back().text;
}

TEST(Culprits, AnAnswerFromWhenTheFindingBeganNamesHoldersAndShowsNothingElse) {
  EvidenceOfMachine machine;
  machine.limited(Allocator::kTable, "files", 9900, 10000);
  machine.evidence.why_unasked = "being asked";
  EXPECT_EQ(diagnose(machine.evidence).findings.at(0).unnamed, "being asked");
  InspectionAnswer asked = answer("files", "process", "open files", {process(7, "leaky", 9000)});
  asked.holders[0].limit = 9000;  // at a limit of its own, then
  asked.asked_ns = 1'795'921'812'000'000'000;
  machine.evidence.holders = {asked};
  const Diagnosis then = diagnose(machine.evidence);
  ASSERT_EQ(then.findings.size(), 1U);
  EXPECT_EQ(culprits_of(then.findings[0]), "process leaky (pid 7); holders as of 03:10:12 UTC");
  EXPECT_EQ(then.findings[0].unnamed, "");
  machine.evidence.holders[0].holders.clear();
  EXPECT_EQ(diagnose(machine.evidence).findings.at(0).unnamed, "no process stands out");
  machine.evidence.holders[0].holders = asked.holders;
  machine.evidence.inspections = {answer("files", "process", "open files", {process(8, "now", 9000)})};
  EXPECT_EQ(culprits_of(diagnose(machine.evidence).findings.at(0)), "process now (pid 8); now (pid 8) has 9000 open files");
}

TEST(Culprits, AnAnswerInTurnShowsALimitAndWhenItWasMade) {
  EvidenceOfMachine machine;
  InspectionAnswer asked = answer("files", "process", "open files", {process(7, "leaky", 9000)});
  asked.holders[0].limit = 9000;
  asked.asked_ns = 1'795'921'812'000'000'000;
  machine.evidence.limits = std::make_shared<const std::vector<InspectionAnswer>>(1, asked);
  ASSERT_EQ(machine.words(), "now process_files_full");
  const Finding found = diagnose(machine.evidence).findings.at(0);
  EXPECT_EQ(culprits_of(found), "process leaky (pid 7); counted at 03:10:12 UTC");
  machine.limited(Allocator::kTable, "files", 90000, 1e6);
  EXPECT_EQ(machine.words(), "now process_files_full") << "the number of files is of another moment";
  asked.holders[0].count = 3;
  machine.evidence.types.clear();
  machine.evidence.inspections = {asked};
  EXPECT_EQ(machine.words(), "") << "an answer of this poll is newer";
}

TEST(Culprits, AFullTableOfFilesNamesTheProcessThatHoldsThem) {
  EvidenceOfMachine machine;
  machine.limited(Allocator::kTable, "files", 9900, 10000);
  const Finding before = diagnose(machine.evidence).findings.at(0);
  EXPECT_TRUE(before.who.empty());
  EXPECT_EQ(before.next.at(0), "memstatctl who files");
  machine.evidence.inspections = {
      answer("pipes", "process", "pipes", {process(1, "wrong", 5)}),
      answer("files", "process", "open files", {process(812, "nginx", 9012), process(1, "init", 40)})};
  const Finding finding = diagnose(machine.evidence).findings.at(0);
  EXPECT_EQ(finding.cause, "open_files_full");
  EXPECT_EQ(culprits_of(finding), "process nginx (pid 812); nginx (pid 812) has 9012 open files");
  EXPECT_EQ(finding.facts.back().source, "who/files");
  EXPECT_EQ(finding.facts.back().value, 9012);
}

TEST(Culprits, HoldersThatHaveAboutAsMuchAreNamedAtMostThree) {
  EvidenceOfMachine machine;
  machine.limited(Allocator::kTable, "files", 9900, 10000);
  machine.evidence.inspections = {
      answer("files", "process", "open files",
             {process(1, "a", 100), process(2, "b", 90), process(3, "c", 60), process(4, "d", 55)})};
  EXPECT_EQ(diagnose(machine.evidence).findings.at(0).who.size(), 3U);
  machine.evidence.inspections[0].holders[2].count = 40;
  EXPECT_EQ(diagnose(machine.evidence).findings.at(0).who.size(), 2U);
}

TEST(Culprits, AMountIsNamedByItsPathWithItsBytes) {
  EvidenceOfMachine machine;
  machine.part("shared", 6 * EvidenceOfMachine::kGiB);
  machine.evidence.available_bytes = EvidenceOfMachine::kGiB / 2;
  Holder mount = process(0, "", 3, 5ULL << 30U);
  mount.name = "/dev/shm";
  machine.evidence.inspections = {answer("tmpfs", "mount", "files", {mount})};
  const Findings findings = diagnose(machine.evidence).findings;
  const auto found =
      std::find_if(findings.begin(), findings.end(), [](const Finding& one) { return one.cause == "shared_memory_large"; });
  if (found == findings.end()) GTEST_SKIP() << "another cause explains it";
  EXPECT_EQ(culprits_of(*found), "mount /dev/shm; /dev/shm has 5 GiB");
}

TEST(Culprits, NobodyIsNamedWhereNobodyHoldsAnything) {
  EvidenceOfMachine machine;
  machine.limited(Allocator::kTable, "files", 9900, 10000);
  machine.evidence.inspections = {answer("files", "process", "open files", {})};
  EXPECT_TRUE(diagnose(machine.evidence).findings.at(0).who.empty());
  machine.evidence.inspections = {answer("files", "process", "open files", {process(1, "none", 0)})};
  EXPECT_TRUE(diagnose(machine.evidence).findings.at(0).who.empty());
}

TEST(Culprits, FindingsAskEachQuestionOnce) {
  EvidenceOfMachine machine;
  machine.limited(Allocator::kTable, "files", 9900, 10000);
  machine.limited(Allocator::kTable, "ptys", 990, 1000);
  const std::vector<std::string_view> questions = questions_of(diagnose(machine.evidence).findings);
  EXPECT_EQ(questions.at(0), "files");
  EXPECT_EQ(std::set(questions.begin(), questions.end()).size(), questions.size());
}

TEST(Culprits, ReadsFromFreeBsdOnlyWhatItsKernelHas) {
  EvidenceOfMachine machine(EvidenceSystem::kFreeBsd);
  machine.limited(Allocator::kTable, "files", 9900, 10000);
  machine.evidence.inspections = {answer("files", "process", "open files", {process(812, "nginx", 9012)})};
  const Findings findings = diagnose(machine.evidence).findings;
  EXPECT_EQ(findings.at(0).next.at(0), "memstatctl who files");
  EXPECT_EQ(culprits_of(findings.at(0)), "process nginx (pid 812); nginx (pid 812) has 9012 open files");
  EXPECT_EQ(questions_of(findings, EvidenceSystem::kFreeBsd),
            (std::vector<std::string_view>{"files", "modules", "group-limits"}));
  Findings other = findings;
  other[0].inspection = "page-tables";
  other[0].next = {"sysctl"};
  name_culprits(machine.evidence, other);
  EXPECT_EQ(other[0].next, std::vector<std::string>{"sysctl"});
}

TEST(Culprits, AFullTableOfProcessesNamesTheProgramThatForks) {
  EvidenceOfMachine machine(EvidenceSystem::kFreeBsd);
  machine.limited(Allocator::kTable, "processes", 148, 148);
  machine.evidence.inspections = {answer("anonymous", "process", "of resident memory",
                                         {process(1, "large", {}, 1U << 30U), process(2, "fork", {}, 4096),
                                          process(3, "fork", {}, 4096), process(4, "fork", {}, 4096)})};
  EXPECT_EQ(culprits_of(diagnose(machine.evidence).findings.at(0)), "program fork; fork has 3 processes");
  Holder program = process(0, "", 140);
  program.name = "sh";
  machine.evidence.inspections.push_back(answer("processes", "program", "processes", {program}));
  EXPECT_EQ(culprits_of(diagnose(machine.evidence).findings.at(0)), "program sh; sh has 140 processes");
}

TEST(Culprits, WiredPagesBelongToAProcessOnlyIfAllOthersHaveTooLittle) {
  EvidenceOfMachine machine(EvidenceSystem::kFreeBsd);
  machine.limited(Allocator::kTable, "user_wired", 1000, 1000);
  machine.evidence.inspections = {answer("anonymous", "process", "of resident memory",
                                         {process(7, "locks", {}, 1100 * 4096), process(8, "other", {}, 400 * 4096)})};
  EXPECT_EQ(culprits_of(diagnose(machine.evidence).findings.at(0)),
            "process locks (pid 7); locks (pid 7) has 4.3 MiB of resident memory");
  machine.evidence.inspections[0].holders[1].bytes = 600 * 4096;
  EXPECT_TRUE(diagnose(machine.evidence).findings.at(0).who.empty()) << "the other may have wired more";
  machine.evidence.inspections[0].holders[1].bytes = 400 * 4096;
  machine.evidence.inspections[0].unlisted = 1;
  EXPECT_TRUE(diagnose(machine.evidence).findings.at(0).who.empty());
}

TEST(Culprits, TheQuestionsOfFreeBsdAreItsInspections) {
  std::vector<std::string_view> known(kFreeBsdQuestions.begin(), kFreeBsdQuestions.end());
  std::vector<std::string_view> inspections;
  for (const Inspection* const one : all_inspections()) {
    if (one->os == OperatingSystem::kFreeBsd) inspections.push_back(one->name);
  }
  std::sort(inspections.begin(), inspections.end());
  EXPECT_EQ(known, inspections);
}

Holder in_group(Holder holder, std::string group) {
  holder.group = std::move(group);
  return holder;
}

TEST(Culprits, GrowthIsOfTheGroupThatWasChargedAndNotOfTheLargestHolder) {
  EvidenceOfMachine machine;
  machine.growing("table", "files", 60000, 9000, 300).is_bytes = false;
  machine.metric("memstat_memcg_kernel_bytes", 4e7, {"/web.service"}).change.recent = 4e7;
  machine.metric("memstat_memcg_kernel_bytes", 9e8, {"/db.service"});
  machine.evidence.inspections = {
      answer("files", "process", "open files",
             {in_group(process(1, "db", 40000), "/db.service"), in_group(process(2, "web", 9500), "/web.service/worker")})};
  EXPECT_EQ(culprits_of(diagnose(machine.evidence).findings.at(0)),
            "group /web.service; process web (pid 2); group /web.service/worker; web (pid 2) has 9500 open files");
  machine.evidence.inspections[0].holders.pop_back();
  EXPECT_EQ(diagnose(machine.evidence).findings.at(0).who.size(), 1U) << "a stranger is not named for the group's growth";
  machine.evidence.inspections[0].holders.push_back(in_group(process(3, "init", 64), "/web.service"));
  EXPECT_EQ(diagnose(machine.evidence).findings.at(0).who.size(), 1U) << "64 of 9000";
}

TEST(Culprits, AGroupWithMuchKernelMemoryIsNamedOnlyIfNobodyWasFoundToHoldTheFiles) {
  EvidenceOfMachine machine;
  machine.limited(Allocator::kTable, "files", 9900, 10000);
  machine.metric("memstat_memcg_kernel_bytes", 9e8, {"/db.service"});
  machine.evidence.inspections = {
      answer("files", "process", "open files", {in_group(process(2, "web", 9500), "/web.service")})};
  EXPECT_EQ(culprits_of(diagnose(machine.evidence).findings.at(0)),
            "process web (pid 2); group /web.service; web (pid 2) has 9500 open files");
  machine.evidence.inspections[0].holders[0].count = 64;
  EXPECT_TRUE(culprits_of(diagnose(machine.evidence).findings.at(0)).starts_with("group /db.service"));
}

TEST(Culprits, TheSurvivorsAreNotBlamedForAKill) {
  EvidenceOfMachine machine;
  machine.moved("memstat_oom_kills_total", 1);
  machine.part("anonymous", 1);
  machine.evidence.kills = {{.command = "java", .constraint = "none", .group = "/a", .pid = 7, .program_bytes = 9e9}};
  machine.evidence.inspections = {answer("anonymous", "process", "of program memory", {process(8, "db", {}, 2000000000)})};
  const Finding finding = diagnose(machine.evidence).findings.at(0);
  EXPECT_EQ(finding.cause, "machine_oom_kill");
  EXPECT_EQ(finding.who.size(), 2U) << "the victim and its group";
}

TEST(Culprits, NamesEachKindAndEachProcessOnce) {
  Finding finding;
  finding.by("segment", "segment 65536 of pid 547").by("segment", "65536 of pid 547").by("mount", "/a").by("group", "/a");
  ASSERT_EQ(finding.who.size(), 3U);
  EXPECT_EQ(finding.who[0].name, "65536 of pid 547");
}

TEST(Culprits, OnlyHoldersOfTheKindThatMattersAreNamed) {
  EvidenceOfMachine machine;
  machine.moved("memstat_socket_events_total", 5000, {"TCP", "ListenOverflows"});
  machine.evidence.inspections = {
      answer("queues", "process", "sockets", {process(1, "sender", 300, 9000), process(812, "python3", 9)})};
  machine.evidence.inspections[0].holders[0].name = "tcp send";
  EXPECT_TRUE(diagnose(machine.evidence).findings.at(0).who.empty());
  machine.evidence.inspections[0].holders[1].name = "tcp accept";
  EXPECT_EQ(diagnose(machine.evidence).findings.at(0).who.at(0).name, "python3 (pid 812)");
}

TEST(Culprits, TheGroupOfEachIsNamed) {
  EvidenceOfMachine machine;
  machine.limited(Allocator::kTable, "files", 9900, 10000);
  machine.evidence.inspections = {
      answer("files", "process", "open files", {process(1, "a", 100), process(2, "b", 90), process(3, "c", 10)})};
  for (Holder& holder : machine.evidence.inspections[0].holders) holder.group = "/" + holder.command + ".service";
  const Finding finding = diagnose(machine.evidence).findings.at(0);
  ASSERT_EQ(finding.who.size(), 4U);
  EXPECT_EQ(finding.who[2].name + finding.who[3].name, "/a.service/b.service");
}

TEST(Culprits, MemstatItselfIsNamedOnlyIfNobodyElseHoldsAny) {
  EvidenceOfMachine machine;
  machine.limited(Allocator::kTable, "files", 9900, 10000);
  machine.evidence.inspections = {
      answer("files", "process", "open files", {process(1, "memstatctl", 234), process(2, "nginx", 90)})};
  Finding finding = diagnose(machine.evidence).findings.at(0);
  ASSERT_EQ(finding.who.size(), 1U);
  EXPECT_EQ(finding.who[0].name, "nginx (pid 2)");
  machine.evidence.inspections[0].holders.pop_back();
  EXPECT_EQ(diagnose(machine.evidence).findings.at(0).who.at(0).name, "memstatctl (pid 1)");
}

}  // namespace
}  // namespace memstat
