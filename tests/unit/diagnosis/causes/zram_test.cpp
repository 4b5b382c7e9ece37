// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include "tests/support/evidence.h"

namespace memstat::causes::zram {
namespace {

constexpr double kMiB = EvidenceOfMachine::kMiB;

TEST(Zram, IsFullAtTheLimitThatWasSet) {
  EvidenceOfMachine machine;
  machine.metric("memstat_zram_bytes", 900 * kMiB, {"zram0", "held"});
  EXPECT_EQ(machine.words(), "") << "no limit";
  machine.metric("memstat_zram_bytes", 980 * kMiB, {"zram0", "limit"});
  EXPECT_EQ(machine.words(), "wasteful zram_full");
}

TEST(Zram, FullExplainsWritesThatFail) {
  EvidenceOfMachine machine;
  machine.metric("memstat_zram_bytes", 980 * kMiB, {"zram0", "held"});
  machine.metric("memstat_zram_bytes", 980 * kMiB, {"zram0", "limit"});
  machine.moved("memstat_kernel_log_events_total", 20, {"paging_error"});
  EXPECT_EQ(machine.words(), "now zram_full");
}

TEST(Zram, OfPagesThatDoNotCompressIsWaste) {
  EvidenceOfMachine machine;
  const double held = 0.2 * machine.evidence.total_bytes;
  machine.part("zsmalloc", held);
  machine.metric("memstat_zram_bytes", held, {"zram0", "held"});
  MetricEvidence& original = machine.metric("memstat_zram_bytes", 3 * held, {"zram0", "original"});
  EXPECT_EQ(machine.words(), "");
  original.value = held;
  EXPECT_EQ(machine.words(), "wasteful compressed_large");
}

TEST(Zram, IsWhyMemoryIsLowAndSwapFull) {
  EvidenceOfMachine machine;
  machine.evidence.available_bytes = 0.004 * machine.evidence.total_bytes;
  machine.part("zsmalloc", 0.8 * machine.evidence.total_bytes);
  machine.metric("memstat_swap_total_bytes", 16 * EvidenceOfMachine::kGiB);
  machine.metric("memstat_swap_free_bytes", kMiB);
  ASSERT_EQ(machine.words(), "now compressed_large");
  EXPECT_EQ(machine.find()[0].explains.size(), 2U);
}

TEST(Zram, IsWhatGrowsUntilNoMemoryIsLeft) {
  EvidenceOfMachine machine;
  machine.evidence.available_bytes = EvidenceOfMachine::kGiB;
  machine.part("zsmalloc", 6 * EvidenceOfMachine::kGiB);
  machine.growing("account", "zsmalloc", 6 * EvidenceOfMachine::kGiB, 4 * EvidenceOfMachine::kGiB, 300).memory_seconds = 60;
  ASSERT_EQ(machine.words(), "soon compressed_large");
  EXPECT_EQ(machine.find()[0].seconds_left, 60);
}

}  // namespace
}  // namespace memstat::causes::zram
