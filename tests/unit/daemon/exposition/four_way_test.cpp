// SPDX-License-Identifier: BSD-2-Clause
// The same values in text, OpenMetrics, protobuf and in what prometheus-cpp writes, of every captured kernel of the
// fixtures.
#include <gtest/gtest.h>
#include <cmath>

#include <bit>
#include <cstdlib>
#include <limits>
#include <map>
#include <string>

#include "daemon/poll/poller.h"
#include "tests/support/fixtures.h"
#include "tests/support/page.h"
#include "tests/support/prometheus_page.h"
#include "tests/support/protobuf_page.h"
#include "tests/support/source_cases.h"

namespace memstat {
namespace {

/// Value by series, written as in the text formats.
using Values = std::map<std::string, double>;

std::string bound_text(double bound) { return std::to_string(std::bit_cast<std::uint64_t>(bound)); }

/// A series with the bound of its bucket, if it has one, as all formats have it: OpenMetrics writes 8 as 8.0.
std::string with_plain_bound(const std::string& series) {
  const std::size_t at = series.find("le=\"");
  if (series.find("_bucket{") == std::string::npos || at == std::string::npos) return series;
  const std::size_t begin = at + 4;
  const double bound = std::strtod(series.c_str() + begin, nullptr);
  return series.substr(0, begin) + bound_text(bound) + series.substr(series.find('"', begin));
}

Values values_of_text(std::string_view page) {
  Values values;
  for (const std::string& line : lines_of(page)) {
    if (line.starts_with('#')) continue;
    const std::size_t blank = line.rfind(' ');
    const std::string series = with_plain_bound(line.substr(0, blank));
    const bool is_new = values.emplace(series, std::strtod(line.c_str() + blank + 1, nullptr)).second;
    EXPECT_TRUE(is_new) << "a series twice: " << line;
  }
  return values;
}

/// A histogram's series, which are several; `labels` without braces.
void add_histogram(const ProtobufHistogram& histogram, const std::string& name, const std::string& labels, Values& values) {
  const std::string braced = labels.empty() ? "" : "{" + labels + "}";
  values.emplace(name + "_sum" + braced, histogram.sample_sum);
  values.emplace(name + "_count" + braced, static_cast<double>(histogram.sample_count));
  for (const auto& [bound, count] : histogram.buckets) {
    const std::string comma = labels.empty() ? "" : ",";
    values.emplace(name + "_bucket{" + labels + comma + "le=\"" + bound_text(bound) + "\"}", static_cast<double>(count));
  }
}

Values values_of_protobuf(std::string_view page) {
  Values values;
  for (const ProtobufFamily& family : read_protobuf_page(page)) {
    for (const ProtobufMetric& metric : family.metrics) {
      std::string labels;
      for (const auto& [name, value] : metric.labels) {
        labels += (labels.empty() ? "" : ",") + name + "=\"";
        append_escaped_label_value(labels, value);
        labels += '"';
      }
      if (metric.histogram) {
        add_histogram(*metric.histogram, family.name, labels, values);
        continue;
      }
      const std::string series = family.name + (labels.empty() ? "" : "{" + labels + "}");
      EXPECT_NE(metric.gauge.has_value(), metric.counter.has_value()) << series;
      const bool is_new = values.emplace(series, metric.gauge ? *metric.gauge : *metric.counter).second;
      EXPECT_TRUE(is_new) << "a series twice: " << series;
    }
  }
  return values;
}

/// The first few series that only one side has, or that differ by more than so much of their value.
std::string difference(const Values& a, const Values& b, double tolerance = 0) {
  std::string text;
  int shown = 0;
  const auto add = [&](const Values& from, const Values& other, std::string_view side) {
    for (const auto& [series, value] : from) {
      const auto found = other.find(series);
      if (found != other.end() && std::abs(found->second - value) <= tolerance * std::abs(value)) continue;
      if (++shown <= 6) {
        text += std::string(side) + series + " " + std::to_string(value) +
                (found == other.end() ? " is missing" : " is " + std::to_string(found->second)) + " on the other side\n";
      }
    }
  };
  add(a, b, "text: ");
  add(b, a, "other: ");
  return text;
}

class FourWayTest : public testing::TestWithParam<std::string> {};

TEST_P(FourWayTest, EveryFormatHasTheSameSeriesAndValues) {
  auto capture = open_fixture(GetParam());
  const std::shared_ptr<ReplayKernelView> view = std::move(capture);
  const SystemClock clock;
  SelfMetrics metrics("test");
  SnapshotPool pool;
  Config config;
  for (const SourceDescriptor* source : all_sources()) {
    if (!source->is_on_by_default) config.sources[std::string(source->name)].enabled = Switch::kOn;
  }
  Poller poller(view, clock, metrics, pool, config, {.everything = true, .log = {}});
  poller.open_sources();
  for (std::size_t poll = 0; poll < view->poll_count(); ++poll) {
    ASSERT_TRUE(view->select_poll(poll));
    ASSERT_TRUE(poller.poll(view->poll_info(poll).monotonic_ns));
  }
  const auto snapshot = pool.current();
  ASSERT_NE(snapshot, nullptr);
  const Values text = values_of_text(page_of(*snapshot, ExpositionFormat::kText));
  EXPECT_EQ(text.size(), snapshot->series);
  EXPECT_GE(text.size(), 10U);  // as many as the capture of one small source has
  EXPECT_EQ(problem_of(page_of(*snapshot, ExpositionFormat::kText)), "");
  EXPECT_EQ(difference(text, values_of_text(page_of(*snapshot, ExpositionFormat::kOpenMetrics))), "");
  EXPECT_EQ(difference(text, values_of_protobuf(page_of(*snapshot, ExpositionFormat::kProtobuf))), "");
  // prometheus-cpp writes 16 digits of a double, one less than some need.
  EXPECT_EQ(difference(text, values_of_text(prometheus_text(*snapshot)), 1e-15), "");
}

TEST_P(FourWayTest, TheDaemonsOwnFiguresAreTheSameToo) {
  SelfMetrics metrics("test");
  metrics.source_succeeded("s", {.read_seconds = 0.25, .types = 3, .success_timestamp_seconds = 1.7e9 + 0.125});
  metrics.source_failed("t", ErrorCode::kTimeout, 2);
  const auto is_stable = [](const std::string& series) { return !series.starts_with("process_"); };
  Values text = values_of_text(metrics.page(ExpositionFormat::kText));
  Values open = values_of_text(metrics.page(ExpositionFormat::kOpenMetrics));
  std::size_t compared = 0;
  for (const auto& [series, value] : text) {
    if (!is_stable(series)) continue;
    ASSERT_TRUE(open.contains(series)) << series;
    EXPECT_EQ(open[series], value) << series;
    ++compared;
  }
  EXPECT_EQ(open.size(), text.size());
  EXPECT_GT(compared, 20U);
  for (const ProtobufFamily& family : read_protobuf_page(metrics.page(ExpositionFormat::kProtobuf))) {
    for (const ProtobufMetric& metric : family.metrics) {
      std::string labels;
      for (const auto& [name, value] : metric.labels) labels += (labels.empty() ? "" : ",") + name + "=\"" + value + "\"";
      const std::string braced = labels.empty() ? "" : "{" + labels + "}";
      if (!metric.histogram) {
        if (!is_stable(family.name)) continue;
        ASSERT_TRUE(text.contains(family.name + braced)) << family.name + braced;
        EXPECT_EQ(text[family.name + braced], metric.gauge ? *metric.gauge : *metric.counter) << family.name;
        continue;
      }
      const ProtobufHistogram& histogram = *metric.histogram;
      EXPECT_EQ(text[family.name + "_sum" + braced], histogram.sample_sum);
      EXPECT_EQ(text[family.name + "_count" + braced], static_cast<double>(histogram.sample_count));
      EXPECT_EQ(
          text[family.name + "_bucket{" + labels + ",le=\"" + bound_text(std::numeric_limits<double>::infinity()) + "\"}"],
          static_cast<double>(histogram.buckets.back().second));
      std::int64_t native = static_cast<std::int64_t>(histogram.zero_count);
      std::int64_t count = 0;
      for (const std::int64_t delta : histogram.deltas) native += count += delta;
      EXPECT_EQ(native, static_cast<std::int64_t>(histogram.sample_count));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Captures, FourWayTest, testing::ValuesIn(all_captures()), name_of_capture);

}  // namespace
}  // namespace memstat
