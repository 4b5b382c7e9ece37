// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/telemetry/self_metrics.h"

#include "daemon/snapshot/own_metrics.h"
#include "tests/support/failing_allocations_new.h"
#include "tests/support/page.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

class SelfMetricsTest : public testing::Test {
 protected:
  [[nodiscard]] std::optional<std::string> value(std::string_view series) const { return value_of(metrics_.text(), series); }
  SelfMetrics metrics_{"1.2.3"};
};

TEST(SelfMetrics, ASourceThatThereWasNoMemoryForIsCompleteWithTheNextPoll) {
  bool fails = true;
  std::ptrdiff_t at = 0;
  for (; fails; ++at) {
    SelfMetrics metrics("1.2.3");
    const SourceReport report{.read_seconds = 0.5, .read_bytes = 7, .types = 3, .success_timestamp_seconds = 1000};
    {
      const FailingAllocation failing(at);
      try {
        metrics.source_succeeded("s", report);
      } catch (const std::bad_alloc&) {
      }
      fails = failing.has_failed();
    }
    metrics.source_succeeded("s", report);
    EXPECT_EQ(value_of(metrics.text(), "memstat_source_up{source=\"s\"}"), "1") << at;
    EXPECT_EQ(value_of(metrics.text(), "memstat_source_types{source=\"s\"}"), "3") << at;
    EXPECT_EQ(value_of(metrics.text(), "memstat_source_last_success_timestamp_seconds{source=\"s\"}"), "1000") << at;
  }
  EXPECT_GT(at, 4);  // at least one allocation for each gauge
}

TEST_F(SelfMetricsTest, HandsOutTheSeriesWithoutLabelsAsNumbers) {
  metrics_.source_succeeded("s", {.read_seconds = 0.5, .types = 3, .success_timestamp_seconds = 1000});
  metrics_.poll_finished(1700000000.25, 0.125, 40);
  metrics_.polls_missed(2);
  std::map<std::string, double> values;
  for (const SelfMetrics::Value& own : metrics_.values())
    EXPECT_TRUE(values.emplace(own.name, own.value).second) << own.name;
  EXPECT_EQ(values.at("memstat_poll_timestamp_seconds"), 1700000000.25);
  EXPECT_EQ(values.at("memstat_poll_duration_seconds_count"), 1);
  EXPECT_EQ(values.at("memstat_poll_duration_seconds_sum"), 0.125);
  EXPECT_EQ(values.at("memstat_poll_missed_total"), 2);
  EXPECT_EQ(values.at("memstat_series"), 40);
  EXPECT_GT(values.at("process_resident_memory_bytes"), 1e6);
  EXPECT_FALSE(values.contains("memstat_source_types")) << "it has a label";
  EXPECT_FALSE(values.contains("memstat_build_info")) << "it has a label";
}

TEST_F(SelfMetricsTest, CountersAddAndGaugesSet) {
  metrics_.polls_missed(2);
  metrics_.polls_missed(3);
  metrics_.snapshot_skipped();
  metrics_.config_reloaded(false);
  metrics_.memory_locked(true);
  metrics_.log_lines_dropped(3);
  metrics_.log_lines_dropped(3);  // of the whole time
  metrics_.poll_finished(1700000000.5, 0.25, 1234);
  EXPECT_EQ(value("memstat_poll_missed_total"), "5");
  EXPECT_EQ(value("memstat_snapshots_skipped_total"), "1");
  EXPECT_EQ(value("memstat_config_last_reload_successful"), "0");
  EXPECT_EQ(value("memstat_memory_locked"), "1");
  EXPECT_EQ(value("memstat_log_lines_dropped_total"), "3");
  EXPECT_EQ(value("memstat_series"), "1234");
  EXPECT_EQ(value("memstat_poll_timestamp_seconds"), "1700000000.5");
  metrics_.config_reloaded(true);
  EXPECT_EQ(value("memstat_config_last_reload_successful"), "1");
}

