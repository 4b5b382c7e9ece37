// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/commands/reports.h"

#include "daemon/ctl/source/report_source.h"
#include "tests/support/test.h"

namespace memstat::ctl {
namespace {

class OneGroup final : public ReportSource {
 public:
  Sample read() override {
    TypeRow group;
    group.allocator = "memcg";
    group.name = "/pods/web";
    group.figures = MEMSTAT_FIGURE_BYTES;
    group.bytes = 1U << 20U;
    group.headroom = headroom;
    Sample sample;
    sample.types.push_back(group);
    return sample;
  }
  Machine machine() override { return {}; }
  Splits splits(const TypeRow&) override { return {}; }

  GroupHeadroom headroom;
};

std::string shown(OneGroup& source, Layout layout = Layout::kText) {
  return show(source, "/pods/web", {.layout = layout, .is_human = true}).output;
}

TEST(ShowReport, SaysWhoseLimitDecidesTheHeadroomOfAGroup) {
  OneGroup source;
  EXPECT_EQ(shown(source).find("headroom"), std::string::npos);
  source.headroom = {.bytes = 4U << 20U, .set_by = "/pods", .until_high = 2U << 20U};
  EXPECT_THAT(shown(source), HasSubstr("4.0M, until /pods is at its limit\n"));
  EXPECT_THAT(shown(source), HasSubstr("2.0M, until it is slowed down\n"));
  EXPECT_THAT(shown(source, Layout::kJson), HasSubstr("\"headroom_set_by\": \"/pods\""));
  source.headroom.set_by = "";
  EXPECT_THAT(shown(source), HasSubstr("4.0M, until it is at its limit\n"));
  source.headroom.set_by = "machine";
  EXPECT_THAT(shown(source), HasSubstr("4.0M, until the machine has no memory left\n"));
  source.headroom = {.uncertain = "swap"};
  EXPECT_THAT(shown(source), HasSubstr("uncertain: it is not known how much of the swap it can use\n"));
}

}  // namespace
}  // namespace memstat::ctl
