// SPDX-License-Identifier: BSD-2-Clause
// Our figures of real FreeBSD kernels equal what FreeBSD's own libmemstat computed from exactly the same bytes: every type
// in its place, every accessor, every CPU, in every captured poll that has such a dump.
#include <gtest/gtest.h>

#include <iomanip>
#include <map>
#include <optional>
#include <set>
#include <sstream>

#include "core/query.h"
#include "tests/support/oracle.h"
#include "tests/support/source_cases.h"

namespace memstat {
namespace {

/// The accessors of the dumps and the fields that they are.
const std::map<std::string, Field, std::less<>> kFieldOf = {
    {"countlimit", Field::kCountLimit}, {"byteslimit", Field::kBytesLimit},
    {"sizemask", Field::kSizeMask},     {"size", Field::kSize},
    {"rsize", Field::kRSize},           {"memalloced", Field::kMemAlloced},
    {"memfreed", Field::kMemFreed},     {"numallocs", Field::kNumAllocs},
    {"numfrees", Field::kNumFrees},     {"bytes", Field::kBytes},
    {"count", Field::kCount},           {"free", Field::kFree},
    {"failures", Field::kFailures},     {"sleeps", Field::kSleeps},
    {"xdomain", Field::kXDomain},       {"kegfree", Field::kKegFree},
    {"zonefree", Field::kZoneFree}};
const std::map<std::string, CpuField, std::less<>> kCpuFieldOf = {
    {"free", CpuField::kFree},         {"allocs", CpuField::kNumAllocs},
    {"frees", CpuField::kNumFrees},    {"memalloced", CpuField::kMemAlloced},
    {"memfreed", CpuField::kMemFreed}, {"sizemask", CpuField::kSizeMask}};

std::string poll_directory(std::size_t index) {
  std::ostringstream name;
  name << std::setw(6) << std::setfill('0') << index;
  return name.str();
}

std::optional<std::vector<OracleType>> oracle_of(const std::string& capture, std::size_t poll, Allocator allocator) {
  const auto text = read_beside_capture(
      capture, "oracle/" + poll_directory(poll) + "-libmemstat-" + std::string(to_string(allocator)) + ".txt");
  if (!text) return std::nullopt;
  auto types = parse_oracle(*text);
  EXPECT_TRUE(types) << (types ? "" : to_string(types.error()));
  if (!types) return std::nullopt;
  return std::move(*types);
}

void expect_equal(const MemoryType& type, const OracleType& oracle) {
  EXPECT_EQ(type.name(), oracle.name);
  EXPECT_EQ(static_cast<std::uint64_t>(type.allocator()), oracle.figures.at("allocator")) << oracle.name;
  std::size_t compared = 1;
  for (const auto& [key, field] : kFieldOf) {
    ASSERT_TRUE(oracle.figures.contains(key)) << key;
    EXPECT_EQ(type.figure(field), oracle.figures.at(key)) << oracle.name << ' ' << key;
    ++compared;
  }
  EXPECT_EQ(compared, oracle.figures.size()) << "an accessor in the dump was not compared";

  for (const auto& [key, values] : oracle.cpus) {
    const CpuField field = kCpuFieldOf.at(key);
    // The original returns 0 for a zone's allocations and frees by CPU, although the stream has them.
    if (type.allocator() == Allocator::kUma && field != CpuField::kFree) continue;
    if (values.empty()) {
      EXPECT_FALSE(type.cpu_fields().has(field)) << oracle.name << ' ' << key;
      continue;
    }
    ASSERT_EQ(type.cpu_count(), values.size()) << oracle.name << ' ' << key;
    for (std::uint32_t cpu = 0; cpu < type.cpu_count(); ++cpu) {
      EXPECT_EQ(type.cpu_figure(field, cpu), values[cpu]) << oracle.name << ' ' << key << " CPU " << cpu;
    }
  }
}

class Oracle : public testing::TestWithParam<SourceCase> {};

TEST_P(Oracle, AgreesOnEveryTypeFieldAndCpuOfEveryPoll) {
  const auto& [source, capture] = GetParam();
  const auto view = open_fixture(capture);
  SourceReader reader(*source);
  MemoryTypeList list;
  std::size_t compared_polls = 0;
  for (std::size_t poll = 0; poll < view->poll_count(); ++poll) {
    ASSERT_TRUE(view->select_poll(poll));
    const auto result = refresh(reader, *view, list, poll + 1);
    ASSERT_TRUE(result) << to_string(result.error());
    const auto oracle = oracle_of(capture, poll, source->allocator);
    if (!oracle) continue;
    ++compared_polls;
    ASSERT_GT(oracle->size(), 100U);
    const MemoryType* type = list.first();
    for (const OracleType& expected : *oracle) {
      ASSERT_NE(type, nullptr) << "the list ends before " << expected.name;
      expect_equal(*type, expected);
      type = type->next();
    }
    EXPECT_EQ(type, nullptr) << "one type too many: " << type->name();
  }
  EXPECT_GT(compared_polls, 0U);
}

TEST_P(Oracle, AgreesWithAListThatHasOnlySeenThisPoll) {
  const auto& [source, capture] = GetParam();
  const auto view = open_fixture(capture);
  for (std::size_t poll = 0; poll < view->poll_count(); ++poll) {
    const auto oracle = oracle_of(capture, poll, source->allocator);
    if (!oracle) continue;
    ASSERT_TRUE(view->select_poll(poll));
    SourceReader reader(*source);
    MemoryTypeList list;
    ASSERT_TRUE(refresh(reader, *view, list, 1));
    const MemoryType* type = list.first();
    for (const OracleType& expected : *oracle) {
      ASSERT_NE(type, nullptr);
      expect_equal(*type, expected);
      type = type->next();
    }
    EXPECT_EQ(type, nullptr);
  }
}

/// The two streams, which is what libmemstat knows.
std::vector<SourceCase> freebsd_cases() {
  std::vector<SourceCase> cases = all_source_cases();
  std::erase_if(cases, [](const SourceCase& value) { return !is_stream(*value.source); });
  return cases;
}
INSTANTIATE_TEST_SUITE_P(Sources, Oracle, testing::ValuesIn(freebsd_cases()), name_of_case);

/// The figures of zones by CPU, which the original does not give out, read from the stream once more, by other means.
TEST(UmaByCpu, AddUpWithTheZonesOwnCountersToTheTotals) {
  for (const std::string& capture : captures_of_source("freebsd_uma")) {
    const auto view = open_fixture(capture);
    Buffer bytes;
    ASSERT_TRUE(view->read_sysctl("vm.zone_stats", bytes, 0));
    const auto u32 = [&](std::size_t at) {
      std::uint32_t value = 0;
      std::memcpy(&value, bytes.data() + at, sizeof value);
      return value;
    };
    const auto u64 = [&](std::size_t at) {
      std::uint64_t value = 0;
      std::memcpy(&value, bytes.data() + at, sizeof value);
      return value;
    };
    SourceReader reader(*find_source("freebsd_uma"));
    MemoryTypeList list;
    ASSERT_TRUE(refresh(reader, *view, list, 1));
    const std::uint32_t cpus = u32(4);
    const std::size_t record_size = 120 + 64 * std::size_t{cpus};
    std::size_t record = 16 + record_size * u32(8);  // the list shows the last record first
    std::uint64_t all_allocs = 0;
    for (const MemoryType* type = list.first(); type != nullptr; type = type->next()) {
      record -= record_size;
      ASSERT_EQ(type->name(), bytes.data() + record);
      ASSERT_EQ(type->cpu_count(), cpus);
      std::uint64_t allocs = u64(record + 72);
      std::uint64_t frees = u64(record + 80);
      for (std::uint32_t cpu = 0; cpu < cpus; ++cpu) {
        const std::size_t block = record + 120 + 64 * std::size_t{cpu};
        EXPECT_EQ(type->cpu_figure(CpuField::kNumAllocs, cpu), u64(block)) << type->name();
        EXPECT_EQ(type->cpu_figure(CpuField::kNumFrees, cpu), u64(block + 8)) << type->name();
        allocs += type->cpu_figure(CpuField::kNumAllocs, cpu);
        frees += type->cpu_figure(CpuField::kNumFrees, cpu);
        all_allocs += type->cpu_figure(CpuField::kNumAllocs, cpu);
      }
      EXPECT_EQ(type->figure(Field::kNumAllocs), std::max(allocs, frees)) << type->name();
      EXPECT_EQ(type->figure(Field::kNumFrees), frees) << type->name();
      if (type->fields().has(Field::kHeldBytes)) {
        EXPECT_EQ(type->figure(Field::kHeldBytes), std::uint64_t{u32(record + 52)} * 4096) << type->name();
      }
    }
    EXPECT_EQ(record, 16U);
    EXPECT_GT(all_allocs, 1000U);
  }
}

TEST(MallocSizeClasses, AreTheKernelsOwn) {
  for (const std::string& capture : captures_of_source("freebsd_malloc")) {
    const auto view = open_fixture(capture);
    SourceReader reader(*find_source("freebsd_malloc"));
    MemoryTypeList list;
    ASSERT_TRUE(refresh(reader, *view, list, 1));
    EXPECT_EQ(reader.staging.size_classes(),
              (std::vector<std::uint64_t>{16, 32, 64, 128, 256, 384, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536}));
  }
}

}  // namespace
}  // namespace memstat
