// SPDX-License-Identifier: BSD-2-Clause
// Headroom on handwritten amounts. tests/guests/headroom.py compares it with what programs really get.
#include "core/model/headroom.h"

#include <random>

#include "tests/support/staged_statistics.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

constexpr std::uint64_t kMiB = 1U << 20U;
using Words = std::initializer_list<std::pair<GroupTable::Word, std::uint64_t>>;
using enum GroupTable::Word;

class GroupHeadrooms : public testing::Test {
 protected:
  void SetUp() override { staging_.reset({}, 0); }
  /// A group and its amounts in MiB. The groups above it were added before.
  void add(const std::string& name, Words amounts) {
    staging_.merge(name);
    groups_.add();
    groups_.at(groups_.size() - 1, kSwapUsage) = 0;
    for (const auto& [word, amount] : amounts) groups_.at(groups_.size() - 1, word) = amount * kMiB;
  }
  /// "metric{labels}=MiB ..." of all groups.
  std::string words(HeadroomDoubt doubt = HeadroomDoubt::kNone) {
    stage_headrooms(groups_, machine_, doubt, staging_);
    std::string words;
    for (const auto& [key, bits] : statistics_of(staging_)) {
      words += (words.empty() ? "" : " ") + key.substr(std::string_view("memcg_headroom_").size());
      if (!key.starts_with("memcg_headroom_set_by") && !key.starts_with("memcg_headroom_uncertain")) {
        words += "=" + std::to_string(bits / kMiB);
      }
    }
    return words;
  }

  MachineRoom machine_{.room = {}, .swap = {.sure = 0, .possible = 0}};
  std::vector<std::uint64_t> storage_;
  GroupTable groups_{storage_};
  Staging staging_;
};

TEST_F(GroupHeadrooms, CleanCacheIsRoom) {
  add("/db", {{kLimit, 192}, {kUsage, 192}, {kClean, 96}});
  add("/free", {{kUsage, 10}, {kClean, 5}});
  EXPECT_EQ(words(), "bytes{/db,max}=96") << "none for a group without a limit";
}

TEST_F(GroupHeadrooms, TheTightestOfAllGroupsAboveDecides) {
  add("/pods", {{kLimit, 200}, {kUsage, 150}, {kClean, 10}});
  add("/other", {{kUsage, 10}});
  add("/pods/a", {{kLimit, 100}, {kUsage, 20}, {kClean, 0}});
  add("/pods/b", {{kLimit, 100}, {kUsage, 80}, {kClean, 0}});
  add("/pods/a/c", {{kUsage, 20}});
  EXPECT_EQ(words(),
            "bytes{/pods,max}=60 bytes{/pods/a,max}=60 bytes{/pods/a/c,max}=60 bytes{/pods/b,max}=20 "
            "set_by{/pods/a,max,/pods} set_by{/pods/a/c,max,/pods}");
}

TEST_F(GroupHeadrooms, TheMachineMayBeTighterButDoesNotSlowDown) {
  machine_.room = {.sure = 30 * kMiB, .possible = 32 * kMiB};
  add("/a", {{kLimit, 200}, {kHigh, 150}, {kUsage, 50}, {kClean, 0}});
  EXPECT_EQ(words(), "bytes{/a,high}=100 bytes{/a,max}=31 set_by{/a,max,machine}");
}

TEST_F(GroupHeadrooms, MuchReclaimableKernelMemoryIsUncertain) {
  add("/a", {{kLimit, 200}, {kUsage, 100}, {kClean, 0}, {kDoubtful, 8}});
  add("/b", {{kLimit, 200}, {kUsage, 100}, {kClean, 0}, {kDoubtful, 9}});
  add("/c", {{kLimit, 1000}, {kUsage, 100}, {kClean, 0}, {kDoubtful, 45}});
  EXPECT_EQ(words(),
            "bytes{/a,max}=104 bytes{/c,max}=922 "
            "uncertain{/b,max,kernel_memory}");
}

TEST_F(GroupHeadrooms, SwapIsRoomAsFarAsTheGroupMayUseIt) {
  machine_.swap = {.sure = 500 * kMiB, .possible = 500 * kMiB};
  add("/a", {{kLimit, 100}, {kUsage, 100}, {kClean, 0}});
  add("/b", {{kLimit, 100}, {kUsage, 100}, {kClean, 0}, {kSwapUsage, 20}, {kSwapMax, 50}});
  add("/c", {{kLimit, 100}, {kUsage, 100}, {kClean, 0}, {kBothUsage, 120}, {kBothMax, 130}});
  add("/d", {{kLimit, 100}, {kUsage, 100}, {kClean, 0}});
  groups_.at(3, kSwapUsage) = GroupTable::kNone;  // not read yet
  EXPECT_EQ(words(),
            "bytes{/a,max}=500 bytes{/b,max}=30 bytes{/c,max}=10 "
            "uncertain{/d,max,swap}");
}

