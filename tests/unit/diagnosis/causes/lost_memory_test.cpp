// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include "tests/support/evidence.h"

namespace memstat::causes::lost_memory {
namespace {

constexpr double kMiB = EvidenceOfMachine::kMiB;

TEST(LostMemory, TheMachineHasLessThanAtFirst) {
  EvidenceOfMachine machine;
  MetricEvidence& total = machine.metric("memstat_memory_total_bytes", 16384 * kMiB);
  total.change.since_start = -100 * kMiB;
  EXPECT_EQ(machine.words(), "") << "a driver took a little";
  total.change.since_start = -4000 * kMiB;
  EXPECT_EQ(machine.words(), "notable memory_lost");
  machine.evidence.available_bytes = 900 * kMiB;
  EXPECT_EQ(machine.words(), "wasteful memory_lost");
}

TEST(LostMemory, LockedMemoryIsNotCountedAgain) {
  EvidenceOfMachine machine;
  machine.metric("memstat_unevictable_bytes", 1700 * kMiB);
  EXPECT_EQ(machine.words(), "notable unevictable_memory");
  machine.metric("memstat_locked_bytes", 1600 * kMiB);
  EXPECT_EQ(machine.words(), "");
}

TEST(LostMemory, PinsOfATenthOfMemory) {
  EvidenceOfMachine machine;
  machine.metric("memstat_page_pins", 4 * kMiB / 4);
  EXPECT_EQ(machine.words(), "notable pinned_memory");
  machine.evidence.metrics[0].value = 1000;
  EXPECT_EQ(machine.words(), "");
}

TEST(LostMemory, PinsAreOfPagesOfThisMachineAndNeverMoreThanAll) {
  EvidenceOfMachine machine;
  machine.metric("memstat_page_pins", 16000);
  EXPECT_EQ(machine.words(), "");
  machine.evidence.page_bytes = 65536;
  EXPECT_EQ(machine.find().at(0).headline, "Devices have pinned up to 1000 MiB of memory");
  machine.evidence.metrics[0].value = 1e6;
  EXPECT_EQ(machine.find().at(0).headline, "Devices have pinned up to 16 GiB of memory");
}

TEST(LostMemory, PinsAreOfAGroupThatHasAsMuchMemory) {
  EvidenceOfMachine machine;
  machine.metric("memstat_page_pins", 2 * EvidenceOfMachine::kGiB / 4096);
  machine.metric("memstat_memcg_anonymous_bytes", EvidenceOfMachine::kGiB, {"/db.service"});
  EXPECT_TRUE(machine.find().at(0).who.empty()) << "it has less than is pinned";
  machine.metric("memstat_memcg_anonymous_bytes", 3 * EvidenceOfMachine::kGiB, {"/vm.scope"});
  EXPECT_EQ(machine.find().at(0).who.at(0).name, "/vm.scope");
}

}  // namespace
}  // namespace memstat::causes::lost_memory
