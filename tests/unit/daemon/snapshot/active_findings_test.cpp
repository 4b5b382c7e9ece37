// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/snapshot/active_findings.h"

#include <string>
#include <vector>

#include "core/model/field.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

constexpr std::int64_t kSecondNs = 1'000'000'000;

Finding finding(std::string cause, Severity severity, Certainty certainty = Certainty::kLikely,
                std::string type = "dentry") {
  Finding one{.cause = std::move(cause), .severity = severity, .certainty = certainty, .headline = "dentry is large"};
  one.is_about("slab", type).by("process", "find (pid 7)").then("slabtop -o");
  return one;
}

/// Polls each ten seconds, after a first poll without findings.
class ActiveFindingsTest : public testing::Test {
 protected:
  ActiveFindingsTest() { poll({}); }
  void poll(const std::vector<Finding>& findings) { active_.update(findings, now_ns_ += 10 * kSecondNs); }
  void polls(int count, const std::vector<Finding>& findings) {
    for (int i = 0; i < count; ++i) poll(findings);
  }
  /// "CAUSE OBJECT LEVEL", a line for each listed finding.
  [[nodiscard]] std::string listed() const {
    std::string lines;
    for (const ActiveFindings::Entry& entry : active_.entries()) {
      if (entry.is_listed) lines += entry.cause + " " + entry.object + " " + std::to_string(entry.level) + "\n";
    }
    return lines;
  }
  ActiveFindings active_;
  std::int64_t now_ns_ = 0;
};

TEST_F(ActiveFindingsTest, AFindingIsActiveFromTheSecondPollInARowThatHasIt) {
  poll({finding("slab_large", Severity::kWasteful)});
  EXPECT_EQ(listed(), "");
  poll({});
  poll({finding("slab_large", Severity::kWasteful)});
  EXPECT_EQ(listed(), "") << "the poll before did not have it";
  poll({finding("slab_large", Severity::kWasteful)});
  EXPECT_EQ(listed(), "slab_large slab/dentry 2\n");
  EXPECT_EQ(active_.entries()[0].headline, "dentry is large");
  EXPECT_EQ(active_.entries()[0].culprit, "process find (pid 7)");
  EXPECT_EQ(active_.entries()[0].next, "slabtop -o");
}

TEST_F(ActiveFindingsTest, TheSettingOfALimitIsOneOfTheCommandsIfThereIsRoom) {
  Finding full = finding("open_files_full", Severity::kNow, Certainty::kConfirmed);
  full.next = {"memstatctl who files", "memstatctl limits", "sysctl fs.file-max"};
  poll({full});
  EXPECT_EQ(active_.entries()[0].next, "memstatctl who files; sysctl fs.file-max");
  full.cause = "other";
  full.next[0] = std::string(ActiveFindings::kMaxText - 10, 'x');
  poll({full});
  EXPECT_EQ(active_.entries()[1].next, full.next[0]);
  full.cause = "setting";
  full.next = {"sysctl a", "sysctl b"};
  poll({full});
  EXPECT_EQ(active_.entries()[2].next, "sysctl a");
}

