// SPDX-License-Identifier: BSD-2-Clause
// vm.zone_stats from handwritten streams. Real streams are compared with the original library in tests/contract.
#include <gtest/gtest.h>

#include "core/query.h"
#include "tests/support/stream_builder.h"

namespace memstat::freebsd_uma_test {
namespace {

const SourceDescriptor& source() { return *find_source("freebsd_uma"); }

class FreebsdUma : public testing::Test {
 protected:
  Result<void> parse(std::string_view bytes, std::uint32_t cpu_count = 1, std::uint64_t page_size = 4096) {
    raw_ = make_raw(bytes, cpu_count, page_size);
    return parse_bytes(source(), raw_, staging_);
  }
  /// The only zone of a stream, which must be good.
  const StagedType& parse_zone(const UmaZone& zone, std::uint32_t maxcpus = 4) {
    EXPECT_TRUE(parse(UmaStream(maxcpus).add(zone).bytes(), maxcpus));
    return staging_.types().at(0);
  }

  RawBytes raw_;
  Staging staging_;
};

UmaZone make_zone(std::string name) {
  UmaZone zone;
  zone.name = std::move(name);
  zone.size = 100;
  zone.rsize = 128;
  return zone;
}

TEST_F(FreebsdUma, KeepsTheStreamsCpusWhateverTheViewReports) {
  ASSERT_TRUE(parse(UmaStream(8).add(make_zone("z")).bytes(), 2));
  EXPECT_EQ(staging_.cpu_count(), 8U);
}

TEST_F(FreebsdUma, GivesASecondaryZoneNeitherHeldBytesNorItsKegsFreeItems) {
  UmaZone zone = make_zone("mbuf_packet");
  zone.flags = 1;
  zone.pages = 99;
  zone.keg_free = 50;
  zone.zone_free = 2;
  zone.blocks = {{0, {0, 0, 4}}};
  const StagedType& type = parse_zone(zone);
  EXPECT_EQ(type.figures[Field::kKegFree], 0U);
  EXPECT_EQ(type.figures[Field::kFree], 6U);
  EXPECT_FALSE(type.fields.has(Field::kKegFree));
  EXPECT_FALSE(type.fields.has(Field::kHeldBytes));
  EXPECT_TRUE(type.fields.has(Field::kRSize));
}

TEST_F(FreebsdUma, GivesACacheZoneNoFootprintAndNoKeg) {
  UmaZone zone = make_zone("vm pgcache");
  zone.rsize = 0;
  zone.size = 4096;
  zone.blocks = {{1, {10, 4, 6}}};
  const StagedType& type = parse_zone(zone);
  EXPECT_EQ(type.figures[Field::kBytes], 6U * 4096);
  EXPECT_EQ(type.figures[Field::kFree], 6U);
  for (const Field field : {Field::kRSize, Field::kKegFree, Field::kHeldBytes}) EXPECT_FALSE(type.fields.has(field));
  EXPECT_TRUE(type.fields.has(Field::kSize));
}

TEST_F(FreebsdUma, HasNoLimitWhereTheKernelSays0) {
  EXPECT_FALSE(parse_zone(make_zone("z")).fields.has(Field::kCountLimit));
  EXPECT_FALSE(parse_zone(make_zone("z")).fields.has(Field::kBytesLimit));
}

TEST_F(FreebsdUma, CountsHeldBytesInThePagesOfTheKernelRead) {
  UmaZone zone = make_zone("z");
  zone.pages = 0xFFFFFFFF;
  ASSERT_TRUE(parse(UmaStream(1).add(zone).bytes(), 1, 65536));
  EXPECT_EQ(staging_.types()[0].figures[Field::kHeldBytes], 0xFFFFFFFFULL * 65536);
}

}  // namespace
}  // namespace memstat::freebsd_uma_test
