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

TEST_F(FreebsdUma, AddsTheCpuCachesToTheZonesOwnCounters) {
  UmaZone zone = make_zone("mbuf");
  zone.pages = 12;
  zone.keg_free = 5;
  zone.zone_free = 7;
  zone.allocs = 1000;
  zone.frees = 400;
  zone.fails = 3;
  zone.sleeps = 4;
  zone.xdomain = 6;
  zone.blocks = {{0, {10, 4, 1}}, {3, {20, 8, 2}}};
  const StagedType& type = parse_zone(zone);
  EXPECT_EQ(type.figures[Field::kNumAllocs], 1030U);
  EXPECT_EQ(type.figures[Field::kNumFrees], 412U);
  EXPECT_EQ(type.figures[Field::kCount], 618U);
  EXPECT_EQ(type.figures[Field::kBytes], 61800U);
  EXPECT_EQ(type.figures[Field::kMemAlloced], 103000U);
  EXPECT_EQ(type.figures[Field::kMemFreed], 41200U);
  EXPECT_EQ(type.figures[Field::kFree], 1U + 2 + 5 + 7);
  EXPECT_EQ(type.figures[Field::kZoneFree], 7U);
  EXPECT_EQ(type.figures[Field::kKegFree], 5U);
  EXPECT_EQ(type.figures[Field::kHeldBytes], 12U * 4096);
  EXPECT_EQ(type.figures[Field::kFailures], 3U);
  EXPECT_EQ(type.figures[Field::kSleeps], 4U);
  EXPECT_EQ(type.figures[Field::kXDomain], 6U);
  EXPECT_EQ(type.figures[Field::kSize], 100U);
  EXPECT_EQ(type.figures[Field::kRSize], 128U);
  ASSERT_EQ(staging_.cpu_count(), 4U);
  EXPECT_EQ(staging_.cpu_figure(0, CpuField::kNumAllocs, 3), 20U);
  EXPECT_EQ(staging_.cpu_figure(0, CpuField::kNumFrees, 3), 8U);
  EXPECT_EQ(staging_.cpu_figure(0, CpuField::kFree, 3), 2U);
  EXPECT_EQ(staging_.cpu_figure(0, CpuField::kFree, 1), 0U);  // the hole
}

