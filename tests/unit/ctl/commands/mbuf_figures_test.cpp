// SPDX-License-Identifier: BSD-2-Clause
// Each formula with figures that are distinct powers of ten, so that a wrong or missing term shows as a wrong digit.
#include "daemon/ctl/commands/reports.h"

#include "tests/support/test.h"

namespace memstat::ctl {
namespace {

MbufZones zones() {
  MbufZones zones;
  zones.mbuf = {.count = 1, .free = 10, .bytes = 3, .size = 7};
  zones.packet = {.count = 100, .free = 1000, .bytes = 30};
  zones.cluster = {.count = 20000, .free = 100000, .size = 1};
  return zones;
}

TEST(MbufFigures, PacketsHoldMbufsAndClusters) {
  const Amount mbufs = mbufs_of(zones());
  EXPECT_EQ(mbufs.current, 101U);
  EXPECT_EQ(mbufs.cache, 1010U);
  EXPECT_EQ(mbufs.total, 1111U);
  const Amount clusters = clusters_of(zones());
  EXPECT_EQ(clusters.current, 19000U) << "clusters of cached packets are not in use";
  EXPECT_EQ(clusters.cache, 101000U);
  EXPECT_EQ(clusters.total, 120000U);
  const Amount jumbos = jumbos_of({.count = 5, .free = 60});
  EXPECT_EQ(jumbos.current, 5U);
  EXPECT_EQ(jumbos.cache, 60U);
  EXPECT_EQ(jumbos.total, 65U);
}

TEST(MbufFigures, BytesAreOfEveryZoneAndTheTags) {
  MbufZones some = zones();
  EXPECT_EQ(bytes_of(some).current, 3U + 30U + 100U + (20000U - 100U - 1000U));
  EXPECT_EQ(bytes_of(some).cache, 10U * 7U + 1000U * (7U + 1U) + 100000U);
  EXPECT_EQ(bytes_of(some).total, bytes_of(some).current + bytes_of(some).cache);
  const Amount before = bytes_of(some);
  some.tag_bytes = 4;
  some.jumbo_page = {.count = 2, .free = 3, .size = 100};
  some.jumbo_9k = {.count = 4, .free = 5, .size = 1000};
  some.jumbo_16k = {.count = 6, .free = 7, .size = 10000};
  EXPECT_EQ(bytes_of(some).current - before.current, 64204U);
  EXPECT_EQ(bytes_of(some).cache - before.cache, 75300U);
}

TEST(MbufFigures, ZonesReadAMomentApartWrapAsUpstream) {
  MbufZones some;
  some.packet.free = 1;
  EXPECT_EQ(clusters_of(some).current, ~std::uint64_t{0});
}

}  // namespace
}  // namespace memstat::ctl
