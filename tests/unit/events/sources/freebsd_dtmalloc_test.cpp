// SPDX-License-Identifier: BSD-2-Clause
// The table of malloc(9)'s events: DTrace's aggregations are merged into rows, and rows are mapped to the types of
// kern.malloc_stats. Runs on Linux, which has no DTrace.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "core/events/attach/live_tables.h"
#include "core/events/malloc/malloc_rows.h"
#include "core/query.h"
#include "tests/support/fixtures.h"
#include "tests/support/prepared_kernel_view.h"
#include "tests/support/staged_statistics.h"
#include "tests/support/stream_builder.h"
#include "tests/support/table_text.h"

namespace memstat::freebsd_dtmalloc_test {
namespace {

using events::MallocAmount;
using events::MallocRows;

const SourceDescriptor& dtmalloc() { return *find_source("freebsd_dtmalloc"); }

const std::string kNothingLost = "dtmalloc 1\nunplaced 0\ndropped 0\n";

std::string written(const MallocRows& rows, std::uint64_t dropped = 0) {
  Buffer out;
  rows.write(dropped, out);
  return text_of(events::kMallocTable, out);
}

TEST(MallocRows, MergesElementsThatComeInAnyOrder) {
  MallocRows rows;
  rows.begin();
  rows.set("temp", 1, MallocRows::kLarge, MallocAmount::kFreedBytes, 200000);
  rows.set("temp", 1, 64, MallocAmount::kFrees, 4);
  rows.set("cred", 0, 128, MallocAmount::kAllocations, 7);
  rows.set("temp", 1, MallocRows::kLarge, MallocAmount::kAllocations, 3);
  rows.set("temp", 0, 4096, MallocAmount::kAllocations, 2);
  rows.set("temp", 1, 64, MallocAmount::kAllocations, 9);
  rows.set("temp", 1, MallocRows::kLarge, MallocAmount::kFrees, 2);
  rows.set("temp", 1, MallocRows::kLarge, MallocAmount::kAllocatedBytes, 300000);
  rows.set("temp", 1, 0, MallocAmount::kAllocations, 1);
  EXPECT_EQ(written(rows),
            "dtmalloc 1\nunplaced 0\ndropped 0\nprobe cred\nsize 0 128 7 0\nprobe temp\nsize 0 4096 2 0\nsize 1 0 1 0\n"
            "size 1 64 9 4\nlarge 1 3 300000 2 200000\nend\n");
}

TEST(MallocRows, KeepsWhatALaterReadingDoesNotSay) {
  MallocRows rows;
  rows.begin();
  rows.set("temp", 0, 64, MallocAmount::kAllocations, 9);
  rows.set("temp", 0, 64, MallocAmount::kFrees, 1);
  rows.begin();
  rows.set("temp", 0, 64, MallocAmount::kAllocations, 12);
  EXPECT_EQ(written(rows, 5), "dtmalloc 1\nunplaced 0\ndropped 5\nprobe temp\nsize 0 64 12 1\nend\n");
}

TEST(MallocRows, MakesNamesFitTheText) {
  MallocRows rows;
  rows.begin();
  rows.set("a\nend\xff b", 0, 16, MallocAmount::kAllocations, 1);
  rows.set(std::string(500, 'x'), 0, 16, MallocAmount::kAllocations, 1);
  EXPECT_EQ(written(rows),
            kNothingLost + "probe a?end? b\nsize 0 16 1 0\nprobe " + std::string(191, 'x') + "\nsize 0 16 1 0\nend\n");
}

TEST(MallocRows, CountsEventsOfRowsThatItHasNoRoomForAgainAtEachReading) {
  MallocRows rows;
  for (int reading = 1; reading <= 2; ++reading) {
    rows.begin();
    for (std::uint32_t cpu = 0; cpu < MallocRows::kMaxRows; ++cpu) rows.set("t", cpu, 16, MallocAmount::kFrees, 1);
    rows.set("other", 0, 16, MallocAmount::kAllocations, 30 * reading);
    rows.set("other", 0, MallocRows::kLarge, MallocAmount::kAllocatedBytes, 1 << 20);
    rows.set("t", 7, 16, MallocAmount::kFrees, 2);
  }
  EXPECT_EQ(written(rows).substr(0, 24), "dtmalloc 1\nunplaced 60\nd");
}

/// FreeBSD with types of malloc(9) and a table of their events.
class WithTable final : public PreparedKernelView {
 public:
  WithTable() : PreparedKernelView(OperatingSystem::kFreeBsd, 4) { set_types({"temp", "vm pgdata", "cred"}); }
  void set_types(const std::vector<std::string>& names) {
    MallocStream stream(1);
    for (const std::string& name : names) stream.add(name);
    contents["kern.malloc_stats"] = {stream.bytes()};
    contents["kern.malloc_count"] = {std::string({static_cast<char>(names.size()), '\0', '\0', '\0'})};
  }
  Result<void> open_table(std::string_view, TextTableSource&) override { return {}; }
  Result<void> read_table(std::string_view, TextTableSource&, Buffer& out) override {
    out.assign(table);
    return {};
  }
  std::string table;
};

class FreebsdDtmalloc : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(open_source(reader_, view_)); }
  Result<void> parse(const std::string& rows) {
    view_.table = kNothingLost + rows + "end\n";
    if (auto result = read_source(reader_, view_); !result) return result;
    return commit_source(reader_, list_, ++generation_);
  }
  /// "type: failures" of all types.
  std::string failures() const {
    std::string text;
    for (const StagedType& type : reader_.staging.types()) {
      text += (text.empty() ? "" : ", ") + std::string(type.name) + ": " + std::to_string(type.figures[Field::kFailures]);
    }
    return text;
  }
  std::uint64_t value(const std::string& words) const { return statistics_of(reader_.staging).at(words); }
  bool has(const std::string& words) const { return statistics_of(reader_.staging).contains(words); }
  void expect_refused(const std::string& rows, std::size_t offset) {
    const auto result = parse(rows);
    ASSERT_FALSE(result) << rows;
    EXPECT_EQ(result.error().code, ErrorCode::kData) << rows;
    EXPECT_EQ(result.error().offset, kNothingLost.size() + offset) << rows;
  }

