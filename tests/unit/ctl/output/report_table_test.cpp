// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/output/report_table.h"

#include "tests/support/test.h"

namespace memstat::ctl {
namespace {

constexpr std::array<ReportColumn, 6> kColumns{{{.key = "allocator", .title = "ALLOCATOR"},
                                                {.key = "type", .title = "TYPE", .least = 12},
                                                {.key = "held_bytes", .title = "HELD", .unit = Unit::kBytes},
                                                {.key = "used_ratio", .title = "USED", .unit = Unit::kRatio, .rank = 1},
                                                {.key = "", .title = "LIMIT", .unit = Unit::kNumber, .rank = 2},
                                                {.key = "limit_bytes", .title = "", .unit = Unit::kBytes}}};

ReportTable table_of_three() {
  ReportTable table("types", kColumns, 2);
  table.add({std::string("slab"), std::string("dentry"), std::uint64_t{2'411'724}, 0.0032, UnitAmount{4096, true},
             std::uint64_t{4096}});
  table.add({std::string("slab"), std::string("a, \"b\""), std::uint64_t{0}, 0.5, Cell(), Cell()});
  table.add({std::string("table"), std::string("files"), Cell(), Cell(), UnitAmount{10, false}, Cell()});
  return table;
}

ReportView view_of(Layout layout) { return {.layout = layout, .width = 0}; }

NamePattern part(const char* text) {
  auto pattern = NamePattern::compile(std::string(".*(") + text + ").*");
  return *std::move(pattern);
}

/// The names of the rows, in their order.
std::vector<std::string> names(const ReportTable& table) {
  std::vector<std::string> found;
  for (const auto& row : table.rows()) found.push_back(std::get<std::string>(row[1]));
  return found;
}

TEST(ReportTableTest, TextIsForPeople) {
  EXPECT_EQ(table_of_three().print(view_of(Layout::kText)),
            "ALLOCATOR  TYPE    HELD  USED  LIMIT\n"
            "slab       dentry  2.3M  0.3%   4.0K\n"
            "slab       a, \"b\"     0   50%      -\n"
            "table      files      -     -     10\n");
  ReportView whole = view_of(Layout::kText);
  whole.is_human = false;
  EXPECT_THAT(table_of_three().print(whole), HasSubstr("dentry  2411724  0.3%   4096\n"));
}

TEST(ReportTableTest, CsvAndJsonHaveFullPrecisionAndTheUnitInTheKey) {
  EXPECT_EQ(table_of_three().print(view_of(Layout::kCsv)),
            "allocator,type,held_bytes,used_ratio,limit_bytes\n"
            "slab,dentry,2411724,0.0032,4096\n"
            "slab,\"a, \"\"b\"\"\",0,0.5,\n"
            "table,files,,,\n");
  ReportView compact = view_of(Layout::kJson);
  compact.is_compact = true;
  const std::string json = table_of_three().print(compact);
  EXPECT_THAT(json, HasSubstr("\"type\":\"dentry\",\"held_bytes\":2411724,\"used_ratio\":0.0032,\"limit_bytes\":4096}"));
  EXPECT_THAT(json, HasSubstr("\"allocator\":\"table\",\"type\":\"files\"}")) << "no key for an unknown value";
  EXPECT_THAT(json, Not(HasSubstr("LIMIT")));
}

TEST(ReportTableTest, PatternsMatchAnyPartOfANameOrOfAllocatorAndName) {
  ReportTable table = table_of_three();
  ReportView view;
  view.patterns = {part("^den|les$")};
  EXPECT_EQ(table.select(view), "");
  EXPECT_THAT(names(table), ElementsAre("dentry", "files"));
  ReportTable other = table_of_three();
  view.patterns = {part("slab/d")};
  EXPECT_EQ(other.select(view), "");
  EXPECT_THAT(names(other), ElementsAre("dentry"));
  view.patterns = {part("dentri")};
  ReportTable third = table_of_three();
  EXPECT_THAT(third.select(view), HasSubstr("nothing here matches \"dentri\"; did you mean dentry?"));
  view.patterns.clear();
  view.allocator = *NamePattern::compile("table");
  EXPECT_EQ(third.select(view), "");
  EXPECT_THAT(names(third), ElementsAre("files"));
}

TEST(ReportTableTest, SortsByKeyTitleOrTheBeginningOfAKeyTheUnknownLast) {
  for (const char* const word : {"held_bytes", "HELD", "held"}) {
    ReportTable table = table_of_three();
    ReportView view;
    view.sort = word;
    view.is_reversed = true;
    EXPECT_EQ(table.select(view), "");
    EXPECT_THAT(names(table), ElementsAre("a, \"b\"", "dentry", "files")) << word;
  }
  ReportTable table = table_of_three();
  ReportView view;
  view.sort = "hled_bytes";
  EXPECT_THAT(table.select(view), HasSubstr("did you mean held_bytes? Columns: allocator, type, held_bytes"));
  view.sort = "type";
  view.limit = 2;
  EXPECT_EQ(table.select(view), "");
  EXPECT_THAT(names(table), ElementsAre("a, \"b\"", "dentry"));
}

TEST(ReportTableTest, FitsTheTerminalByShorterNamesAndFewerColumns) {
  ReportTable table("types", kColumns, 2);
  table.add({std::string("slab"), std::string(60, 'x') + "y", std::uint64_t{1}, 0.5, UnitAmount{1, false}, Cell()});
  for (std::size_t width = 36; width < 100; ++width) {
    ReportView view = view_of(Layout::kText);
    view.width = width;
    std::istringstream text(table.print(view));
    for (std::string line; std::getline(text, line);) EXPECT_LE(width_of(line), width) << line;
  }
  ReportView view = view_of(Layout::kText);
  view.width = 60;
  EXPECT_THAT(table.print(view), StartsWith("ALLOCATOR  TYPE ")) << "names give way before columns";
  EXPECT_THAT(table.print(view), HasSubstr("LIMIT"));
  EXPECT_THAT(table.print(view), HasSubstr("xy"));
  view.width = 40;
  EXPECT_THAT(table.print(view), Not(HasSubstr("LIMIT"))) << "the least important column is dropped first";
  EXPECT_THAT(table.print(view), HasSubstr("HELD"));
}

}  // namespace
}  // namespace memstat::ctl