TEST_F(SelfMetricsTest, ASourcesFailuresAreCountedByReason) {
  metrics_.source_succeeded("s", {.read_seconds = 0.5, .types = 3, .success_timestamp_seconds = 1000});
  metrics_.source_failed("s", ErrorCode::kTimeout, 2);
  metrics_.source_failed("s", ErrorCode::kTimeout, 2);
  metrics_.source_failed("s", ErrorCode::kData, 0);
  EXPECT_EQ(value("memstat_source_up{source=\"s\"}"), "0");
  EXPECT_EQ(value("memstat_source_errors_total{reason=\"timeout\",source=\"s\"}"), "2");
  EXPECT_EQ(value("memstat_source_errors_total{reason=\"data\",source=\"s\"}"), "1");
  EXPECT_EQ(value("memstat_source_last_success_timestamp_seconds{source=\"s\"}"), "1000")
      << "still that of the last success";
  EXPECT_EQ(value("memstat_source_read_seconds_count{source=\"s\"}"), "4");
}

TEST_F(SelfMetricsTest, AnAbsentSourceHasNoSeriesButItsErrorCounts) {
  metrics_.source_absent("s");
  EXPECT_THAT(metrics_.text(), Not(HasSubstr("source=\"s\"")));
  metrics_.source_succeeded("s", {.read_seconds = 0.5, .types = 3, .success_timestamp_seconds = 1000});
  metrics_.source_failed("s", ErrorCode::kIo, 0);
  metrics_.source_succeeded("t", {.read_seconds = 0.5, .types = 3, .success_timestamp_seconds = 1000});
  metrics_.source_absent("s");
  for (const std::string& line : lines_of(metrics_.text())) {
    const bool is_of_s = line.find("source=\"s\"") != std::string::npos;
    EXPECT_EQ(is_of_s, is_of_s && line.starts_with("memstat_source_errors_total")) << line;
  }
  EXPECT_EQ(value("memstat_source_errors_total{reason=\"io\",source=\"s\"}"), "1");
  EXPECT_EQ(value("memstat_source_up{source=\"t\"}"), "1") << "another source is not touched";
  metrics_.source_succeeded("s", {.read_seconds = 0.5, .types = 4, .success_timestamp_seconds = 2000});
  EXPECT_EQ(value("memstat_source_up{source=\"s\"}"), "1");
  EXPECT_EQ(value("memstat_source_types{source=\"s\"}"), "4");
}

TEST_F(SelfMetricsTest, ASourceThatIsNotPermittedHasOneSeriesThatNamesThePrivilegeUntilItIsRead) {
  const std::string series = "memstat_source_not_permitted{needs=\"CAP_BPF,CAP_PERFMON\",source=\"s\"}";
  metrics_.source_failed("s", ErrorCode::kPermission, 0);
  metrics_.source_not_permitted("s", "CAP_BPF,CAP_PERFMON");
  metrics_.source_not_permitted("s", "CAP_BPF,CAP_PERFMON");
  for (const std::string& line : lines_of(metrics_.text())) {
    const bool is_of_s = line.find("source=\"s\"") != std::string::npos;
    EXPECT_EQ(is_of_s, is_of_s && (line.starts_with(series) || line.starts_with("memstat_source_errors_total"))) << line;
  }
  EXPECT_EQ(value(series), "1");
  metrics_.source_failed("s", ErrorCode::kIo, 0);
  EXPECT_FALSE(value(series));
  EXPECT_EQ(value("memstat_source_up{source=\"s\"}"), "0");
  metrics_.source_not_permitted("s", "CAP_BPF,CAP_PERFMON");
  metrics_.source_succeeded("s", {.read_seconds = 0.5, .types = 4, .success_timestamp_seconds = 2000});
  EXPECT_FALSE(value(series));
  metrics_.source_not_permitted("s", "CAP_BPF,CAP_PERFMON");
  metrics_.source_absent("s");
  EXPECT_FALSE(value(series));
}