  WithTable view_;
  SourceReader reader_{dtmalloc()};
  MemoryTypeList list_;
  std::uint64_t generation_ = 0;
};

TEST_F(FreebsdDtmalloc, CountsAllocationsWithoutMemoryAsFailuresOfTheType) {
  ASSERT_TRUE(parse("probe temp\nsize 0 0 2 0\nsize 0 64 5 2\nsize 1 0 1 0\nprobe vm_pgdata\nsize 0 64 1 0\n"));
  EXPECT_EQ(failures(), "temp: 3, vm pgdata: 0");
  EXPECT_EQ(value("malloc_events_total{temp,0,malloc}"), 5U);
  EXPECT_EQ(value("malloc_events_total{temp,0,malloc_failure}"), 2U);
  EXPECT_FALSE(has("malloc_size_events_total{temp,0,malloc}"));
  EXPECT_EQ(value("vm_events_total{malloc}"), 6U);
  EXPECT_EQ(value("vm_events_total{free}"), 2U);
  EXPECT_EQ(value("vm_events_total{malloc_failure}"), 3U);
  EXPECT_EQ(value("vm_event_bytes_total{malloc}"), 384U);
}

TEST_F(FreebsdDtmalloc, NamesTypesAsTheSysctlDoesAndGuessesNone) {
  view_.set_types({"vm pgdata", "a b", "a_b"});
  ASSERT_TRUE(parse("probe a_b\nsize 0 0 1 0\nprobe gone\nsize 0 0 2 0\nprobe vm_pgdata\nsize 0 0 4 0\n"));
  EXPECT_EQ(failures(), "vm pgdata: 4");
  EXPECT_EQ(value("malloc_events_total{vm pgdata,0,malloc_failure}"), 4U);
  EXPECT_EQ(value("malloc_events_total{a_b,0,malloc_failure}"), 1U) << "by the probe's name";
  EXPECT_EQ(value("malloc_events_total{gone,0,malloc_failure}"), 2U);
  EXPECT_EQ(value("vm_events_total{malloc_failure}"), 7U);
  EXPECT_EQ(reader_.staging.note(), "types that share the name of a probe have no failures");
}

TEST_F(FreebsdDtmalloc, GivesATypeToTheFirstOfProbesThatBeginLikeIt) {
  const std::string cut = "a_type_of_thirty-one_characters";
  view_.set_types({cut});
  ASSERT_TRUE(parse("probe " + cut + "1\nsize 0 0 1 0\nprobe " + cut + "2\nsize 0 0 2 0\n"));
  EXPECT_EQ(failures(), cut + ": 1");
  EXPECT_EQ(value("vm_events_total{malloc_failure}"), 3U);
  EXPECT_TRUE(has_unique_statistics(reader_.staging));
}

