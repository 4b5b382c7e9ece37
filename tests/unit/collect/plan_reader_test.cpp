// SPDX-License-Identifier: BSD-2-Clause
#include "core/collect/plan_reader.h"

#include "core/collect/reuse.h"

#include "tests/support/fake_kernel_view.h"
#include "tests/support/manual_clock.h"
#include "tests/support/prepared_kernel_view.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

constexpr PlannedFile kPlan[] = {
    {.path = "/needed", .need = ReadNeed::kRequired, .is_kept_open = true},
    {.path = "/count"},
    {.path = "/setting", .time = ReadTime::kSeldom},
    {.path = "/extra", .need = ReadNeed::kExtra},
};

class PlanReader : public testing::Test {
 protected:
  PlanReader() {
    view_.set_clock(clock_);
    view_.set_live(true);
    for (const char* path : {"/needed", "/count", "/setting", "/extra"}) view_.set(path, path + 1);
  }
  /// The contents of the files after a read, "-" for a file without one, or the error.
  std::string next() {
    const auto result = read_plan(view_, kPlan, raw_, state_);
    if (!result) return to_string(result.error());
    std::string words;
    for (const RawFile& file : raw_.files) {
      words += (words.empty() ? "" : " ") + (file.has_content() ? std::string(file.bytes.view()) : "-");
    }
    return words;
  }
  [[nodiscard]] const RawFile& file(std::size_t planned) const { return *raw_.file(planned); }

  ManualClock clock_;
  FakeKernelView view_{OperatingSystem::kLinux};
  RawBytes raw_;
  ReaderState state_;
};

TEST_F(PlanReader, ReadsSeldomFilesAtEveryFourthRead) {
  EXPECT_EQ(next(), "needed count setting extra");
  view_.set("/count", "2");
  view_.set("/setting", "3");
  for (std::uint32_t age = 1; age < kSeldomReads; ++age) {
    EXPECT_EQ(next(), "needed 2 setting extra");
    EXPECT_EQ(file(2).state, FileState::kRepeated);
    EXPECT_EQ(file(2).age_reads, age);
  }
  EXPECT_EQ(next(), "needed 2 3 extra");
  EXPECT_EQ(file(2).state, FileState::kRead);
  EXPECT_EQ(file(2).age_reads, 0U);
}

TEST_F(PlanReader, ReadsSeldomFilesAtLeastOnceAMinute) {
  next();
  view_.set("/setting", "3");
  clock_.advance(std::chrono::seconds(58));
  EXPECT_EQ(next(), "needed count setting extra");
  clock_.advance(std::chrono::seconds(1));
  EXPECT_EQ(next(), "needed count 3 extra");
}

TEST_F(PlanReader, ReadsEverythingOfACaptureAndForARecording) {
  next();
  for (const bool is_live : {false, true}) {
    view_.set_live(is_live);
    view_.set_recorded(is_live);
    const int before = view_.reads_of("/setting");
    for (int i = 0; i < 3; ++i) next();
    EXPECT_EQ(view_.reads_of("/setting"), before + 3);
  }
}

TEST_F(PlanReader, LeavesOutAbsentAndRefusedFilesUntilTheyAreThere) {
  view_.fail("/count", ENOENT);
  view_.fail("/setting", EACCES);
  EXPECT_EQ(next(), "needed - - extra");
  EXPECT_EQ(file(1).state, FileState::kAbsent);
  EXPECT_EQ(file(2).state, FileState::kRefused);
  view_.set("/count", "2");
  view_.set("/setting", "3");
  for (std::uint32_t i = 1; i < kSeldomReads; ++i) EXPECT_EQ(next(), "needed - - extra");
  EXPECT_EQ(next(), "needed 2 3 extra");
}

