// SPDX-License-Identifier: BSD-2-Clause
// Findings from a partial view: nobody is accused, and what needs the whole machine is not checked.
#include "core/diagnosis/scope.h"

#include <gtest/gtest.h>

#include "core/diagnosis/holder.h"
#include "tests/support/evidence.h"

namespace memstat {
namespace {

Holder small_process() {
  return {.pid = 7, .command = "sleep", .user = "root", .group = "/", .name = "", .count = 6, .bytes = {}};
}

PartialView view_of(ViewReason reason) {
  PartialView view;
  view.add(reason);
  return view;
}

/// A view of a machine with 9900 of 10000 files open, most of them outside.
EvidenceOfMachine from_inside(ViewReason reason) {
  EvidenceOfMachine machine;
  machine.limited(Allocator::kTable, "files", 9900, 10000);
  machine.evidence.view = view_of(reason);
  InspectionAnswer files = answer_to("files", {small_process()});
  files.kind = "process";
  files.things = "open files";
  files.view = machine.evidence.view.of(ViewPart::kProcesses);
  machine.evidence.inspections = {files};
  return machine;
}

/// Why the cause was not checked; "": it was.
std::string why_not(const Evidence& evidence, std::string_view cause) {
  for (const NotChecked& one : diagnose(evidence).not_checked) {
    if (one.cause == cause) return one.why;
  }
  return {};
}

TEST(Scope, FilesOfProcessesOutsideAreNotHidden) {
  for (const ViewReason reason : {ViewReason::kPidNamespace, ViewReason::kHiddenProcesses, ViewReason::kOtherKernel}) {
    EvidenceOfMachine machine = from_inside(reason);
    EXPECT_EQ(machine.words(), "now open_files_full") << to_string(reason);
    EXPECT_EQ(why_not(machine.evidence, "files_without_descriptor"), machine.evidence.view.words_and_permit());
    EXPECT_FALSE(is_ruled_out(machine.evidence, "process_files_full"));
  }
  EvidenceOfMachine whole = from_inside(ViewReason::kIpcNamespace);
  whole.evidence.types[0].limit_objects.reset();
  whole.evidence.types[0].limit_used.reset();
  EXPECT_NE(whole.words().find("files_without_descriptor"), std::string::npos) << "all processes are visible";
}

TEST(Scope, AFullTableNamesNobodyInAPartialView) {
  const Finding inside = diagnose(from_inside(ViewReason::kPidNamespace).evidence).findings.at(0);
  EXPECT_EQ(inside.cause, "open_files_full");
  EXPECT_TRUE(inside.who.empty());
  EXPECT_EQ(inside.facts.back().text, "who holds it was not checked: seen from inside a container (PID namespace)");
  EXPECT_EQ(inside.next.at(0), "memstatctl who files");
  EvidenceOfMachine outside = from_inside(ViewReason::kPidNamespace);
  outside.evidence.view = outside.evidence.inspections[0].view = {};
  EXPECT_EQ(diagnose(outside.evidence).findings.at(0).who.at(0).name, "sleep (pid 7)");
  outside.evidence.inspections[0].refused = 40;
  const Finding as_user = diagnose(outside.evidence).findings.at(0);
  EXPECT_TRUE(as_user.who.empty());
  EXPECT_EQ(as_user.facts.back().text, "who holds it was not checked: 40 processes may not be examined");
  outside.evidence.inspections[0].needs = "CAP_SYS_PTRACE";
  EXPECT_EQ(diagnose(outside.evidence).findings.at(0).unnamed,
            "not in this answer: 40 processes may not be examined without CAP_SYS_PTRACE");
}

TEST(Scope, AProcessInsideThatHasMostOfItIsNamed) {
  EvidenceOfMachine machine = from_inside(ViewReason::kPidNamespace);
  machine.evidence.inspections[0].holders[0].count = 9000;
  EXPECT_EQ(diagnose(machine.evidence).findings.at(0).who.at(0).name, "sleep (pid 7)");
}

TEST(Scope, ProcessesThatMayNotBeExaminedRuleNothingOut) {
  EvidenceOfMachine machine;
  machine.evidence.inspections = {answer_to("files", {small_process()})};
  EXPECT_TRUE(is_ruled_out(machine.evidence, "process_files_full"));
  machine.evidence.inspections[0].refused = 3;
  EXPECT_NE(why_not(machine.evidence, "process_files_full").find("at least 3 processes"), std::string::npos);
}

TEST(Scope, SocketsElsewhereAreUsualForAContainer) {
  EvidenceOfMachine machine;
  machine.metric("memstat_socket_allocated_objects", 900, {"TCP"});
  TypeEvidence& tcp = machine.type(Allocator::kSocket, "TCP");
  tcp.objects = 3;
  tcp.bytes = 1e9;
  EXPECT_NE(machine.words().find("sockets_elsewhere"), std::string::npos);
  machine.evidence.view = view_of(ViewReason::kNetworkNamespace);
  EXPECT_EQ(machine.words().find("sockets_elsewhere"), std::string::npos);
  EXPECT_NE(why_not(machine.evidence, "sockets_elsewhere").find("network namespace"), std::string::npos);
}

TEST(Scope, TablesOfANamespaceAreNotTheMachines) {
  EvidenceOfMachine machine;
  machine.limited(Allocator::kTable, "sysv_shm", 1, 4096);
  machine.limited(Allocator::kTable, "conntrack", 1, 4096);
  machine.limited(Allocator::kTable, "files", 1, 4096);
  EXPECT_TRUE(is_ruled_out(machine.evidence, "sysv_shm_full"));
  machine.evidence.view.add(ViewReason::kIpcNamespace);
  machine.evidence.view.add(ViewReason::kNetworkNamespace);
  EXPECT_EQ(why_not(machine.evidence, "sysv_shm_full"), view_of(ViewReason::kIpcNamespace).words_and_permit());
  EXPECT_EQ(why_not(machine.evidence, "conntrack_full"), view_of(ViewReason::kNetworkNamespace).words_and_permit());
  EXPECT_TRUE(is_ruled_out(machine.evidence, "open_files_full")) << "the kernel counts all of them";
  machine.evidence.types[0].objects = 4096;
  machine.evidence.types[0].limit_used = 1;
  EXPECT_NE(machine.words().find("sysv_shm_full"), std::string::npos) << "what is full inside is found";
}

TEST(Scope, LimitsOfAUserNamespaceAreNotTheUsers) {
  EvidenceOfMachine machine;
  Holder nobody{.pid = 7, .command = "many", .user = "65534", .group = "/", .name = "tasks", .count = 990, .bytes = {}};
  nobody.limit = 1000;
  machine.evidence.inspections = {answer_to("user-tasks", {nobody})};
  EXPECT_EQ(machine.words(), "now user_tasks_full");
  machine.evidence.view = view_of(ViewReason::kUserNamespace);
  machine.evidence.inspections[0].view = machine.evidence.view;
  EXPECT_EQ(machine.words(), "");
  EXPECT_NE(why_not(machine.evidence, "user_tasks_full").find("user namespace"), std::string::npos);
}

TEST(Scope, AGroupIsNotBlamedIfOthersAreOutside) {
  EvidenceOfMachine machine;
  machine.metric(kGroupKernel, 4e6, {"/inside"});
  EXPECT_NE(holder(machine.evidence, kKernelMemory, Holds::kNow, 1), nullptr);
  machine.evidence.view = view_of(ViewReason::kCgroupNamespace);
  EXPECT_EQ(holder(machine.evidence, kKernelMemory, Holds::kNow, 1), nullptr);
}

TEST(Scope, BehindLxcfsSharesOfMemoryAreNotChecked) {
  EvidenceOfMachine machine;
  machine.part("page_tables", 1e6);
  EXPECT_TRUE(is_ruled_out(machine.evidence, "page_tables_large"));
  machine.evidence.view = view_of(ViewReason::kLxcfs);
  EXPECT_NE(why_not(machine.evidence, "page_tables_large").find("lxcfs"), std::string::npos);
}

/// No cause may say that it looked where the view shows nothing.
TEST(Scope, ACauseThatNeedsAnInspectionIsNeverRuledOutByAPartialAnswer) {
  for_each_cause([](const Cause& cause) {
    if (cause.system == CauseSystem::kFreeBsd) return;
    for (const std::string_view need : cause.needs) {
      if (!need.starts_with("who/")) continue;
      EvidenceOfMachine machine;
      machine.evidence.view = view_of(ViewReason::kOtherKernel);
      InspectionAnswer answer = answer_to(need.substr(4), {});
      answer.view = machine.evidence.view;
      machine.evidence.inspections = {answer};
      EXPECT_FALSE(is_ruled_out(machine.evidence, cause.name)) << cause.name;
    }
  });
}

}  // namespace
}  // namespace memstat
