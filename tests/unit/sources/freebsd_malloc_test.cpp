// SPDX-License-Identifier: BSD-2-Clause
// kern.malloc_stats from handwritten streams. Real streams are compared with the original library in tests/contract.
#include <numeric>

#include "core/query.h"
#include "tests/support/prepared_kernel_view.h"
#include "tests/support/result_checks.h"
#include "tests/support/stream_builder.h"
#include "tests/support/test.h"

namespace memstat::freebsd_malloc_test {
namespace {

const SourceDescriptor& source() { return *find_source("freebsd_malloc"); }

class FreebsdMalloc : public testing::Test {
 protected:
  Result<void> parse(std::string_view bytes, std::uint32_t cpu_count = 1) {
    raw_ = make_raw(bytes, cpu_count);
    return parse_bytes(source(), raw_, staging_);
  }
  std::uint64_t total(std::string_view name, Field field, std::size_t ordinal = 0) {
    const StagedType* type = find_staged(staging_, name, ordinal);
    EXPECT_NE(type, nullptr) << name;
    return type == nullptr ? 0 : type->figures[field];
  }

  RawBytes raw_;
  Staging staging_;
};

TEST_F(FreebsdMalloc, CountsAFigureAboveTheHighestCpuAndWidensTheColumnsOfAllTypes) {
  const std::string bytes = MallocStream(1024)
                                .add("a", {{0, {8, 0, 1, 0, 1}}})
                                .add("b", {{700, {32, 16, 3, 1, 0}}})
                                .add("c", {{900, {0, 0, 0, 0, 4}}, {1, {1, 0, 1, 0, 0}}})
                                .bytes();
  ASSERT_TRUE(parse(bytes, 2));
  ASSERT_EQ(staging_.types().size(), 3U);
  EXPECT_EQ(staging_.cpu_count(), 901U);
  EXPECT_EQ(total("a", Field::kBytes), 8U);
  EXPECT_EQ(total("b", Field::kBytes), 16U);
  EXPECT_EQ(total("c", Field::kSizeMask), 4U);
  EXPECT_EQ(staging_.cpu_figure(1, CpuField::kNumAllocs, 700), 3U);
  EXPECT_EQ(staging_.cpu_figure(2, CpuField::kSizeMask, 900), 4U);
}

TEST_F(FreebsdMalloc, SeesASingleByteInAnySlotAboveTheHighestCpu) {
  const std::string clean = MallocStream(64).add("a").add("b").bytes();
  const std::size_t second = 16 + 32 + 64 * 64;
  for (std::size_t slot = 2; slot < 64; ++slot) {
    std::string bytes = clean;
    bytes[second + 32 + 64 * slot + 7] = 1;  // the highest byte of memalloced
    ASSERT_TRUE(parse(bytes, 2));
    EXPECT_EQ(staging_.cpu_count(), slot + 1);
    EXPECT_EQ(total("b", Field::kMemAlloced), std::uint64_t{1} << 56U);
  }
}

TEST_F(FreebsdMalloc, RefusesANameWithoutItsNulAndReportsWhere) {
  EXPECT_TRUE(fails(parse(MallocStream(4).add("good").add(std::string(32, 'n')).bytes(), 4),
                    {.code = ErrorCode::kData, .path = "kern.malloc_stats", .offset = 16U + 32 + 64 * 4}));
}

TEST_F(FreebsdMalloc, RefusesVersionsThatItDoesNotKnow) {
  for (const std::uint32_t version : {0U, 2U, 0x01000000U, 0xFFFFFFFFU}) {
    EXPECT_TRUE(fails(parse(MallocStream(1).add("a").bytes(version)),
                      {.code = ErrorCode::kVersion, .detail = std::to_string(version)}));
  }
}

TEST_F(FreebsdMalloc, RefusesCountsThatTheStreamDoesNotHold) {
  const MallocStream stream = MallocStream(4).add("a").add("b");
  for (const std::uint32_t count : {3U, 1000U, 0xFFFFFFFFU}) {
    EXPECT_TRUE(fails(parse(stream.bytes(1, {}, count), 4), ErrorCode::kData)) << count;
  }
  for (const std::uint32_t maxcpus : {0U, 9U, 65536U, 65537U, 0x04000000U, 0xFFFFFFFFU}) {
    EXPECT_TRUE(fails(parse(stream.bytes(1, maxcpus), 4), ErrorCode::kData)) << maxcpus;
  }
}

TEST_F(FreebsdMalloc, TakesFewerRecordsThanTheStreamHoldsWhenTheHeaderSaysSo) {
  ASSERT_TRUE(parse(MallocStream(4).add("a").add("b").bytes(1, {}, 1), 4));
  EXPECT_EQ(staging_.types().size(), 1U);
}

TEST_F(FreebsdMalloc, SurvivesACpuCountThatIsWrong) {
  const std::string bytes = MallocStream(4).add("a", {{3, {8, 0, 1, 0, 0}}}).bytes();
  for (const std::uint32_t cpu_count : {0U, 1U, 4U, 5U, 100000U, 0xFFFFFFFFU}) {
    ASSERT_TRUE(parse(bytes, cpu_count));
    EXPECT_EQ(staging_.cpu_count(), 4U) << cpu_count;
    EXPECT_EQ(total("a", Field::kBytes), 8U);
  }
}

TEST_F(FreebsdMalloc, FindsAFigureBeyondTheHighestCpuWithinSixteenParses) {
  PreparedKernelView view(OperatingSystem::kFreeBsd, 2);
  MallocStream quiet(8);
  MallocStream loud(8);
  for (int i = 0; i < 20; ++i) {
    quiet.add("type " + std::to_string(i), {{1, {8, 0, 1, 0, 0}}});
    loud.add("type " + std::to_string(i), {{i == 7 ? 5U : 1U, {8, 0, 1, 0, 0}}});
  }
  view.contents["kern.malloc_stats"] = {quiet.bytes(), loud.bytes()};
  SourceReader reader(source());
  MemoryTypeList list;
  ASSERT_TRUE(refresh(reader, view, list, 1));
  EXPECT_EQ(list.find(Allocator::kMalloc, "type 7")->cpu_count(), 2U);
  view.version = 1;
  for (std::uint64_t generation = 2; generation <= 17; ++generation) ASSERT_TRUE(refresh(reader, view, list, generation));
  EXPECT_EQ(list.find(Allocator::kMalloc, "type 7")->cpu_figure(CpuField::kMemAlloced, 5), 8U);
  EXPECT_EQ(list.find(Allocator::kMalloc, "type 7")->figure(Field::kBytes), 8U);
  ASSERT_TRUE(refresh(reader, view, list, 18)) << "and keeps them";
  EXPECT_EQ(list.find(Allocator::kMalloc, "type 7")->figure(Field::kBytes), 8U);
}

TEST_F(FreebsdMalloc, TakesTheSizeClassesFromTheKernel) {
  PreparedKernelView view(OperatingSystem::kFreeBsd, 2);
  view.contents["kern.malloc_stats"] = {MallocStream(4).add("a").bytes()};
  SourceReader reader(source());
  MemoryTypeList list;
  const auto classes_of = [&](const std::vector<std::uint32_t>& sizes) {
    view.contents["vm.malloc.zone_sizes"] = {std::string(reinterpret_cast<const char*>(sizes.data()), 4 * sizes.size())};
    EXPECT_TRUE(refresh(reader, view, list, 1));
    return reader.staging.size_classes();
  };
  EXPECT_EQ(classes_of({16, 384, 65536, 0, 7}), (std::vector<std::uint64_t>{16, 384, 65536}));
  EXPECT_EQ(classes_of({16, 32, 64}).size(), 3U) << "each poll of a recording has them";
  for (const std::uint32_t last : {16U, 32U}) EXPECT_TRUE(classes_of({16, 32, last, 64}).empty()) << "they must rise";
  std::vector<std::uint32_t> many(100);
  std::iota(many.begin(), many.end(), 1U);
  EXPECT_EQ(classes_of(many).size(), 64U) << "a mask has no more bits";
}

}  // namespace
}  // namespace memstat::freebsd_malloc_test
