// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/commands/reports.h"

#include "daemon/ctl/source/report_source.h"
#include "tests/support/staging_builder.h"
#include "tests/support/test.h"
#include "tests/support/tracked_list.h"

namespace memstat::ctl {
namespace {

using enum Field;

/// The lines of a list of zones, without the header, with single blanks between cells.
std::vector<std::string> report_of_zones(const StagingBuilder& staging, TrackedList& list, bool is_human = false) {
  list.poll(staging);
  std::istringstream text(
      limits_table(rows_of(list.snapshot)).print({.layout = Layout::kText, .is_human = is_human, .width = 0}));
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) {
    std::istringstream words(line);
    std::string joined;
    for (std::string word; words >> word;) joined += (joined.empty() ? "" : " ") + word;
    lines.push_back(joined);
  }
  EXPECT_EQ(lines.at(0), "ALLOCATOR TYPE USED COUNTED LIMIT OF HEADROOM FAILURES SET BY NOTE");
  lines.erase(lines.begin());
  return lines;
}

TEST(LimitsReport, TheNearestComesFirstThenWhatFailed) {
  StagingBuilder staging;
  staging.type("far", {{kCount, 1}, {kCountLimit, 100}, {kFailures, 0}})
      .type("none", {{kCount, 1}, {kFailures, 0}})
      .type("failed", {{kCount, 1}, {kFailures, 7}})
      .type("failed more", {{kCount, 1}, {kFailures, 8}})
      .type("full", {{kCount, 60}, {kFree, 40}, {kCountLimit, 100}, {kFailures, 3}});
  TrackedList list;
  EXPECT_THAT(report_of_zones(staging, list),
              ElementsAre("uma full 100% 100 100 objects - 3 - -", "uma far 1% 1 100 objects - 0 - -",
                          "uma failed more - - - - - 8 - -", "uma failed - - - - - 7 - -"));
}

TEST(LimitsReport, AFullControlGroupIsAmongThem) {
  TypeRow group;
  group.allocator = "memcg";
  group.name = "/crowd";
  group.os = "linux";
  group.tasks = 300;
  group.tasks_limit = 300;
  const ReportTable table = limits_table(std::span(&group, 1));
  ASSERT_EQ(table.size(), 1U);
  const std::string csv = table.print({.layout = Layout::kCsv});
  EXPECT_THAT(
      csv, HasSubstr("memcg,/crowd,1,tasks,,pids.max,file of the control group,\"a parent's limit applies, too\",300,300"));
}

TEST(LimitsReport, AGroupFullOfCacheHasHeadroom) {
  TypeRow group;
  group.allocator = "memcg";
  group.name = "/db";
  group.figures = MEMSTAT_FIGURE_BYTES | MEMSTAT_FIGURE_BYTESLIMIT;
  group.bytes = group.limit_bytes = 100;
  group.headroom.bytes = 60;
  EXPECT_THAT(limits_table(std::span(&group, 1)).print({.layout = Layout::kCsv}), HasSubstr(",100,100,60\n"));
}

TEST(LimitsReport, SaysWhereALimitIsSetAndHowItApplies) {
  TypeRow files;
  files.allocator = "table";
  files.name = "files";
  files.figures = MEMSTAT_FIGURE_COUNT | MEMSTAT_FIGURE_COUNTLIMIT;
  files.objects = 5;
  files.limit_objects = 10;
  const auto csv_of = [&](const char* os) {
    files.os = os;
    return limits_table(std::span(&files, 1)).print({.layout = Layout::kCsv});
  };
  EXPECT_THAT(csv_of("linux"), HasSubstr(",fs.file-max,sysctl,CAP_SYS_ADMIN may exceed it,"));
  EXPECT_THAT(csv_of("freebsd"), HasSubstr(",kern.maxfiles,sysctl,\"users are refused 5 % earlier, root one below it\","));
  EXPECT_THAT(csv_of(""), HasSubstr("objects,,,,,5,10")) << "nothing is known about an unknown system";
}

}  // namespace
}  // namespace memstat::ctl