TEST_F(SelfMetricsTest, AFindingHasOneSeriesWhoseValueIsItsLevel) {
  EXPECT_THAT(metrics_.text(), Not(HasSubstr("memstat_finding{")));
  SelfMetrics::FindingSeries one{.cause = "memory_low", .object = "page/Normal", .level = 2, .begun = 1};
  metrics_.findings({&one, 1}, 0);
  EXPECT_EQ(value("memstat_finding{cause=\"memory_low\",object=\"page/Normal\"}"), "2");
  one.level = 4;
  metrics_.findings({&one, 1}, 3);
  EXPECT_EQ(value("memstat_finding{cause=\"memory_low\",object=\"page/Normal\"}"), "4");
  EXPECT_EQ(value("memstat_findings_total{cause=\"memory_low\"}"), "1");
  EXPECT_EQ(value("memstat_findings_dropped"), "3");
  metrics_.findings({}, 0);
  EXPECT_THAT(metrics_.text(), Not(HasSubstr("memstat_finding{")));
  EXPECT_EQ(value("memstat_findings_total{cause=\"memory_low\"}"), "1") << "a counter stays";
}

TEST_F(SelfMetricsTest, OnlyAnActiveFindingHasItsWordsAndOneSeriesOfThem) {
  const std::string labels = "cause=\"memory_low\",certainty=\"likely\",culprit=\"process java (pid 3)\",headline=\"";
  SelfMetrics::FindingSeries one{.cause = "memory_low",
                                 .level = 4,
                                 .headline = "90 % used",
                                 .culprit = "process java (pid 3)",
                                 .next = "free -m",
                                 .since = "2026-11-29 03:10:12 UTC",
                                 .certainty = "likely"};
  metrics_.findings({&one, 1}, 0);
  EXPECT_EQ(value("memstat_finding_info{" + labels +
                  "90 % used\",next=\"free -m\",object=\"\",since=\"2026-11-29 03:10:12 UTC\"}"),
            "1");
  one.headline = "95 % used";
  metrics_.findings({&one, 1}, 0);
  EXPECT_THAT(metrics_.text(), Not(HasSubstr("90 % used")));
  EXPECT_EQ(value("memstat_finding_info{" + labels +
                  "95 % used\",next=\"free -m\",object=\"\",since=\"2026-11-29 03:10:12 UTC\"}"),
            "1");
  metrics_.findings({&one, 1}, 0, false);
  EXPECT_THAT(metrics_.text(), Not(HasSubstr("memstat_finding_info{")));
  one.level = 0;
  metrics_.findings({&one, 1}, 0);
  EXPECT_THAT(metrics_.text(), Not(HasSubstr("memstat_finding_info{")));
}

TEST_F(SelfMetricsTest, OwnMetricsAreThoseOfItsPageAndNoOthers) {
  metrics_.source_succeeded("s", {});
  metrics_.source_failed("s", ErrorCode::kIo, 0);
  metrics_.kernel_opened("linux", "6.1.0");
  metrics_.boot_time(1000);
  metrics_.recording_started();
  const SelfMetrics::FindingSeries finding{.cause = "memory_low", .level = 4, .begun = 1};
  metrics_.findings({&finding, 1}, 0);
  metrics_.helper_up(true);
  metrics_.source_not_permitted("t", "root");
  metrics_.incident("swap_full");
  std::set<std::string, std::less<>> found;
  std::istringstream lines(metrics_.text());
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("# TYPE ")) found.insert(line.substr(7, line.find(' ', 7) - 7));
  }
  found.insert("memstat_poll_age_seconds");  // which the page cache writes, because it differs at each scrape
  std::set<std::string, std::less<>> known;
  for (const OwnMetric& metric : own_metrics()) known.emplace(metric.name);
  EXPECT_EQ(found, known);
}

}  // namespace
}  // namespace memstat
