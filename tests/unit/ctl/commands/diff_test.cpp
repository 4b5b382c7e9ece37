// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/commands/reports.h"

#include "daemon/ctl/source/report_source.h"
#include "tests/support/staging_builder.h"
#include "tests/support/test.h"
#include "tests/support/tracked_list.h"

namespace memstat::ctl {
namespace {

using enum Field;

class DiffReport : public testing::Test {
 protected:
  static void fill(TrackedList& list, const StagingBuilder& staging) { list.poll(staging); }
  [[nodiscard]] ReportTable table_of_both() const { return diff_table(rows_of(before_.snapshot), rows_of(after_.snapshot)); }
  TrackedList before_{{}, Allocator::kSlab};
  TrackedList after_{{}, Allocator::kSlab};
};

TEST_F(DiffReport, ListsTheLargestGrowthFirstAndOmitsUnchangedTypes) {
  StagingBuilder before;
  before.type("grew", {{kBytes, 100}, {kCount, 1}})
      .type("shrank", {{kBytes, 5000}, {kCount, 50}})
      .type("stayed", {{kBytes, 7}, {kCount, 1}})
      .type("failed", {{kBytes, 7}, {kFailures, 1}})
      .type("went", {{kBytes, 30}, {kCount, 3}});
  StagingBuilder after;
  after.type("grew", {{kBytes, 300}, {kCount, 3}})
      .type("shrank", {{kBytes, 1000}, {kCount, 10}})
      .type("stayed", {{kBytes, 7}, {kCount, 1}})
      .type("failed", {{kBytes, 7}, {kFailures, 5}})
      .type("came", {{kBytes, 4096}, {kCount, 2}});
  fill(before_, before);
  fill(after_, after);
  EXPECT_EQ(table_of_both().print({.layout = Layout::kText, .is_human = false, .width = 0}),
            "ALLOCATOR  TYPE    BEFORE  AFTER  BYTES  OBJECTS  FAILURES\n"
            "slab       came         -   4096  +4096       +2         -\n"
            "slab       grew       100    300   +200       +2         -\n"
            "slab       failed       7      7      0        -        +4\n"
            "slab       went        30      -    -30       -3         -\n"
            "slab       shrank    5000   1000  -4000      -40         -\n");
  EXPECT_THAT(table_of_both().print({.layout = Layout::kText, .width = 0}), HasSubstr("+4.0K"));
  EXPECT_TRUE(diff_table(rows_of(before_.snapshot), rows_of(before_.snapshot)).empty()) << "nothing changed";
}

}  // namespace
}  // namespace memstat::ctl
