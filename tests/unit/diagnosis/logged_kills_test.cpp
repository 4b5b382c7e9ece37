// SPDX-License-Identifier: BSD-2-Clause
#include "core/diagnosis/logged_kills.h"

#include <gtest/gtest.h>

namespace memstat {
namespace {

KillEvidence logged_kill(std::string_view group, double seconds_ago, double bytes = 1) {
  return {.command = "victim",
          .constraint = "memcg",
          .group = std::string(group),
          .limit_group = std::string(group),
          .program_bytes = bytes,
          .is_of_group = true,
          .seconds_ago = seconds_ago};
}

TEST(LoggedKills, AreRecentWithinTheWindowAndALittleMore) {
  Evidence evidence;
  evidence.recent_seconds = 60;
  evidence.kills = {logged_kill("/a", 66, 100), logged_kill("/b", 64, 20), logged_kill("/b/c", 1, 3)};
  EXPECT_FALSE(is_recent_kill(evidence, evidence.kills[0]));
  EXPECT_TRUE(is_recent_kill(evidence, evidence.kills[1]));
  EXPECT_EQ(logged_groups(evidence, "/"), (std::vector<std::string_view>{"/b/c", "/b"})) << "the newest first";
  EXPECT_EQ(logged_groups(evidence, "/b/c"), std::vector<std::string_view>{"/b/c"});
  EXPECT_EQ(released_by_kills(evidence), 23);
}

TEST(LoggedKills, OfAnUnnamedGroupAreTheVictimsOfAGroupThatHasNoOther) {
  Evidence evidence;
  evidence.recent_seconds = 60;
  evidence.kills = {logged_kill("/a", 3), logged_kill("", 2)};
  EXPECT_EQ(last_victim(evidence, true, "/a"), &evidence.kills[0]);
  EXPECT_EQ(last_victim(evidence, true, "/b"), &evidence.kills[1]);
  EXPECT_EQ(last_victim(evidence, false), nullptr) << "none is of the machine";
  EXPECT_TRUE(is_in_unnamed_group(evidence, evidence.kills[1]));
  EXPECT_FALSE(is_in_unnamed_group(evidence, evidence.kills[0]));
}

TEST(LoggedKills, ThatWereRequestedHaveNoVictim) {
  Evidence evidence;
  evidence.recent_seconds = 60;
  evidence.kills = {logged_kill("/a", 3)};
  evidence.kills[0].is_requested = true;
  EXPECT_EQ(last_victim(evidence, true), nullptr);
  EXPECT_EQ(requested_kills(evidence), 1U);
}

}  // namespace
}  // namespace memstat
