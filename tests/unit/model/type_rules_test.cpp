// SPDX-License-Identifier: BSD-2-Clause
#include "core/model/type_rules.h"

#include "tests/support/test.h"

namespace memstat {
namespace {

TEST(TypeRules, ZonesOfUmaWithASecondWayFailRoutinely) {
  for (const char* const zone : {"64 Bucket", "vm pgcache", "vmem btag"})
    EXPECT_TRUE(fails_routinely(Allocator::kUma, zone));
  EXPECT_FALSE(fails_routinely(Allocator::kUma, "mbuf"));
  EXPECT_FALSE(fails_routinely(Allocator::kSlab, "64 Bucket"));
}

TEST(TypeRules, ContainersShowMemoryThatOthersShowInParts) {
  EXPECT_TRUE(is_container(Allocator::kPage, "0/Normal"));
  EXPECT_TRUE(is_container(Allocator::kMemcg, "/"));
  EXPECT_TRUE(is_container(Allocator::kTable, "kmem"));
  EXPECT_TRUE(is_container(Allocator::kTable, "swap_reservations"));
  EXPECT_FALSE(is_container(Allocator::kTable, "files"));
  EXPECT_TRUE(is_container(Allocator::kUma, "malloc-64"));
  EXPECT_FALSE(is_container(Allocator::kSlab, "malloc-64"));
}

}  // namespace
}  // namespace memstat
