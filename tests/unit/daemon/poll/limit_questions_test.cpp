// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/poll/limit_questions.h"

#include <algorithm>
#include <string>
#include <vector>

#include "core/diagnosis/culprits.h"
#include "tests/support/evidence.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

constexpr std::int64_t kOneSecondNs = 1'000'000'000;
constexpr std::int64_t kMillisecondNs = 1'000'000;

/// A machine with tables of files and threads, polled each ten seconds.
class LimitQuestionsTest : public testing::Test {
 protected:
  LimitQuestionsTest() {
    machine_.limited(Allocator::kTable, "files", 1000, 1e6);
    machine_.limited(Allocator::kTable, "threads", 200, 7000);
  }
  /// Polls for that long. Returns the questions, each answered before the next poll; a question may be cut.
  std::vector<std::string> poll(std::int64_t seconds, std::string_view cut = {}, std::int64_t cpu_ns = kMillisecondNs) {
    std::vector<std::string> asked;
    for (const std::int64_t end_ns = now_ns_ + seconds * kOneSecondNs; now_ns_ < end_ns; now_ns_ += 10 * kOneSecondNs) {
      const Inspection* const question = questions_.next(machine_.evidence, machine_.find(), now_ns_);
      if (question == nullptr) continue;
      questions_.asked(*question, machine_.evidence, now_ns_);
      asked.emplace_back(question->name);
      EXPECT_TRUE(questions_.take(reply(question->name, question->name == cut, cpu_ns), now_ns_));
      machine_.evidence.limits = questions_.answers();
    }
    return asked;
  }
  static InspectionChannel::Reply reply(std::string_view name, bool is_cut, std::int64_t cpu_ns,
                                        std::vector<Holder> holders = {}) {
    InspectionAnswer answer = answer_to(name, std::move(holders));
    answer.is_cut = is_cut;
    return {find_inspection(name), std::move(answer), cpu_ns};
  }
  static std::ptrdiff_t times(const std::vector<std::string>& asked, std::string_view question) {
    return std::count(asked.begin(), asked.end(), question);
  }

  EvidenceOfMachine machine_;
  LimitQuestions questions_{OperatingSystem::kLinux};
  std::int64_t now_ns_ = 0;
};

TEST_F(LimitQuestionsTest, ACalmMachineIsAskedEachQuestionOnceInFiveMinutes) {
  const std::vector<std::string> asked = poll(300);
  const std::vector<std::string_view> all = questions_about_limits();
  EXPECT_THAT(all, testing::UnorderedElementsAre("files", "maps", "user-tasks", "quotas", "mounts", "message-queues",
                                                 "zombies", "inotify", "watches"));
  EXPECT_THAT(asked, testing::UnorderedElementsAreArray(all));
  EXPECT_EQ(poll(300), asked) << "in the same order";
  EXPECT_EQ(questions_.answers()->size(), all.size());
}

TEST_F(LimitQuestionsTest, AQuestionThatTookAllOfItsTimeIsAskedAgainAfterHalfAnHour) {
  EXPECT_EQ(times(poll(1800, "maps"), "maps"), 1);
  EXPECT_EQ(times(poll(1800, "maps"), "maps"), 1);
}

TEST_F(LimitQuestionsTest, WhatGrowsIsAskedAboutAtTheNextPolls) {
  (void)poll(300);
  machine_.evidence.types[1].objects = 200 + LimitQuestions::kMinGain;
  EXPECT_THAT(poll(30), testing::UnorderedElementsAre("files", "user-tasks", "zombies")) << "files are due";
  EXPECT_EQ(times(poll(250), "zombies"), 0) << "it has stopped growing";
}

TEST_F(LimitQuestionsTest, SmallMovesOfALargeTableAreNoHint) {
  machine_.evidence.types[0].objects = 64000;
  (void)poll(300);
  machine_.evidence.types[0].objects = 64900;
  EXPECT_THAT(poll(20), testing::ElementsAre("files")) << "which are due";
}

TEST_F(LimitQuestionsTest, AFindingThatRestsOnAnAnswerIsCheckedAgainSoon) {
  (void)poll(300);
  Holder full;
  full.pid = 7;
  full.count = full.limit = 1024;
  const Inspection& files = *find_inspection("files");
  questions_.asked(files, machine_.evidence, now_ns_);
  EXPECT_TRUE(questions_.take(reply("files", false, 0, {full}), now_ns_));
  machine_.evidence.limits = questions_.answers();
  ASSERT_EQ(machine_.words(), "now process_files_full");
  EXPECT_EQ(times(poll(60), "files"), 1) << "answered that it is over";
  EXPECT_EQ(machine_.words(), "");
}

TEST_F(LimitQuestionsTest, AllQuestionsTogetherUseHalfAPercentOfACpu) {
  constexpr std::int64_t kCpuNs = 200 * kMillisecondNs;
  std::size_t asked = 0;
  for (int i = 0; i < 60; ++i) {
    for (TypeEvidence& table : machine_.evidence.types) table.objects = *table.objects + 100;  // all are urgent
    asked += poll(10, {}, kCpuNs).size();
  }
  EXPECT_GT(asked, 10U);
  EXPECT_LE(static_cast<double>(asked) * kCpuNs, 0.005 * 600 * kOneSecondNs + kCpuNs);
}

TEST_F(LimitQuestionsTest, UrgentQuestionsDoNotKeepOthersFromTheirTurn) {
  std::vector<std::string> asked;
  for (int i = 0; i < 60; ++i) {
    for (TypeEvidence& table : machine_.evidence.types) table.objects = *table.objects + 100;
    const auto more = poll(10);
    asked.insert(asked.end(), more.begin(), more.end());
  }
  EXPECT_GE(times(asked, "maps"), 2);
  EXPECT_GE(times(asked, "watches"), 2);
  EXPECT_GT(times(asked, "files"), 5);
}

TEST_F(LimitQuestionsTest, OneQuestionIsAskedAtATimeAndALostReplyIsNotAwaited) {
  const Inspection* const first = questions_.next(machine_.evidence, {}, 0);
  ASSERT_NE(first, nullptr);
  questions_.asked(*first, machine_.evidence, 0);
  EXPECT_EQ(questions_.next(machine_.evidence, {}, LimitQuestions::kMaxReplyNs - 1), nullptr);
  const Inspection* const second = questions_.next(machine_.evidence, {}, LimitQuestions::kMaxReplyNs);
  ASSERT_NE(second, nullptr);
  EXPECT_NE(second, first);
  EXPECT_FALSE(questions_.take(reply(first->name, false, 0), LimitQuestions::kMaxReplyNs)) << "too late";
}

TEST_F(LimitQuestionsTest, AFailureRemovesTheAnswer) {
  (void)poll(300);
  const Inspection& files = *find_inspection("files");
  questions_.asked(files, machine_.evidence, now_ns_);
  EXPECT_TRUE(questions_.take({&files, Error{.code = ErrorCode::kPermission}, 0}, now_ns_));
  EXPECT_EQ(questions_.answers()->size(), questions_about_limits().size() - 1);
  EXPECT_EQ(times(poll(290), "files"), 0);
  EXPECT_EQ(times(poll(30), "files"), 1);
}

}  // namespace
}  // namespace memstat
