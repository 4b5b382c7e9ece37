// SPDX-License-Identifier: BSD-2-Clause
// Metrics that belong to no memory type: of the machine as a whole, a zone, a node, a part of its memory; and their values.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/histogram.h"
#include "core/model/metric.h"

namespace memstat {

/// The most labels that such a metric has.
inline constexpr std::size_t kMaxSystemMetricLabels = 4;

/// A metric that belongs to no memory type. It is declared once, beside the parser that yields it, and lives as long as the
/// program; two metrics are the same when they are the same object. Sources name theirs among their origins, and from there
/// the catalogue of metrics, the page, and the tables in the manual take them. Thread safety: a constant.
struct SystemMetric {
  MetricFacts facts;
  /// Names of its labels, in the order in which values are given; empty ones at the end. None: the machine has one value.
  std::array<std::string_view, kMaxSystemMetricLabels> labels = {};
  /// Of kind kHistogram, and of no other.
  const HistogramBuckets* buckets = nullptr;

  [[nodiscard]] constexpr std::span<const std::string_view> label_names() const {
    std::size_t count = 0;
    while (count < labels.size() && !labels[count].empty()) ++count;
    return {labels.data(), count};
  }
};

/// Names of labels, in the order in which values are given.
using MetricLabels = std::array<std::string_view, kMaxSystemMetricLabels>;

/// The base unit that the name of a metric ends with, or "" for a count of things.
constexpr std::string_view unit_of_name(std::string_view name) {
  constexpr std::string_view kTotal = "_total";
  if (name.ends_with(kTotal)) name.remove_suffix(kTotal.size());
  for (const std::string_view unit : {"bytes", "ratio", "seconds"}) {
    if (name.ends_with(unit)) return unit;
  }
  return {};
}

constexpr SystemMetric gauge_metric(std::string_view name, Tier tier, std::string_view help, const MetricLabels& labels = {},
                                    ValueFormat format = ValueFormat::kUnsigned) {
  return {.facts = {.name = name, .tier = tier, .help = help, .unit = unit_of_name(name), .format = format},
          .labels = labels};
}
constexpr SystemMetric counter_metric(std::string_view name, Tier tier, std::string_view help,
                                      const MetricLabels& labels = {}, ValueFormat format = ValueFormat::kUnsigned) {
  SystemMetric metric = gauge_metric(name, tier, help, labels, format);
  metric.facts.kind = MetricKind::kCounter;
  return metric;
}
constexpr SystemMetric histogram_metric(std::string_view name, Tier tier, std::string_view help,
                                        const HistogramBuckets& buckets, const MetricLabels& labels = {}) {
  SystemMetric metric = gauge_metric(name, tier, help, labels);
  metric.facts.kind = MetricKind::kHistogram;
  metric.buckets = &buckets;
  return metric;
}

/// Value of a label: a text, or a number in decimal. Lives as long as the text. Thread safety: a plain value.
class LabelValue {
 public:
  LabelValue(std::string_view text) : text_(text) {}                       // NOLINT(google-explicit-constructor)
  LabelValue(const std::string& text) : text_(text) {}                     // NOLINT(google-explicit-constructor)
  LabelValue(const char* text) : text_(text) {}                            // NOLINT(google-explicit-constructor)
  LabelValue(std::uint64_t number) : is_number_(true), number_(number) {}  // NOLINT(google-explicit-constructor)
  /// `room` is where the digits of a number go; the view lives as long as both.
  [[nodiscard]] std::string_view view(std::array<char, 20>& room) const;

 private:
  std::string_view text_;
  bool is_number_ = false;
  std::uint64_t number_ = 0;
};

/// The values of such metrics that one parse produced. Room is kept from one poll to the next, so that filling it again
/// allocates nothing. Thread safety: none; one owner at a time.
class StagedStatistics {
 public:
  struct Entry {
    const SystemMetric* metric;
    std::uint64_t bits = 0;  ///< Read as the metric's format says; of a histogram its number.
    std::array<std::uint32_t, kMaxSystemMetricLabels> label_ends{};  // of each label's value in the texts
    std::uint32_t labels_begin = 0;
    bool is_histogram = false;
  };

