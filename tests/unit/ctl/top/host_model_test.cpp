// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/top/host_model.h"

#include "tests/support/test.h"

namespace memstat::ctl {
namespace {

class HostScreenModel : public testing::Test {
 protected:
  static Report report_of(int hosts) {
    Report report{.output = "HOST     WORST  FINDING\n"};
    for (int i = 0; i < hosts; ++i) {
      report.output += "host-" + std::to_string(i) + (i == 0 ? "   now    files are full\n" : "   -      -\n");
    }
    return report;
  }
  TopAction press(const std::string& character) { return model_.press({.character = character}); }
  std::vector<std::string> texts(std::size_t height = 6) {
    std::vector<std::string> texts;
    for (const TopLine& line : model_.frame(80, height)) texts.push_back(line.text);
    return texts;
  }

  HostModel model_{"prometheus:http://p:9090", std::chrono::seconds(10)};
};

TEST_F(HostScreenModel, HasTheRowsBelowAHeadingAndARowOfKeys) {
  model_.set_report(report_of(2));
  EXPECT_THAT(texts(), testing::ElementsAre("top --hosts  prometheus:http://p:9090  2 hosts, the worst first, every 10 s",
                                            "HOST     WORST  FINDING", "host-0   now    files are full", "host-1   -      -",
                                            "", "q quit  s order  p pause  arrows scroll"));
  EXPECT_EQ(model_.frame(80, 6)[2].look, LineStyle::kCritical);
  EXPECT_EQ(model_.frame(80, 6)[3].look, LineStyle::kPlain);
}

TEST_F(HostScreenModel, AsksForRowsInAnotherOrder) {
  EXPECT_EQ(model_.view({}, 80).sort, "");
  EXPECT_EQ(press("s"), TopAction::kRead);
  EXPECT_EQ(model_.view({}, 80).sort, "available_ratio");
  EXPECT_TRUE(model_.view({}, 80).is_reversed);
}

TEST_F(HostScreenModel, ScrollsNoFurtherThanTheLastRow) {
  model_.set_report(report_of(9));
  (void)texts();
  (void)model_.press({.key = Key::kEnd});
  EXPECT_EQ(texts()[4].substr(0, 6), "host-8");
  (void)model_.press({.key = Key::kDown});
  EXPECT_EQ(texts()[4].substr(0, 6), "host-8");
  (void)model_.press({.key = Key::kHome});
  EXPECT_EQ(texts()[2].substr(0, 6), "host-0");
}

TEST_F(HostScreenModel, KeepsTheRowsWhenAServerFails) {
  model_.set_report(report_of(1));
  model_.set_report({.problem = "http://p:9090: connection refused"});
  EXPECT_EQ(texts()[2], "host-0   now    files are full");
  EXPECT_EQ(texts().back(), "http://p:9090: connection refused");
  model_.set_waiting(3);
  EXPECT_EQ(texts().back(), "no answer for 3 s");
}

TEST_F(HostScreenModel, PausesAndQuits) {
  EXPECT_EQ(press("p"), TopAction::kNone);
  EXPECT_TRUE(model_.is_paused());
  EXPECT_EQ(press("q"), TopAction::kQuit);
}

}  // namespace
}  // namespace memstat::ctl
