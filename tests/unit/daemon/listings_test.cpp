// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/listings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/source.h"
#include "daemon/snapshot/metric_catalogue.h"
#include "tests/support/page.h"

namespace memstat {
namespace {

using testing::Contains;
using testing::Each;
using testing::HasSubstr;
using testing::StartsWith;

/// Columns of each line, counted by their tabs; an empty cell counts as 0 columns for the whole line.
std::vector<std::ptrdiff_t> columns(const std::string& list) {
  std::vector<std::ptrdiff_t> counts;
  for (const std::string& line : lines_of(list)) {
    const bool has_empty =
        line.empty() || line.front() == '\t' || line.back() == '\t' || line.find("\t\t") != std::string::npos;
    counts.push_back(has_empty ? 0 : std::count(line.begin(), line.end(), '\t') + 1);
  }
  return counts;
}

TEST(Lists, MetricsAreTabSeparatedWithAHeader) {
  const std::string list = metric_list();
  const std::vector<std::string> lines = lines_of(list);
  EXPECT_EQ(lines[0], "name\ttype\tunit\tscope\tlabels\ttier\thelp");
  EXPECT_EQ(lines.size(), metric_catalogue().size() + 1);
  EXPECT_THAT(columns(list), Each(7));
  EXPECT_THAT(lines, Contains(StartsWith("memstat_type_bytes\tgauge\tbytes\ttype\tallocator,type\tminimal\t")));
  EXPECT_THAT(lines, Contains(StartsWith("memstat_type_objects\tgauge\t-\ttype\tallocator,type\tminimal\t")));
  EXPECT_THAT(lines, Contains(StartsWith("memstat_cpu_allocations_total\tcounter\t-\tcpu\tallocator,type,cpu\tfull\t")));
  EXPECT_THAT(lines, Contains(StartsWith("memstat_accounted_bytes\tgauge\tbytes\tsystem\tpart\tminimal\t")));
  EXPECT_THAT(lines, Contains(StartsWith("memstat_unaccounted_bytes\tgauge\tbytes\tsystem\t-\tminimal\t")));
  EXPECT_TRUE(list.ends_with('\n'));
}

TEST(Lists, SourcesAreTabSeparatedWithAHeader) {
  const std::string list = source_list();
  const std::vector<std::string> lines = lines_of(list);
  EXPECT_EQ(lines[0], "name\tos\tallocator\troster\tdefault\tinterval\tneeds\tfigures\toptions\torigin\tnotes");
  EXPECT_EQ(lines.size(), all_sources().size() + 1);
  EXPECT_THAT(columns(list), Each(11));
  EXPECT_THAT(lines, Contains(StartsWith("linux_slabinfo\tlinux\tslab\tyes\tauto\tevery poll\tCAP_DAC_READ_SEARCH\tbytes: "
                                         "active_objs x objsize; count: ")));
  EXPECT_THAT(lines, Contains(HasSubstr("; cpu numallocs: mts_numallocs; ")));
}

}  // namespace
}  // namespace memstat
