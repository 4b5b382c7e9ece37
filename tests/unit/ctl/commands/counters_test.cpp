// SPDX-License-Identifier: BSD-2-Clause
// `memstatctl counters` on this machine's kernel.
#include <unistd.h>

#include "daemon/ctl/commands/options.h"
#include "tests/support/test.h"

namespace memstat::ctl {
namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

Report counters_report(const CounterOptions& wanted, Layout layout) {
  CommandLine options;
  options.counters = wanted;
  options.view.layout = layout;
  return kCountersCommand.run(options);
}

class LiveCounters : public testing::Test {
 protected:
  void SetUp() override {
    const Report report = counters_report({.is_list = true}, Layout::kText);
    if (has(report.problem, "no event can be counted here")) GTEST_SKIP() << report.problem;
  }
  /// Why this kernel counts none of its own events for this account; "" if it does.
  static std::string refusal() {
    const Report report = counters_report({.command = {"true"}, .events = "page-faults"}, Layout::kText);
    return ::geteuid() != 0 && has(report.problem, "kernel.perf_event_paranoid") ? report.problem : "";
  }
};

TEST_F(LiveCounters, CountsACommand) {
  if (const std::string why = refusal(); !why.empty()) GTEST_SKIP() << why;
  const CounterOptions wanted{.command = {"true"}, .events = "page-faults,context-switches"};
  const Report text = counters_report(wanted, Layout::kText);
  EXPECT_EQ(text.problem, "");
  EXPECT_TRUE(has(text.output, "COUNT  PER SECOND  COUNTED  EVENT\n")) << text.output;
  EXPECT_TRUE(has(text.output, "100%  page-faults\n")) << text.output;
  const Report json = counters_report({.command = {"true"}, .events = "page-faults"}, Layout::kJson);
  EXPECT_TRUE(has(json.output, "\"event\": \"page-faults\"")) << json.output;
  EXPECT_FALSE(has(json.output, "\"count\": 0,")) << json.output;
}

TEST_F(LiveCounters, CountsAProcessAndACpu) {
  if (const std::string why = refusal(); !why.empty()) GTEST_SKIP() << why;
  EXPECT_TRUE(has(counters_report({.pid = ::getpid(), .events = "task-clock"}, Layout::kText).output, "  task-clock\n"));
  EXPECT_TRUE(has(counters_report({.cpu = 0}, Layout::kText).output, "  context-switches\n"));
}

TEST_F(LiveCounters, SaysWhatIsWrong) {
  if (const std::string why = refusal(); !why.empty()) GTEST_SKIP() << why;
  EXPECT_EQ(counters_report({.command = {"true"}, .events = "page-fault"}, Layout::kText).problem,
            "there is no event page-fault here; is it page-faults?");
  EXPECT_EQ(counters_report({.command = {"/nonexistent/program"}, .events = "page-faults"}, Layout::kText).problem,
            "/nonexistent/program: the program could not be run: No such file or directory");
  EXPECT_EQ(counters_report({.pid = 1 << 30, .events = "page-faults"}, Layout::kText).problem,
            "there is no process 1073741824");
  EXPECT_TRUE(
      has(counters_report({.cpu = 100000, .events = "page-faults"}, Layout::kText).problem, "there is no CPU 100000"));
  EXPECT_TRUE(has(counters_report({.cpu = 0, .events = "cpu/event=1,umask=2/,none"}, Layout::kText).problem,
                  "event cpu/event=1,umask=2/"));
}

}  // namespace
}  // namespace memstat::ctl
