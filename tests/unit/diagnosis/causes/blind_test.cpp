// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include "tests/support/evidence.h"

namespace memstat::causes::blind {
namespace {

TEST(Blind, ReportsFailedSourcesButNotThoseWithoutPermission) {
  EvidenceOfMachine machine;
  machine.evidence.sources.push_back({.name = "linux_slabinfo", .error = "", .needs = "root", .is_down = false});
  EXPECT_EQ(machine.words(), "");
  machine.evidence.sources.push_back({.name = "linux_page", .error = "timeout", .needs = "", .is_down = true});
  EXPECT_EQ(machine.words(), "notable source_down");
}

}  // namespace
}  // namespace memstat::causes::blind
