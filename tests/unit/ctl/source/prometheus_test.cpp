// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/source/prometheus.h"

#include "daemon/ctl/source/host_rows.h"
#include "tests/support/fixtures.h"
#include "tests/support/test.h"

namespace memstat::ctl {
namespace {

TEST(SeriesAnswer, HasFiniteValuesAndTheWarnings) {
  SeriesAnswer answer;
  ASSERT_TRUE(parse_series(read_text(fixture_path("requests/query-answer-vector.json")), false, answer));
  ASSERT_EQ(answer.series.size(), 1U) << "NaN is left out";
  EXPECT_EQ(answer.series[0].value, 4);
  EXPECT_EQ(answer.series[0].labels.at("instance"), "db1:8947");
  EXPECT_EQ(answer.warnings, std::vector<std::string>{"a store is down"});
}

TEST(SeriesAnswer, OfARangeHasItsPointsInOrder) {
  constexpr const char* kMatrix =
      R"({"status":"success","data":{"resultType":"matrix","result":[{"metric":{"type":"a"},)"
      R"("values":[[1,"2"],[2,"NaN"],[3,"4"],[3,"5"],["4","6"],[5]]},{"metric":{},"values":[]}]}})";
  SeriesAnswer answer;
  ASSERT_TRUE(parse_series(kMatrix, true, answer));
  ASSERT_EQ(answer.series.size(), 1U) << "a series without values is left out";
  EXPECT_EQ(answer.series[0].label("type"), "a");
  EXPECT_EQ(answer.series[0].label("allocator"), "");
  ASSERT_EQ(answer.series[0].points.size(), 2U);
  EXPECT_EQ(answer.series[0].points[1].seconds, 3);
  EXPECT_EQ(answer.series[0].points[1].value, 4);
  EXPECT_FALSE(parse_series(kMatrix, false, answer)) << "not the answer to an instant query";
}

TEST(SeriesAnswer, CutAnywhereIsRefused) {
  const std::string whole = read_text(fixture_path("requests/query-answer-vector.json"));
  for (std::size_t size = 0; size + 2 < whole.size(); ++size) {
    SeriesAnswer answer;
    EXPECT_FALSE(parse_series(std::string_view(whole).substr(0, size), false, answer)) << size;
  }
}

TEST(SeriesAnswer, KeepsTheErrorOfTheServer) {
  SeriesAnswer answer;
  EXPECT_FALSE(parse_series(R"({"status":"error","error":"too many samples"})", false, answer));
  EXPECT_EQ(answer.problem, "too many samples");
}

TEST(LabelMatchers, AreQuotedAgain) {
  EXPECT_EQ(quoted_matchers(R"(cluster="a", site=~'x|y' ,a!="",b!~"\\d+")"), R"(cluster="a",site=~"x|y",a!="",b!~"\\d+")");
  EXPECT_EQ(quoted_matchers(R"(a=~"1\.2")"), R"(a=~"1\\.2")") << "the backslash belongs to the regular expression";
  EXPECT_EQ(quoted_matchers(R"(a='say "x"')"), R"(a="say \"x\"")");
  EXPECT_EQ(quoted_matchers(""), "");
}

TEST(LabelMatchers, ThatEndTheSelectorAreRefused) {
  for (const char* text : {"a=\"\n\"", R"(a="b"} or up{c="d")", R"(a="b)", "a=b", R"({a="b"})", R"(a="b",,)", R"(1a="b")",
                           "up", R"(a="b\)", "="}) {
    EXPECT_EQ(quoted_matchers(text), std::nullopt) << text;
  }
}

TEST(PromQlString, CannotBeEndedByItsText) {
  EXPECT_EQ(quoted_string(R"x(a"} or up)x"), R"x("a\"} or up")x");
  EXPECT_EQ(quoted_string("a\\\n"), R"x("a\\\n")x");
}

TEST(PrometheusReference, HasNoPassword) {
  EXPECT_EQ(check_prometheus("prometheus:http://a:9090/prefix"), "");
  EXPECT_NE(check_prometheus("prometheus:http://me:x@a:9090"), "");
  EXPECT_NE(check_prometheus("prometheus:a:9090"), "");
}

TEST(NotKernelParts, AreThoseOfTheRules) {
  const std::string config = read_text(source_path("dashboards/mixin/config.libsonnet"));
  EXPECT_NE(config.find("notKernel: '" + std::string(kNotKernelParts) + "'"), std::string::npos);
}

}  // namespace
}  // namespace memstat::ctl
