// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/commands/reports.h"

#include "tests/support/test.h"

namespace memstat::ctl {
namespace {

GrowthAnswer answer() {
  GrowthRow row;
  row.allocator = "slab";
  row.name = "filp";
  row.now = row.grew = 19456;
  row.per_second = 100;
  row.confidence = 0.9999;
  row.rising = 1;
  row.memory_seconds = 10000;
  row.with = {{.allocator = "slab", .name = "dentry"}, {.allocator = "slab", .name = "lsm_file_cache"}};
  GrowthAnswer answer;
  answer.polls = 60;
  answer.seconds = 590;
  answer.is_enough = true;
  answer.growing.push_back(row);
  return answer;
}

TEST(Leaks, HaveARowEachAndJsonTheWindow) {
  ReportView view;
  view.layout = Layout::kJson;
  const std::string json = leaks_table(answer()).print(view);
  EXPECT_THAT(json, HasSubstr("\"polls\": 60"));
  EXPECT_THAT(json, HasSubstr("\"per_second\": 100"));
  EXPECT_THAT(json, HasSubstr("\"with\": \"dentry, lsm_file_cache\""));
}

TEST(Leaks, AnswersOfAMemstatdAreParsedAndOthersRefused) {
  GrowthAnswer parsed;
  ASSERT_TRUE(parse_growth_answer(
      R"({"polls":9,"seconds":80,"enough":true,"growing":[{"allocator":"account","type":"unaccounted","of":"bytes","now":-5,)"
      R"("grew":1e300,"shape":"steady","per_second":1.5,"with":[{"type":"a"}]}],"set_aside":[]})",
      parsed));
  EXPECT_EQ(parsed.polls, 9U);
  EXPECT_EQ(parsed.growing.at(0).now, -5);
  EXPECT_EQ(parsed.growing.at(0).grew, 9'000'000'000'000'000'000);
  ASSERT_EQ(parsed.growing.at(0).with.size(), 1U);
  EXPECT_EQ(parsed.growing.at(0).with[0].name, "a");
  for (const char* wrong : {"", "[]", "{}", R"({"polls":1})", R"({"polls":1,"growing":[1],"set_aside":[]})"}) {
    GrowthAnswer of_wrong;
    EXPECT_FALSE(parse_growth_answer(wrong, of_wrong)) << wrong;
  }
}

}  // namespace
}  // namespace memstat::ctl
