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

TEST(Inspection, StopsAtTenThousandObjectsAndReportsIt) {
  ProcessKernel kernel;
  for (std::uint64_t pid = 1; pid <= 11'000; ++pid) kernel.add(pid, "many", 0, "", "VmLck:\t 4 kB\n");
  const InspectionAnswer answer = answer_of(kernel, "locked");
  EXPECT_TRUE(answer.is_cut);
  EXPECT_EQ(answer.looked_at, 10'000U);
  EXPECT_EQ(answer.holders.size(), kMaxHolders);
  EXPECT_EQ(answer.unlisted, 10'000 - kMaxHolders);
}

TEST(Inspection, StopsWhenItsTimeIsUpAndHasTheLargestFirst) {
  ProcessKernel kernel;
  for (std::uint64_t pid = 1; pid <= 50; ++pid) kernel.add(pid, "small", 1);
  kernel.add(60, "large", 40);
  kernel.ns_per_read = 2'000'000;
  const InspectionAnswer answer = answer_of(kernel, "pipes");
  EXPECT_TRUE(answer.is_cut);
  EXPECT_EQ(holders_text(answer_of(kernel, "files")).substr(0, 11), "60 large 40");
  kernel.ns_per_read = 0;
  EXPECT_FALSE(answer_of(kernel, "pipes").is_cut);
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
  answer.holders = {{.pid = 7, .command = "x", .user = "u", .group = "/g", .name = "", .count = 3, .bytes = {}},
                    {.pid = 0, .command = "", .user = "", .group = "", .name = "/tmp", .count = {}, .bytes = UINT64_MAX}};
  const std::string text = write_answer(answer);
  InspectionAnswer read;
  ASSERT_TRUE(read_answer(text, read));
  EXPECT_TRUE(read.is_cut);
  EXPECT_EQ(read.holders, answer.holders);
  for (std::size_t size = 0; size + 1 < text.size(); ++size) EXPECT_FALSE(read_answer(text.substr(0, size), read)) << size;
  EXPECT_FALSE(read_answer(text + "x", read));
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