TEST_F(GroupHeadrooms, SwapThatAGroupBelowMayNotUseIsUncertain) {
  machine_.swap = {.sure = 500 * kMiB, .possible = 500 * kMiB};
  add("/a", {{kLimit, 100}, {kUsage, 90}, {kClean, 0}});
  add("/a/b", {{kUsage, 20}, {kClean, 0}, {kSwapMax, 0}});
  EXPECT_EQ(words(), "bytes{/a,max}=510 uncertain{/a/b,max,swap}");
}

TEST_F(GroupHeadrooms, SwapInMemoryIsUncertain) {
  machine_.swap = {.sure = 0, .possible = 500 * kMiB};
  add("/a", {{kLimit, 100}, {kUsage, 90}, {kClean, 0}});
  EXPECT_EQ(words(), "uncertain{/a,max,swap}");
}

TEST_F(GroupHeadrooms, CacheWithinTheMinimumOfASiblingStays) {
  add("/a", {{kLimit, 200}, {kUsage, 200}, {kClean, 80}});
  add("/a/b", {{kUsage, 100}, {kClean, 80}, {kMin, 70}});
  add("/a/c", {{kUsage, 100}, {kClean, 0}});
  EXPECT_EQ(words(),
            "bytes{/a,max}=30 bytes{/a/b,max}=80 bytes{/a/c,max}=30 set_by{/a/b,max,/a} "
            "set_by{/a/c,max,/a}")
      << "20 MiB of the minimum are not cache; what /a/b allocates takes the place of its own";
}

TEST_F(GroupHeadrooms, WhatIsNotReadIsUncertain) {
  add("/a", {{kLimit, 100}, {kUsage, 90}});
  add("/b/c", {{kLimit, 100}, {kUsage, 10}, {kClean, 0}});
  EXPECT_EQ(words(), "uncertain{/a,max,not_read} uncertain{/b/c,max,not_read}");
}

TEST_F(GroupHeadrooms, BelowHiddenGroupsIsUncertain) {
  add("/", {{kLimit, 100}, {kUsage, 90}, {kClean, 0}});
  add("/a", {{kUsage, 9}, {kClean, 0}});
  EXPECT_EQ(words(HeadroomDoubt::kHidden), "uncertain{/,max,hidden_groups} uncertain{/a,max,hidden_groups}");
  EXPECT_NE(doubt_words("hidden_groups"), "");
  EXPECT_EQ(doubt_words("unknown"), "");
}

TEST_F(GroupHeadrooms, BoundsStayInOrderWhateverTheKernelReports) {
  std::mt19937_64 random(57);
  for (int round = 0; round < 2000; ++round) {
    storage_.clear();
    staging_.reset({}, 0);
    std::string name;
    for (int depth = 0; depth < 4; ++depth) {
      staging_.merge(name += "/g");
      groups_.add();
      for (const auto word : {kUsage, kLimit, kHigh, kBothUsage, kBothMax, kClean, kDoubtful, kMin, kSwapUsage, kSwapMax}) {
        if (random() % 3 != 0) groups_.at(groups_.size() - 1, word) = random() >> random() % 64;
      }
      groups_.at(groups_.size() - 1, kParent) = depth == 0 ? GroupTable::kNone : groups_.size() - 2;
    }
    const std::uint64_t swap = random() >> random() % 64;
    prepare_headrooms(groups_, kLimit, {.sure = swap / (1 + random() % 2), .possible = swap}, HeadroomDoubt::kNone);
    for (std::size_t row = 0; row < groups_.size(); ++row) {
      const Headroom headroom = headroom_of(groups_, row, kLimit, {});
      if (headroom.set_by == GroupTable::kNone) continue;
      EXPECT_LE(headroom.room.sure, headroom.room.possible);
      EXPECT_GE(headroom.room.middle(), headroom.room.sure);
      EXPECT_LE(headroom.room.middle(), headroom.room.possible);
      EXPECT_LE(headroom.set_by, row);
    }
  }
}

}  // namespace
}  // namespace memstat