TEST_F(FreebsdUma, ReadsEveryNumberOfCpus) {
  for (const std::uint32_t maxcpus : {1U, 4U, 64U, 1024U}) {
    UmaZone zone = make_zone("z");
    zone.blocks = {{maxcpus - 1, {9, 1, 3}}};
    const StagedType& type = parse_zone(zone, maxcpus);
    EXPECT_EQ(type.figures[Field::kCount], 8U);
    EXPECT_EQ(staging_.cpu_count(), maxcpus);
    EXPECT_EQ(staging_.cpu_figure(0, CpuField::kFree, maxcpus - 1), 3U);
  }
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

TEST_F(FreebsdUma, LooksAtTheSecondaryBitOnly) {
  UmaZone zone = make_zone("z");
  zone.flags = 0xFFFFFFFE;
  zone.keg_free = 50;
  EXPECT_EQ(parse_zone(zone).figures[Field::kFree], 50U);
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

TEST_F(FreebsdUma, CountsALimitAbove4GiBInBytesInFull) {
  UmaZone zone = make_zone("tcp_log");
  zone.size = 9216;
  zone.limit = 5'000'000;
  const StagedType& type = parse_zone(zone);
  EXPECT_EQ(type.figures[Field::kCountLimit], 5'000'000U);
  EXPECT_EQ(type.figures[Field::kBytesLimit], 46'080'000'000U);
  zone.size = zone.limit = 0xFFFFFFFF;
  EXPECT_EQ(parse_zone(zone).figures[Field::kBytesLimit], 0xFFFFFFFE00000001U);
}

TEST_F(FreebsdUma, HasNoLimitWhereTheKernelSays0) {
  EXPECT_FALSE(parse_zone(make_zone("z")).fields.has(Field::kCountLimit));
  EXPECT_FALSE(parse_zone(make_zone("z")).fields.has(Field::kBytesLimit));
}

TEST_F(FreebsdUma, TakesMoreFreesThanAllocationsAsNothingInUse) {
  UmaZone zone = make_zone("racy");
  zone.allocs = 10;
  zone.frees = 4;
  zone.blocks = {{0, {0, 9, 0}}};
  const StagedType& type = parse_zone(zone);
  EXPECT_EQ(type.figures[Field::kNumAllocs], 13U);
  EXPECT_EQ(type.figures[Field::kNumFrees], 13U);
  EXPECT_EQ(type.figures[Field::kCount], 0U);
  EXPECT_EQ(type.figures[Field::kBytes], 0U);
}

TEST_F(FreebsdUma, CountsHeldBytesInThePagesOfTheKernelRead) {
  UmaZone zone = make_zone("z");
  zone.pages = 0xFFFFFFFF;
  ASSERT_TRUE(parse(UmaStream(1).add(zone).bytes(), 1, 65536));
  EXPECT_EQ(staging_.types()[0].figures[Field::kHeldBytes], 0xFFFFFFFFULL * 65536);
}

TEST_F(FreebsdUma, KeepsDuplicateNamesApartInTheOrderOfTheStream) {
  UmaZone first = make_zone("malloc-16");
  first.allocs = 1;
  UmaZone second = make_zone("malloc-16");
  second.allocs = 2;
  ASSERT_TRUE(parse(UmaStream(1).add(first).add(make_zone("x")).add(second).bytes()));
  EXPECT_EQ(find_staged(staging_, "malloc-16", 0)->figures[Field::kCount], 1U);
  EXPECT_EQ(find_staged(staging_, "malloc-16", 1)->figures[Field::kCount], 2U);
}

TEST_F(FreebsdUma, RefusesANameWithoutItsNulAndReportsWhere) {
  const auto result = parse(UmaStream(2).add(make_zone("good")).add(make_zone(std::string(40, 'n'))).bytes(), 2);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kData);
  EXPECT_EQ(result.error().path, "vm.zone_stats");
  EXPECT_EQ(result.error().offset, 16U + 120 + 64 * 2);
}

TEST_F(FreebsdUma, MakesNamesValidUtf8) {
  ASSERT_TRUE(parse(UmaStream(1).add(make_zone("\xE4rger")).bytes()));
  EXPECT_EQ(staging_.types()[0].name, "\xEF\xBF\xBDrger");
}

TEST_F(FreebsdUma, IgnoresWhatFollowsTheLastRecord) {
  ASSERT_TRUE(parse(UmaStream(1).add(make_zone("z")).bytes() + std::string(200, 'x')));
  EXPECT_EQ(staging_.types().size(), 1U);
}

TEST_F(FreebsdUma, RefusesVersionsThatItDoesNotKnow) {
  for (const std::uint32_t version : {0U, 2U, 0xFFFFFFFFU}) {
    const auto result = parse(UmaStream(1).add(make_zone("z")).bytes(version));
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, ErrorCode::kVersion);
    EXPECT_NE(result.error().detail.find(std::to_string(version)), std::string::npos);
  }
}

TEST_F(FreebsdUma, RefusesCountsThatTheStreamDoesNotHold) {
  const UmaStream stream = UmaStream(4).add(make_zone("a")).add(make_zone("b"));
  for (const std::uint32_t count : {3U, 0xFFFFFFFFU}) {
    const auto result = parse(stream.bytes(1, {}, count));
    ASSERT_FALSE(result) << count;
    EXPECT_EQ(result.error().code, ErrorCode::kData);
    EXPECT_TRUE(result.error().offset.has_value());
  }
  for (const std::uint32_t maxcpus : {0U, 5U, 65537U, 0x04000000U, 0xFFFFFFFFU}) {
    const auto result = parse(stream.bytes(1, maxcpus));
    ASSERT_FALSE(result) << maxcpus;
    EXPECT_EQ(result.error().code, ErrorCode::kData);
  }
}

TEST_F(FreebsdUma, RefusesAStreamWithoutAnyZoneAndAShortHeader) {
  const auto empty = parse(UmaStream(4).bytes());
  ASSERT_FALSE(empty);
  EXPECT_EQ(empty.error().code, ErrorCode::kData);
  const std::string bytes = UmaStream(1).add(make_zone("z")).bytes();
  for (std::size_t size = 0; size < 16; ++size) {
    const auto result = parse(std::string_view(bytes).substr(0, size));
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, size == 0 ? ErrorCode::kData : ErrorCode::kVersion);
  }
}

TEST_F(FreebsdUma, ShowsTheZonesInTheOrderOfTheOriginalLibrary) {
  ASSERT_TRUE(parse(UmaStream(1).add(make_zone("newest")).add(make_zone("middle")).add(make_zone("oldest")).bytes()));
  SourceReader reader(source());
  reader.raw = std::move(raw_);
  MemoryTypeList list;
  ASSERT_TRUE(commit_source(reader, list, 1));
  std::vector<std::string> names;
  for (const MemoryType* type = list.first(); type != nullptr; type = type->next()) names.push_back(type->name());
  EXPECT_EQ(names, (std::vector<std::string>{"oldest", "middle", "newest"}));
}

}  // namespace
}  // namespace memstat::freebsd_uma_test