  void clear() {
    entries_.clear();
    texts_.clear();
    histograms_.clear();
    bucket_counts_.clear();
    std::fill(places_.begin(), places_.end(), 0);
    placed_ = 0;
  }
  /// Adds one value. Requires as many labels as the metric has; what is missing is "". Bytes of a value that are not
  /// UTF-8 are replaced, and a value longer than kLongestLabel is cut there. Throws std::bad_alloc.
  void add(const SystemMetric& metric, std::uint64_t bits, std::initializer_list<LabelValue> labels = {});
  /// Adds to the number of this metric and these labels that merge() added since the last clear(), or a new one: for names
  /// that others choose, of which two may look alike once what is no text in them is replaced. Stays at its largest rather
  /// than beginning again at 0. Throws std::bad_alloc.
  void merge(const SystemMetric& metric, std::uint64_t number, std::initializer_list<LabelValue> labels);
  /// Adds a value unless one of this metric and these labels was added so or by merge() since the last clear(); then false.
  /// Throws std::bad_alloc.
  bool add_new(const SystemMetric& metric, std::uint64_t bits, std::initializer_list<LabelValue> labels);
  void add_signed(const SystemMetric& metric, std::int64_t value, std::initializer_list<LabelValue> labels = {});
  void add_double(const SystemMetric& metric, double value, std::initializer_list<LabelValue> labels = {});

  /// `histogram`: one count more than the metric's buckets have bounds (HistogramBuckets). The counts are copied.
  void add_histogram(const SystemMetric& metric, const HistogramCounts& histogram,
                     std::initializer_list<LabelValue> labels = {});
  /// Requires an entry of add_histogram(). Lives until the next change.
  [[nodiscard]] HistogramCounts histogram(const Entry& entry) const {
    const HistogramPlace& place = histograms_[entry.bits];
    return {.counts = std::span(bucket_counts_).subspan(place.begin, place.size), .sum = place.sum};
  }

  /// Whether there is a value of this metric with this first label. Looks at all of them.
  [[nodiscard]] bool has(const SystemMetric& metric, std::string_view first_label) const;
  /// In the order in which they were added.
  [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }
  /// Value of label `index` of an entry; valid UTF-8. Lives until the next change.
  [[nodiscard]] std::string_view label(const Entry& entry, std::size_t index) const {
    const std::uint32_t begin = index == 0 ? entry.labels_begin : entry.label_ends[index - 1];
    return std::string_view(texts_).substr(begin, entry.label_ends[index] - begin);
  }

  /// B; paths of control groups are the longest that kernels have.
  static constexpr std::size_t kLongestLabel = 4096;

 private:
  struct HistogramPlace {
    std::size_t begin = 0;  // in the counts
    std::size_t size = 0;
    double sum = 0;
  };

  /// All labels of an entry, one behind the other.
  [[nodiscard]] std::string_view labels(const Entry& entry) const {
    return std::string_view(texts_).substr(entry.labels_begin, entry.label_ends.back() - entry.labels_begin);
  }
  [[nodiscard]] bool is_same(const Entry& a, const Entry& b) const;
  [[nodiscard]] std::size_t place_of(const Entry& entry) const;
  void grow_places();
  Entry* add_or_find(const SystemMetric& metric, std::uint64_t bits, std::initializer_list<LabelValue> labels);

  std::vector<Entry> entries_;
  std::string texts_;
  std::vector<HistogramPlace> histograms_;
  std::vector<std::uint64_t> bucket_counts_;
  std::vector<std::uint32_t> places_;  // of entries by metric and labels, open addressing; 0: none, else index + 1
  std::size_t placed_ = 0;             // entries that have a place
};

}  // namespace memstat
