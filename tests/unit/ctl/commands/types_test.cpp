// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/commands/reports.h"

#include <cctype>

#include "daemon/ctl/source/report_source.h"
#include "tests/support/fixtures.h"
#include "tests/support/staging_builder.h"
#include "tests/support/test.h"
#include "tests/support/tracked_list.h"

namespace memstat::ctl {
namespace {

TEST(TypesReport, EveryAllocatorOfTheApiHasItsNumber) {
  std::ifstream header(source_path("core/include/memstat.h"));
  const std::string prefix = "ALLOCATOR_";
  int found = 0;
  for (std::string line; std::getline(header, line);) {
    std::istringstream words(line);
    std::string define;
    std::string macro;
    int number = 0;
    if (!(words >> define >> macro >> number) || define != "#define" || macro.rfind(prefix, 0) != 0) continue;
    if (number == ALLOCATOR_UNKNOWN || number == ALLOCATOR_ANY) continue;
    ++found;
    std::string name = macro.substr(prefix.size());
    for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    EXPECT_EQ(allocator_number(name), number);
  }
  EXPECT_GE(found, 3) << "memstat.h was not understood";
  EXPECT_EQ(allocator_number("slob"), ALLOCATOR_ANY);
}

/// The columns LIMIT and USED of the only type of a list.
std::string limit_and_used(Allocator allocator, std::initializer_list<StagedFigure> figures) {
  StagingBuilder staging;
  staging.type("a", figures);
  TrackedList list({}, allocator);
  list.poll(staging);
  const ReportTable table = types_table(rows_of(list.snapshot));
  std::istringstream text(table.print({.layout = Layout::kText, .is_human = false, .width = 0}));
  std::string line;
  std::getline(text, line);
  std::getline(text, line);
  std::istringstream words(line);
  const std::vector<std::string> cells{std::istream_iterator<std::string>(words), {}};
  return cells.size() < 2 ? line : cells[cells.size() - 2] + " " + cells.back();
}

TEST(TypesReport, OfTwoLimitsTheNearerOneIsShown) {
  using enum Field;
  // System V shared memory: two segments of 4096, and nearly all bytes.
  EXPECT_EQ(limit_and_used(Allocator::kTable, {{kBytes, 998}, {kCount, 2}, {kBytesLimit, 1000}, {kCountLimit, 4096}}),
            "1000 99.8%");
  EXPECT_EQ(limit_and_used(Allocator::kTable, {{kBytes, 1}, {kCount, 4000}, {kBytesLimit, 1000}, {kCountLimit, 4000}}),
            "4000 100%");
  EXPECT_EQ(limit_and_used(Allocator::kTable, {{kBytes, 250}, {kBytesLimit, 1000}}), "1000 25%");
  EXPECT_EQ(limit_and_used(Allocator::kTable, {{kBytes, 250}, {kBytesLimit, 1000}, {kCountLimit, 10}}), "1000 25%")
      << "objects are unknown";
  EXPECT_EQ(limit_and_used(Allocator::kTable, {{kBytes, 250}, {kCountLimit, 10}}), "10 -") << "objects are unknown";
  EXPECT_EQ(limit_and_used(Allocator::kTable, {{kBytes, 250}, {kCount, 3}}), "- -");
  EXPECT_EQ(limit_and_used(Allocator::kUma, {{kCount, 3}, {kFree, 6}, {kKegFree, 4}, {kCountLimit, 10}}), "10 50%")
      << "caches count, free slabs do not";
}

}  // namespace
}  // namespace memstat::ctl
