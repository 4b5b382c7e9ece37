// SPDX-License-Identifier: BSD-2-Clause
// Tests for every question: bounds, hostile names, and the table of a recording.
#include <gtest/gtest.h>

#include "core/inspect/owners.h"
#include "core/inspect/processes.h"
#include "tests/support/process_kernel.h"

namespace memstat {
namespace {

TEST(Inspection, EachQuestionHasWordsAndAUniqueName) {
  std::set<std::pair<OperatingSystem, std::string_view>> names;
  for (const Inspection* const inspection : all_inspections()) {
    EXPECT_TRUE(names.emplace(inspection->os, inspection->name).second) << inspection->name;
    EXPECT_EQ(find_inspection(inspection->name, inspection->os), inspection);
    EXPECT_FALSE(inspection->question.empty() || inspection->kind.empty() || inspection->things.empty()) << inspection->name;
  }
  EXPECT_EQ(find_inspection("nothing"), nullptr);
  EXPECT_EQ(find_inspection("locked", OperatingSystem::kFreeBsd), nullptr);
  const std::vector<std::string> all = question_names();
  EXPECT_EQ(std::count(all.begin(), all.end(), "files"), 1);
}

TEST(Inspection, StopsAtTheMaximumOfObjectsAndReportsIt) {
  ProcessKernel kernel;
  for (std::uint64_t pid = 1; pid <= 1100; ++pid) kernel.add(pid, "many", 0, "", "VmLck:\t 4 kB\n");
  const InspectionAnswer answer = answer_of(kernel, "locked", {.max_objects = 1000});
  EXPECT_TRUE(answer.is_cut);
  EXPECT_EQ(answer.looked_at, 1000U);
  EXPECT_EQ(answer.seen, 1000U);
  EXPECT_EQ(answer.total, 1100U);
  EXPECT_EQ(answer.holders.size(), kMaxHolders);
  EXPECT_EQ(answer.unlisted, 1000 - kMaxHolders);
}

/// 2000 small processes, and one with a high number that has most. A read takes 2 ms with the work of others.
void make_busy(ProcessKernel& kernel) {
  for (std::uint64_t pid = 1; pid <= 300; ++pid) kernel.add(pid, "small", 3, "pipe:[" + std::to_string(pid) + "]");
  kernel.add(9000, "leaky", 70);
  for (int i = 0; i < 300; ++i) kernel.link(9000, "pipe:[" + std::to_string(10'000 + i) + "]");
  kernel.ns_per_read = 20'000;
  kernel.ns_of_others = 2'000'000;
}

class InspectionOnABusyMachine : public testing::TestWithParam<bool> {};

TEST_P(InspectionOnABusyMachine, TheWorkOfOthersTakesNothingFromABudgetOfCpuTime) {
  ProcessKernel kernel;
  make_busy(kernel);
  kernel.counts_descriptors = GetParam();
  const InspectionAnswer answer = answer_of(kernel, "pipes", {.max_wall_ns = 60'000'000'000});
  EXPECT_FALSE(answer.is_cut);
  EXPECT_EQ(answer.holders.at(0).pid, 9000U);
  EXPECT_EQ(answer.holders[0].count, 300U);
  EXPECT_EQ(answer.seen, 1270U);
}

TEST_P(InspectionOnABusyMachine, WhoHoldsMostIsInAnAnswerThatTheWallClockCut) {
  ProcessKernel kernel;
  make_busy(kernel);
  kernel.counts_descriptors = GetParam();
  const InspectionAnswer answer = answer_of(kernel, "pipes", {.max_wall_ns = 2'500'000'000});
  EXPECT_TRUE(answer.is_cut);
  EXPECT_EQ(answer.holders.at(0).pid, 9000U);
  EXPECT_EQ(answer.holders[0].count, 300U);
  EXPECT_LT(answer.seen, 1270U);
  EXPECT_GE(answer.seen, 370U);
}

TEST_P(InspectionOnABusyMachine, ABudgetOfCpuTimeEndsItToo) {
  ProcessKernel kernel;
  make_busy(kernel);
  kernel.counts_descriptors = GetParam();
  const InspectionAnswer answer = answer_of(kernel, "pipes", {.max_cpu_ns = 20'000'000, .max_wall_ns = INT64_MAX});
  EXPECT_TRUE(answer.is_cut);
  EXPECT_EQ(answer.holders.at(0).pid, 9000U);
}

INSTANTIATE_TEST_SUITE_P(Kernels, InspectionOnABusyMachine, testing::Bool(),
                         [](const auto& one) { return one.param ? "WithSizes" : "WithRoomOnly"; });

TEST(Inspection, OfAProcessThatIsCutEveryKindOfDescriptorIsSeen) {
  ProcessKernel kernel;
  kernel.add(7, "leaky", 5000, "/dev/null");
  for (int i = 0; i < 5000; ++i) kernel.link(7, "anon_inode:[eventfd]");
  const InspectionAnswer answer = answer_of(kernel, "eventfds", {.max_objects = 400});
  EXPECT_TRUE(answer.is_cut);
  EXPECT_GT(answer.holders.at(0).count, 60U);
  EXPECT_EQ(answer_of(kernel, "eventfds").holders.at(0).count, 5000U) << "each is seen once";
}

TEST(Inspection, TheShareIsOfDescriptorsWhereTheKernelCountsThemAndOtherwiseOfTheMachinesFiles) {
  ProcessKernel kernel;
  make_busy(kernel);
  kernel.files["/proc/sys/fs/file-nr"] = "8400\t0\t9223372036854775807\n";
  const InspectionBounds bounds{.max_objects = 900};
  EXPECT_EQ(answer_of(kernel, "pipes", bounds).total, 1270U);
  kernel.counts_descriptors = false;
  EXPECT_EQ(answer_of(kernel, "pipes", bounds).total, 8400U);
  kernel.files["/proc/sys/fs/file-nr"] = "40\t0\t9223372036854775807\n";
  EXPECT_FALSE(answer_of(kernel, "pipes", bounds).total) << "processes share them, so more were seen than there are";
}

TEST(Inspection, FilesAreCountedWithoutOpeningDirectoriesWhereTheKernelDoes) {
  ProcessKernel kernel;
  kernel.add(7, "one", 5);
  kernel.failures["/proc/7/fd"] = EACCES;
  EXPECT_EQ(holders_text(answer_of(kernel, "files")), "7 one 5");
  EXPECT_EQ(answer_of(kernel, "files").refused, 0U);
  kernel.counts_descriptors = false;
  EXPECT_EQ(answer_of(kernel, "files").refused, 1U);
}

TEST(Inspection, EachQuestionThatRunsOutOfTimeIsCut) {
  ProcessKernel kernel;
  make_busy(kernel);
  kernel.files["/proc/sys/fs/mount-max"] = "4000\n";
  kernel.files["/proc/meminfo"] = "MemTotal: 1 kB\n";
  kernel.files["/proc/sysvipc/shm"] = "key shmid size cpid nattch uid\n0 1 4096 7 0 0\n";
  kernel.files["/proc/self/mountinfo"] = "36 35 0:20 / /dev/mqueue rw - mqueue mqueue rw\n";
  kernel.files["/dev/mqueue/a"] = "";
  kernel.files["/sys/fs/cgroup/cgroup.controllers"] = "memory";
  kernel.files["/proc/modules"] = "a 1 0 - Live 0\nb 2 0 - Live 0\n";
  for (std::uint64_t pid = 1; pid <= 300; ++pid) {
    kernel.links[ProcessKernel::path(pid) + "/ns/mnt"] = "mnt:[" + std::to_string(pid) + "]";
    kernel.files[ProcessKernel::path(pid) + "/mountinfo"] = "1 1 0:1 / / rw - tmpfs none rw\n";
  }
  for (const Inspection* const inspection : all_inspections()) {
    if (inspection->os != OperatingSystem::kLinux || inspection->reads_polled_files) continue;
    const auto answer = inspect(kernel, *inspection, {.max_wall_ns = 1});
    if (!answer) continue;
    EXPECT_TRUE(answer->is_cut) << inspection->name;
  }
}

TEST(Inspection, SaysHowFarItIs) {
  ProcessKernel kernel;
  make_busy(kernel);
  std::uint64_t last = 0;
  std::uint64_t calls = 0;
  InspectionBounds bounds{.max_wall_ns = INT64_MAX};
  bounds.on_object = [&](const InspectionAnswer& answer) {
    last = answer.seen.value_or(0);
    ++calls;
  };
  const InspectionAnswer answer = answer_of(kernel, "pipes", bounds);
  EXPECT_EQ(calls, answer.looked_at);
  EXPECT_EQ(last, *answer.seen - 1);
}

TEST(Inspection, HostileNamesAreLabelTextAndComeBackFromARecording) {
  ProcessKernel kernel;
  kernel.add(7, "a\tb\x1b[31m\xff end 1", 3);
  kernel.files["/proc/7/cgroup"] = "0::/g\te" + std::string(5000, 'x') + "\n";
  kernel.files["/etc/passwd"] = "a\tb:x:1000:\n";
  const InspectionAnswer answer = answer_of(kernel, "files");
  EXPECT_EQ(answer.holders[0].command, "a\\x09b\\x1b[31m\xEF\xBF\xBD end 1");
  EXPECT_EQ(answer.holders[0].user, "a\\x09b");
  EXPECT_LT(answer.holders[0].group.size(), 1100U);
  InspectionAnswer read;
  ASSERT_TRUE(read_answer(write_answer(answer), read));
  EXPECT_EQ(read.holders, answer.holders);
  EXPECT_EQ(write_answer(read), write_answer(answer));
}

TEST(Inspection, ATableThatIsCutAnywhereIsRefused) {
  InspectionAnswer answer;
  answer.is_cut = true;
  answer.seen = 7995;
  answer.total = 8400;
  answer.holders = {{.pid = 7, .command = "x", .user = "u", .group = "/g", .name = "", .count = 3, .bytes = {}},
                    {.pid = 0, .command = "", .user = "", .group = "", .name = "/tmp", .count = {}, .bytes = UINT64_MAX}};
  const std::string text = write_answer(answer);
  InspectionAnswer read;
  ASSERT_TRUE(read_answer(text, read));
  EXPECT_TRUE(read.is_cut);
  EXPECT_EQ(read.seen, answer.seen);
  EXPECT_EQ(read.total, answer.total);
  EXPECT_EQ(read.holders, answer.holders);
  for (std::size_t size = 0; size + 1 < text.size(); ++size) EXPECT_FALSE(read_answer(text.substr(0, size), read)) << size;
  EXPECT_FALSE(read_answer(text + "x", read));
}

TEST(Inspection, RecordingsOfOlderAndNewerVersionsAreRead) {
  const std::string facts = "memstat who 1\nasked_ns 1 looked_at 2 refused 0 unlisted 0 is_cut 1";
  InspectionAnswer answer;
  ASSERT_TRUE(read_answer(facts + "\nend 0\n", answer));
  EXPECT_FALSE(answer.seen || answer.total);
  ASSERT_TRUE(read_answer(facts + " seen 3 later 9 total 4\nend 0\n", answer));
  EXPECT_EQ(answer.seen, 3U);
  EXPECT_EQ(answer.total, 4U);
  EXPECT_FALSE(read_answer(facts + " seen many\nend 0\n", answer));
  EXPECT_FALSE(read_answer(facts + " seen\nend 0\n", answer));
}

TEST(Inspection, ACaptureGivesTheRecordedAnswerOnly) {
  ProcessKernel kernel;
  kernel.add(7, "now", 3);
  InspectionAnswer then;
  then.holders = {{.pid = 9, .command = "then", .user = "", .group = "", .name = "", .count = 1, .bytes = {}}};
  kernel.tables["who_files"] = write_answer(then);
  const auto answer = answer_of(kernel, *find_inspection("files"));
  ASSERT_TRUE(answer);
  EXPECT_EQ(holders_text(*answer), "9 then 1");
  EXPECT_EQ(answer->question, "files");
  kernel.tables["who_files"] = "damaged";
  EXPECT_EQ(answer_of(kernel, *find_inspection("files")).error().code, ErrorCode::kData);
  kernel.tables.clear();
  EXPECT_EQ(holders_text(answer_of(kernel, *find_inspection("files")).value()), "7 now 3");
}

TEST(Owners, TheGroupThatIsChargedIsOfTheMemoryControllerOrOfVersionTwo) {
  EXPECT_EQ(group_of("0::/a/b\n"), "/a/b");
  EXPECT_EQ(group_of("9:name=systemd:/s\n4:cpu,memory:/m:1\n0::/u\n"), "/m:1");
  EXPECT_EQ(group_of("4:cpu,memoryless:/m\n"), "");
  EXPECT_EQ(group_of("garbage"), "");
}

TEST(Owners, UsersAreThoseOfThePasswordFile) {
  constexpr std::string_view kPasswd = "root:x:0:0:root:/root:/bin/sh\n:x:7:\nbroken\nwww:x:33:33::/:";
  EXPECT_EQ(user_of(kPasswd, "33"), "www");
  EXPECT_EQ(user_of(kPasswd, "7"), "");
  EXPECT_EQ(user_of(kPasswd, ""), "");
  EXPECT_EQ(user_of("", "0"), "");
}

TEST(Processes, StatusOfAThreadOfTheKernelOrACutOneIsNone) {
  constexpr std::string_view kStatus = "Name:\tx y\nUid:\t0\t0\nFDSize:\t64\nVmSize:\t 1 kB\nVmPTE:\t 3 kB\n";
  EXPECT_EQ(parse_status(kStatus, "VmPTE")->bytes, 3072U);
  EXPECT_EQ(parse_status(kStatus, "VmPTE")->command, "x y");
  EXPECT_FALSE(parse_status(kStatus.substr(0, 30), "VmPTE"));
  EXPECT_FALSE(parse_status("", "VmPTE"));
}

}  // namespace
}  // namespace memstat
