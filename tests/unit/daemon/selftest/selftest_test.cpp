// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/selftest/selftest.h"

#include "tests/support/fake_kernel_view.h"
#include "tests/support/fake_sources.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

constexpr std::chrono::seconds kLong{60};
constexpr const char* kOfProc = "/proc/sys/kernel/ostype";

class SelfTestTest : public testing::Test {
 protected:
  void SetUp() override {
    view_->set(kFakeRosterFile, "one 1\ntwo 2\n");
    view_->set(kFakeContributorFile, "one 5\n");
    view_->set(kFakeSharedFile, "");
    view_->set(kOfProc, "");
  }
  [[nodiscard]] SelfTest run(unsigned user = 0, std::chrono::nanoseconds patience = kLong) const {
    return run_selftest(view_, sources_, patience, user);
  }

  const std::shared_ptr<FakeKernelView> view_ = std::make_shared<FakeKernelView>(OperatingSystem::kLinux);
  SourceDescriptor roster_ = fake_roster();
  SourceDescriptor contributor_ = fake_contributor();
  const std::vector<const SourceDescriptor*> sources_ = [this] {
    roster_.max_files = 17;
    contributor_.max_files = SourceDescriptor::kFilesVary;
    return std::vector<const SourceDescriptor*>{&contributor_, &roster_};
  }();
};

TEST_F(SelfTestTest, SourcesThatWorkSayHowManyTypesTheyHave) {
  const SelfTest test = run();
  ASSERT_EQ(test.trials.size(), 2U);
  EXPECT_EQ(test.trials[1].source, "z_roster");
  EXPECT_EQ(test.trials[1].health, SourceHealth::kWorks);
  EXPECT_EQ(test.trials[1].types, 2U);
  EXPECT_EQ(test.trials[1].reason + test.trials[1].advice, "");
  EXPECT_TRUE(test.is_healthy());
  EXPECT_THAT(selftest_text(test), HasSubstr("SOURCE         STATE          TYPES  FILES   WHERE, OR WHY NOT\n"));
  EXPECT_THAT(selftest_text(test), HasSubstr("z_roster       works          2      17      /fake/roster\n"));
  EXPECT_THAT(selftest_text(test), HasSubstr("Every source that this kernel has works."));
}

TEST_F(SelfTestTest, WithoutProcNothingIsSaidToWork) {
  view_->fail(kOfProc, ENOENT);
  const SelfTest test = run();
  EXPECT_FALSE(test.is_healthy());
  EXPECT_THAT(selftest_text(test), HasSubstr("\n  proc is not mounted at /proc, "));
  EXPECT_THAT(selftest_text(test), testing::EndsWith("\nWithout /proc, most sources of this kernel cannot be read.\n"));
}

TEST_F(SelfTestTest, AMissingPermissionSaysWhichAndWhatToDoForRootAndForOthers) {
  view_->fail(kFakeRosterFile, EACCES);
  const SelfTest as_user = run(1000);
  EXPECT_EQ(as_user.trials[1].health, SourceHealth::kNoPermission);
  EXPECT_THAT(as_user.trials[1].advice, HasSubstr("run it as root"));
  EXPECT_THAT(as_user.account, HasSubstr("user 1000, not root"));
  EXPECT_FALSE(as_user.is_healthy());
  const SelfTest as_root = run(0);
  EXPECT_THAT(as_root.trials[1].advice, HasSubstr("root may not read it here either"));
  EXPECT_EQ(as_root.account, "root");
  EXPECT_THAT(selftest_text(as_root), HasSubstr("What to do:\n  z_roster: root may not"));
}

TEST_F(SelfTestTest, WhatAddsValuesAndLacksAPrivilegeIsNotPermittedWhichIsNoFault) {
  contributor_.needs = "CAP_A,CAP_B";
  view_->fail(kFakeContributorFile, EPERM);
  const SelfTest test = run();
  EXPECT_EQ(test.trials[0].health, SourceHealth::kNotPermitted);
  EXPECT_EQ(test.trials[0].needs, "CAP_A,CAP_B");
  EXPECT_TRUE(test.is_healthy());
  EXPECT_THAT(selftest_text(test),
              HasSubstr("a_contributor  not permitted  -      varies  needs CAP_A,CAP_B: /fake/contributor: "));
  EXPECT_THAT(selftest_text(test), HasSubstr("works or is not permitted"));
}

TEST_F(SelfTestTest, TheReplacementOfARosterIsNotPermittedOnlyIfTheRosterWorks) {
  contributor_.replaces = "z_roster";
  contributor_.needs = "CAP_A";
  view_->fail(kFakeContributorFile, EPERM);
  EXPECT_TRUE(run().is_healthy());
  view_->fail(kFakeRosterFile, EPERM);
  const SelfTest test = run();
  EXPECT_EQ(test.trials[0].health, SourceHealth::kNoPermission);
  EXPECT_EQ(test.trials[0].needs, "CAP_A");
  EXPECT_FALSE(test.is_healthy());
}

TEST_F(SelfTestTest, AFailingSourceThatIsOffDoesNotWork) {
  roster_.is_on_by_default = false;
  view_->fail(kFakeRosterFile, EIO);
  const SelfTest test = run();
  EXPECT_EQ(test.trials[1].health, SourceHealth::kFails);
  EXPECT_TRUE(test.is_healthy());
  EXPECT_THAT(selftest_text(test),
              HasSubstr("Every source that is on by default works; of those that are off, some do not."));
  EXPECT_THAT(selftest_text(test), Not(HasSubstr("Every source that this kernel has works")));
}

TEST_F(SelfTestTest, DamageIsAFailureAndSoIsAnException) {
  view_->set(kFakeRosterFile, "one\n");
  view_->make_throw(kFakeContributorFile);
  const SelfTest test = run();
  EXPECT_EQ(test.trials[0].health, SourceHealth::kFails);
  EXPECT_EQ(test.trials[1].health, SourceHealth::kFails);
  EXPECT_THAT(test.trials[1].reason, HasSubstr("a line without two words"));
  EXPECT_FALSE(test.is_healthy());
}

TEST_F(SelfTestTest, AHangingKernelDelaysOnlyOneSource) {
  view_->block(kFakeContributorFile);
  const SelfTest test = run(0, std::chrono::milliseconds(1));
  EXPECT_EQ(test.trials[0].health, SourceHealth::kStuck);
  EXPECT_FALSE(test.is_healthy());
  view_->release(kFakeContributorFile);
  EXPECT_TRUE(eventually([&] { return view_.use_count() == 1; })) << "its thread ends with the read";
}

TEST(SelfTestLive, EverySourceOfThisSystemHasARow) {
  const Result<SelfTest> test = test_this_machine();
  if (!test) GTEST_SKIP() << "no view of this system's kernel: " << to_string(test.error());
  EXPECT_GT(test->trials.size(), 3U);
  for (const SourceTrial& trial : test->trials) {
    EXPECT_NE(trial.health, SourceHealth::kStuck) << trial.source;
    EXPECT_EQ(trial.reason.empty(), trial.health == SourceHealth::kWorks) << trial.source;
  }
  EXPECT_THAT(selftest_text(*test), Not(HasSubstr("\n\n\n")));
}

}  // namespace
}  // namespace memstat