TEST_F(PlanReader, FailsWithoutARequiredFile) {
  for (const int error : {ENOENT, EACCES, EIO, ENFILE}) {
    view_.fail("/needed", error);
    EXPECT_NE(next().find("/needed"), std::string::npos) << error;
  }
  view_.set("/needed", "1");
  EXPECT_EQ(next(), "1 count setting extra");
}

TEST_F(PlanReader, FailsAfterOtherErrorsUnlessTheFileIsExtra) {
  view_.fail("/extra", EIO);
  EXPECT_EQ(next(), "needed count setting -");
  view_.fail("/count", EIO);
  EXPECT_NE(next().find("/count"), std::string::npos);
}

TEST_F(PlanReader, KeepsSettingsWhereNoFileCanBeOpened) {
  next();
  view_.fail("/count", ENFILE);
  view_.fail("/setting", ENFILE);
  clock_.advance(std::chrono::minutes(1));
  EXPECT_EQ(next(), "needed - setting extra");
  EXPECT_EQ(file(2).age_reads, 1U);
}

TEST_F(PlanReader, ReportsTheFirstErrorIfThereIsNoFile) {
  constexpr PlannedFile kOptional[] = {{.path = "/a"}, {.path = "/b"}};
  const auto result = read_plan(view_, kOptional, raw_, state_);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().path, "/a");
  EXPECT_EQ(result.error().code, ErrorCode::kNotPresent);
}

TEST_F(PlanReader, OpensWhatIsKeptAndAdvisesRoot) {
  EXPECT_TRUE(open_plan(view_, kPlan, raw_));
  view_.fail("/needed", EACCES);
  const auto result = open_plan(view_, kPlan, raw_);
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().detail.find("root"), std::string::npos);
}

/// Directories of pools, as sysfs has them.
class PoolsView final : public PreparedKernelView {
 public:
  PoolsView() : PreparedKernelView(OperatingSystem::kLinux) {
    for (const char* path : {"/pools/a/size", "/pools/a/free", "/pools/b/size", "/pools/b/free"})
      contents[path] = {path + 7};
  }
  Result<void> list_directory(std::string_view path, std::vector<std::string>& names) override {
    if (error != 0) return system_error(path, error);
    names = {"a", "b", "x"};
    return {};
  }
  int error = 0;
};

TEST_F(PlanReader, ReadsTheFilesOfAPatternByDirectory) {
  constexpr PlannedFile kPools[] = {{.path = "/pools/*/size"}, {.path = "/pools/*/free"}};
  PoolsView view;
  ASSERT_TRUE(read_plan(view, kPools, raw_, state_));
  std::string words;
  for (const RawFile& file : raw_.files) words += file.path + "=" + std::string(file.bytes.view()) + " ";
  EXPECT_EQ(words,
            "/pools/a/size=a/size /pools/a/free=a/free /pools/b/size=b/size /pools/b/free=b/free /pools/x/size= "
            "/pools/x/free= ");
  for (const int error : {EACCES, EIO}) {
    view.error = error;
    EXPECT_FALSE(open_plan(view, kPools, raw_)) << "only absence shows that there are none";
  }
  view.error = ENOENT;
  EXPECT_TRUE(open_plan(view, kPools, raw_));
  constexpr PlannedFile kRequired[] = {{.path = "/pools/*/size", .need = ReadNeed::kRequired}};
  EXPECT_EQ(open_plan(view, kRequired, raw_).error().code, ErrorCode::kNotPresent);
}

TEST(MaySkip, IsTrueExceptAtEveryNthReadOfThisMachine) {
  FakeKernelView view(OperatingSystem::kLinux);
  view.set_live(true);
  int fourths = 0;
  int sixteenths = 0;
  for (std::uint32_t reads = 0; reads < 32; ++reads) {
    fourths += may_skip(view, reads) ? 0 : 1;
    sixteenths += may_skip(view, reads, 16) ? 0 : 1;
  }
  EXPECT_EQ(fourths, 8);
  EXPECT_EQ(sixteenths, 2);
}

}  // namespace
}  // namespace memstat