TEST_F(ActiveFindingsTest, ReportsWhatBeganAndSince) {
  const std::vector<Finding> both{finding("oom_kill", Severity::kNow, Certainty::kConfirmed),
                                  finding("slab_large", Severity::kWasteful)};
  active_.update(both, now_ns_ += 10 * kSecondNs, 1'795'921'812 * kSecondNs);
  EXPECT_THAT(active_.begun(), testing::ElementsAre(0U)) << "the other is not confirmed yet";
  EXPECT_EQ(active_.entries()[0].since, "2026-11-29 03:10:12 UTC");
  active_.update(both, now_ns_ += 10 * kSecondNs, 1'795'921'822 * kSecondNs);
  EXPECT_THAT(active_.begun(), testing::ElementsAre(1U));
  EXPECT_EQ(active_.entries()[0].since, "2026-11-29 03:10:12 UTC");
  EXPECT_EQ(active_.entries()[1].since, "2026-11-29 03:10:22 UTC");
  poll(both);
  EXPECT_TRUE(active_.begun().empty());
}

TEST_F(ActiveFindingsTest, RewordsOnceItIsKnownWhoHoldsIt) {
  Finding unnamed = finding("slab_large", Severity::kWasteful);
  unnamed.who.clear();
  unnamed.unnamed = "being asked";
  polls(2, {unnamed});
  EXPECT_EQ(active_.entries()[0].culprit, "being asked");
  poll({finding("slab_large", Severity::kWasteful)});
  EXPECT_EQ(active_.entries()[0].culprit, "being asked") << "the label changes rarely";
  active_.reword();
  poll({finding("slab_large", Severity::kWasteful)});
  EXPECT_EQ(active_.entries()[0].culprit, "process find (pid 7)");
}

TEST_F(ActiveFindingsTest, AConfirmedFindingIsActiveAtOnceAndSoIsOneOfTheFirstPoll) {
  poll({finding("oom_kill", Severity::kNow, Certainty::kConfirmed)});
  EXPECT_EQ(listed(), "oom_kill slab/dentry 4\n");
  ActiveFindings first;
  const Finding possible[] = {finding("slab_large", Severity::kNotable, Certainty::kPossible)};
  first.update(possible, kSecondNs);
  ASSERT_EQ(first.entries().size(), 1U);
  EXPECT_EQ(first.entries()[0].level, 1U);
}

TEST_F(ActiveFindingsTest, EndsFiveMinutesAfterTheLastPollThatHasIt) {
  polls(2, {finding("slab_large", Severity::kWasteful)});
  polls(29, {});
  EXPECT_EQ(listed(), "slab_large slab/dentry 2\n");
  poll({});
  EXPECT_EQ(listed(), "slab_large slab/dentry 0\n");
  polls(359, {});
  EXPECT_EQ(listed(), "slab_large slab/dentry 0\n");
  poll({});
  EXPECT_EQ(listed(), "") << "an hour after it ended";
}

TEST_F(ActiveFindingsTest, AWorseningFindingKeepsItsSeriesAndALevelFallsOnlyAfterFiveMinutes) {
  polls(2, {finding("table_full", Severity::kNotable)});
  poll({finding("table_full", Severity::kNow)});
  EXPECT_EQ(listed(), "table_full slab/dentry 1\n") << "one poll may be an accident";
  poll({finding("table_full", Severity::kNow)});
  EXPECT_EQ(listed(), "table_full slab/dentry 4\n");
  polls(29, {finding("table_full", Severity::kNotable)});
  EXPECT_EQ(listed(), "table_full slab/dentry 4\n");
  poll({finding("table_full", Severity::kNotable)});
  EXPECT_EQ(listed(), "table_full slab/dentry 1\n");
  EXPECT_EQ(active_.entries()[0].begun, 1U);
}

TEST_F(ActiveFindingsTest, AFindingThatComesAndGoesStaysActiveAndItsHeadlineSaysSo) {
  const std::vector<Finding> found{finding("swap_thrash", Severity::kNow, Certainty::kConfirmed)};
  for (int i = 0; i < 20; ++i) {  // 50 s with, 50 s without
    polls(5, found);
    polls(5, {});
    EXPECT_EQ(listed(), "swap_thrash slab/dentry 4\n");
  }
  EXPECT_EQ(active_.entries()[0].begun, 1U);
  EXPECT_EQ(active_.entries()[0].headline, "dentry is large (comes and goes)");
}

TEST_F(ActiveFindingsTest, FiguresInAHeadlineAreRenewedEveryTenMinutesOnly) {
  Finding growing = finding("slab_large", Severity::kWasteful);
  polls(2, {growing});
  growing.headline = "dentry is larger";
  polls(59, {growing});
  EXPECT_EQ(active_.entries()[0].headline, "dentry is large");
  poll({growing});
  EXPECT_EQ(active_.entries()[0].headline, "dentry is larger");
}

TEST_F(ActiveFindingsTest, ListsAtMostSixtyFourAndCountsTheRest) {
  std::vector<Finding> many;
  for (std::size_t i = 0; i < ActiveFindings::kMaxFindings + 6; ++i) {
    many.push_back(finding("full", Severity::kNow, Certainty::kConfirmed, "zone" + std::to_string(i)));
  }
  poll(many);
  EXPECT_EQ(active_.entries().size(), ActiveFindings::kMaxFindings);
  EXPECT_EQ(active_.dropped(), 6U);
  polls(30, {});
  poll({finding("full", Severity::kNow, Certainty::kConfirmed, "late")});
  EXPECT_EQ(active_.dropped(), 0U) << "one that has ended makes room";
  EXPECT_THAT(listed(), testing::HasSubstr("full slab/late 4\n"));
}

TEST_F(ActiveFindingsTest, TheObjectIsATypeAGroupAZoneOrAMountAndNeverAProcess) {
  EXPECT_EQ(object_of(Finding{}.is_about(to_string(Allocator::kMemcg), "/system.slice/a.service")),
            "/system.slice/a.service");
  EXPECT_EQ(object_of(Finding{}.by("process", "java (pid 3)").by("mount", "/dev/shm")), "/dev/shm");
  EXPECT_EQ(object_of(Finding{}.by("process", "java (pid 3)")), "");
  const std::string name(500, 'x');
  EXPECT_EQ(object_of(Finding{}.is_about("slab", name + "\n")).size(), ActiveFindings::kMaxText);
}

}  // namespace
}  // namespace memstat
