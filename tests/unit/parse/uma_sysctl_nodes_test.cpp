// SPDX-License-Identifier: BSD-2-Clause
#include "core/parse/uma_sysctl_nodes.h"

#include "tests/support/test.h"

namespace memstat {
namespace {

constexpr std::size_t kNone = kNoUmaSysctlNode;

TEST(NumberOfUmaSysctlNode, IsZeroForAUniqueName) {
  EXPECT_EQ(number_of_zone_node("mbuf", "mbuf"), 0U);
  EXPECT_EQ(number_of_zone_node("malloc-16", "malloc_16"), 0U);
  EXPECT_EQ(number_of_zone_node("vm pgcache", "vm_pgcache"), 0U);
  EXPECT_EQ(number_of_zone_node("a.b/c\\d e-f_g", "a_b_c_d_e_f_g"), 0U);
  EXPECT_EQ(number_of_zone_node("", ""), 0U);
}

TEST(NumberOfUmaSysctlNode, IsWhatTheKernelAppendsToOlderOnes) {
  EXPECT_EQ(number_of_zone_node("vm pgcache", "vm_pgcache_1"), 1U);
  EXPECT_EQ(number_of_zone_node("mbuf", "mbuf_4294967295"), 4294967295U);
  for (const char* other : {"mbuf_", "mbuf_0", "mbuf_01", "mbuf_-1", "mbuf_x", "mbuf_1x", "mbuf_4294967296", "mbuf1", "mbu",
                            "", "Mbuf", "mbuf_packet", "mbuf.1"}) {
    EXPECT_EQ(number_of_zone_node("mbuf", other), std::nullopt) << other;
  }
  EXPECT_EQ(number_of_zone_node("a b", "a b"), std::nullopt) << "no node has a blank";
}

TEST(NumberOfUmaSysctlNode, FollowsTheEndOfATruncatedName) {
  const std::string cut = "a name of thirty-one characters";
  ASSERT_EQ(cut.size(), kMaxZoneNameSize);
  EXPECT_EQ(number_of_zone_node(cut, "a_name_of_thirty_one_characters"), 0U);
  EXPECT_EQ(number_of_zone_node(cut, "a_name_of_thirty_one_characters_and_more"), 0U);
  EXPECT_EQ(number_of_zone_node(cut, "a_name_of_thirty_one_characters_and_more_2"), 2U);
  EXPECT_EQ(number_of_zone_node(cut, "a_name_of_thirty_one_character"), std::nullopt);
}

TEST(UmaSysctlNodes, AreThoseOfTheirNames) {
  const ListedZone zones[] = {{"b-16", 16, true}, {"a", 8, true}, {"cache", 4096, false}};
  const UmaSysctlNode nodes[] = {{"a", "a", 8, true}, {"b_16", "b-16", 16, true}, {"cache", "cache zone", 4096, false}};
  EXPECT_THAT(match_zone_nodes(zones, nodes), ElementsAre(1, 0, 2));
  EXPECT_THAT(match_zone_nodes(zones, std::span(nodes).first(1)), ElementsAre(kNone, 0, kNone));
  EXPECT_THAT(match_zone_nodes({}, nodes), ElementsAre());
}

TEST(UmaSysctlNodes, OfOneNameGoByAgeAndTheStreamHasTheYoungestFirst) {
  const ListedZone zones[] = {{"x", 1, true}, {"y", 9, true}, {"x", 2, true}, {"x", 3, true}};
  const UmaSysctlNode nodes[] = {{"x", "x", 3, true}, {"x_2", "x", 2, true}, {"x_10", "x", 1, true}, {"y", "y", 9, true}};
  EXPECT_THAT(match_zone_nodes(zones, nodes), ElementsAre(2, 3, 1, 0));
}

TEST(UmaSysctlNodes, AreNotGuessedWhereSizesOrNumbersDiffer) {
  const ListedZone zones[] = {{"x", 1, true}, {"x", 2, true}, {"y", 5, true}};
  const UmaSysctlNode swapped[] = {{"x", "x", 1, true}, {"x_1", "x", 2, true}, {"y", "y", 5, true}};
  EXPECT_THAT(match_zone_nodes(zones, swapped), ElementsAre(kNone, kNone, 2));
  const UmaSysctlNode fewer[] = {{"x_1", "x", 1, true}, {"y", "y", 6, true}};
  EXPECT_THAT(match_zone_nodes(zones, fewer), ElementsAre(kNone, kNone, kNone));
  const UmaSysctlNode no_keg[] = {{"y", "cache zone", 5, false}};
  EXPECT_THAT(match_zone_nodes(zones, no_keg), ElementsAre(kNone, kNone, kNone));
}

// The stream has all zones with a keg before all cache zones, whatever their age.
TEST(UmaSysctlNodes, WithAndWithoutAKegAreDistinguished) {
  const ListedZone zones[] = {{"x", 1, true}, {"x", 2, false}, {"x", 3, false}};
  const UmaSysctlNode nodes[] = {{"x", "cache zone", 3, false}, {"x_1", "x", 1, true}, {"x_2", "cache zone", 2, false}};
  EXPECT_THAT(match_zone_nodes(zones, nodes), ElementsAre(1, 2, 0));
}

TEST(UmaSysctlNodes, OfARecordingMayBeIndistinguishable) {
  const ListedZone zones[] = {{"x", 1, true}, {"x", 2, false}, {"y", 5, true}};
  const UmaSysctlNode nodes[] = {{.name = "x"}, {.name = "x_1"}, {.name = "y"}};
  EXPECT_THAT(match_zone_nodes(zones, nodes), ElementsAre(1, 0, 2));
}

// The kernel shows one of them only, the older one.
TEST(UmaSysctlNodes, OfNamesThatCollideAreThoseOfTheOneThatIsShown) {
  const ListedZone zones[] = {{"a b", 1, true}, {"a-b", 2, true}};
  const UmaSysctlNode nodes[] = {{"a_b", "a-b", 2, true}};
  EXPECT_THAT(match_zone_nodes(zones, nodes), ElementsAre(kNone, 0));
  const UmaSysctlNode of_another[] = {{"a_b", "some other keg", 2, true}};
  EXPECT_THAT(match_zone_nodes(zones, of_another), ElementsAre(kNone, kNone)) << "a secondary zone, either of them";
  const UmaSysctlNode cache[] = {{"a_b", "cache zone", 2, false}};
  EXPECT_THAT(match_zone_nodes(zones, cache), ElementsAre(kNone, kNone));
}

TEST(UmaSysctlNodes, ThatLookLikeASecondOneAreNotWhereItsNameHasAll) {
  const ListedZone zones[] = {{"a", 1, true}, {"a 1", 2, true}, {"a", 3, true}, {"a_2", 4, false}};
  const UmaSysctlNode nodes[] = {
      {"a", "a", 3, true}, {"a_1", "a 1", 2, true}, {"a_2", "cache zone", 4, false}, {"a_3", "a", 1, true}};
  EXPECT_THAT(match_zone_nodes(zones, nodes), ElementsAre(3, 1, 0, 2));
}

}  // namespace
}  // namespace memstat