TEST_F(FreebsdDtmalloc, ReadsNamesAgainOnlyWhereAProbeIsUnknownAndThereAreOtherTypes) {
  const auto reads = [this] { return view_.reads_of("kern.malloc_stats"); };
  ASSERT_TRUE(parse("probe temp\nsize 0 0 1 0\n"));
  ASSERT_TRUE(parse("probe temp\nsize 0 0 1 0\n"));
  EXPECT_EQ(reads(), 1U);
  ASSERT_TRUE(parse("probe later\nsize 0 0 1 0\nprobe temp\nsize 0 0 1 0\n"));
  ASSERT_TRUE(parse("probe later\nsize 0 0 1 0\nprobe temp\nsize 0 0 1 0\n"));
  EXPECT_EQ(reads(), 1U) << "the kernel has as many types as before";
  view_.set_types({"temp", "vm pgdata", "cred", "later"});
  ASSERT_TRUE(parse("probe later\nsize 0 0 1 0\nprobe temp\nsize 0 0 1 0\n"));
  EXPECT_EQ(failures(), "later: 1, temp: 1");
  EXPECT_EQ(reads(), 2U);
}

TEST_F(FreebsdDtmalloc, IsDownWhereTheSysctlIsNotWhole) {
  view_.contents["kern.malloc_stats"] = {"short"};
  EXPECT_FALSE(parse("probe temp\nsize 0 0 1 0\n"));
  view_.contents.erase("kern.malloc_stats");
  EXPECT_EQ(parse("").error().code, ErrorCode::kNotPresent);
}

TEST_F(FreebsdDtmalloc, ShowsTheTypesThatOptionTypesChooses) {
  reader_.state->options.resize(1);
  reader_.state->options[0].matches = [](std::string_view type) { return type == "vm pgdata"; };
  ASSERT_TRUE(parse("probe temp\nsize 0 0 1 0\nprobe vm_pgdata\nsize 0 64 1 0\n"));
  EXPECT_FALSE(has("malloc_events_total{temp,0,malloc}"));
  EXPECT_TRUE(has("malloc_events_total{vm pgdata,0,malloc}"));
  EXPECT_EQ(failures(), "temp: 1, vm pgdata: 0");
}

TEST_F(FreebsdDtmalloc, ShowsAtMost20000SeriesAndReportsIt) {
  std::string rows;
  for (int probe = 100000; probe < 104000; ++probe) rows += "probe p" + std::to_string(probe) + "\nsize 0 16 1 0\n";
  ASSERT_TRUE(parse(rows));
  EXPECT_EQ(reader_.staging.statistics().entries().size(), 20000U + 7);
  EXPECT_EQ(value("vm_events_total{malloc}"), 4000U);
  EXPECT_EQ(reader_.staging.note(),
            "only 20000 series by CPU and by size are shown: choose types with sources.freebsd_dtmalloc.types");
}

TEST_F(FreebsdDtmalloc, StaysAtTheLargestNumber) {
  const std::string most = "18446744073709551615";
  ASSERT_TRUE(parse("probe temp\nsize 0 64 " + most + " 1\nsize 1 64 1 " + most + "\n"));
  EXPECT_EQ(value("malloc_event_bytes_total{temp,0,malloc}"), ~std::uint64_t{0});
  EXPECT_EQ(value("vm_events_total{malloc}"), ~std::uint64_t{0});
}

TEST_F(FreebsdDtmalloc, ReportsEventsThatWereNotCounted) {
  view_.table = "dtmalloc 1\nunplaced 7\ndropped 9\nend\n";
  ASSERT_TRUE(read_source(reader_, view_));
  ASSERT_TRUE(parse_source(reader_));
  EXPECT_EQ(value("events_lost_total{malloc_unplaced}"), 7U);
  EXPECT_EQ(value("events_lost_total{malloc_dropped}"), 9U);
}

TEST_F(FreebsdDtmalloc, RefusesOtherText) {
  for (const std::string line : {"size 0 64 1 1", "large 0 1 1 1 1", "probe a\x01"}) {
    expect_refused(line + "\n", 0);
  }
  const std::string probe = "probe b\n";
  for (const std::string line : {"size 18446744073709551615 64 1 1", "probe b", "probe a"}) {
    expect_refused(probe + line + "\n", probe.size());
  }
  expect_refused(probe + "size 1 64 1 1\nsize 0 64 1 1\n", probe.size() + 14);
  std::string sizes = probe;
  for (int size = 1; size <= 64; ++size) sizes += "size 0 " + std::to_string(size) + " 1 1\n";
  ASSERT_TRUE(parse(sizes));
  expect_refused(sizes + "size 0 65 1 1\n", sizes.size());
}

#if !defined(__FreeBSD__)
TEST(MallocEvents, AreNotPresentWithoutLibdtrace) {
  const auto result = events::make_malloc_events()->open();
  EXPECT_EQ(result.error().code, ErrorCode::kNotPresent);
  EXPECT_NE(to_string(result.error()).find("FreeBSD only"), std::string::npos);
}
#endif

}  // namespace
}  // namespace memstat::freebsd_dtmalloc_test
