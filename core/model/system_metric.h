// SPDX-License-Identifier: BSD-2-Clause
// Metrics that belong to no memory type (of the machine, a zone, a node, a part of memory), and their values.
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

#include "core/base/index_table.h"
#include "core/model/histogram.h"
#include "core/model/metric.h"

namespace memstat {

inline constexpr std::size_t kMaxSystemMetricLabels = 4;

/// A metric that belongs to no memory type. Declared once, next to its parser, with static lifetime; metrics are compared by
/// address. A source lists its metrics among its origins, from which the catalogue, the page and the manual's tables take
/// them.
struct SystemMetric {
  MetricFacts facts;
  /// Label names, in the order of the values; empty ones at the end. No labels: one value for the machine.
  std::array<std::string_view, kMaxSystemMetricLabels> labels = {};
  /// Set if, and only if, the kind is kHistogram.
  const HistogramBuckets* buckets = nullptr;

  [[nodiscard]] constexpr std::span<const std::string_view> label_names() const {
    std::size_t count = 0;
    while (count < labels.size() && !labels[count].empty()) ++count;
    return {labels.data(), count};
  }
};

/// Label names, in the order of the values.
using MetricLabels = std::array<std::string_view, kMaxSystemMetricLabels>;

/// The base unit in a metric's name, or "" for a plain count.
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

/// A label value: text, or a decimal number. Borrows the text.
class LabelValue {
 public:
  LabelValue(std::string_view text) : text_(text) {}                       // NOLINT(google-explicit-constructor)
  LabelValue(const std::string& text) : text_(text) {}                     // NOLINT(google-explicit-constructor)
  LabelValue(const char* text) : text_(text) {}                            // NOLINT(google-explicit-constructor)
  LabelValue(std::uint64_t number) : is_number_(true), number_(number) {}  // NOLINT(google-explicit-constructor)
  /// `room` holds the digits of a number; the view is valid as long as both.
  [[nodiscard]] std::string_view view(std::array<char, 20>& room) const;

 private:
  std::string_view text_;
  bool is_number_ = false;
  std::uint64_t number_ = 0;
};

/// The values of such metrics from one parse. Storage is reused between polls, so that refilling allocates nothing. Metrics
/// and labels usually are those of the poll before, so they are compared with what is stored, and only values are written.
class StagedStatistics {
 public:
  struct Entry {
    const SystemMetric* metric;
    std::uint64_t bits = 0;  ///< Interpreted by the metric's format; for a histogram, its index.
    std::array<std::uint32_t, kMaxSystemMetricLabels> label_ends{};  // end of each label value in the texts
    std::uint32_t labels_begin = 0;
    bool is_histogram = false;
  };

  void clear() {
    remove_after(count_);
    count_ = 0;
    histograms_.clear();
    bucket_counts_.clear();
    table_.clear();
    placed_ = 0;
  }
  /// Adds one value. Requires at most as many labels as the metric has; missing ones are "". Bytes of a label that are not
  /// valid UTF-8 are replaced, and labels are truncated to kMaxLabelSize. Throws std::bad_alloc.
  void add(const SystemMetric& metric, std::uint64_t bits, std::initializer_list<LabelValue> labels = {});
  /// Adds to the value of this metric and these labels merged since the last clear(), or adds a new one. For names chosen by
  /// third parties: two may become equal after invalid bytes are replaced. Saturates instead of wrapping. Throws
  /// std::bad_alloc.
  void merge(const SystemMetric& metric, std::uint64_t number, std::initializer_list<LabelValue> labels);
  /// Adds a value unless one with this metric and these labels was added by this or by merge() since the last clear();
  /// returns false then. Throws std::bad_alloc.
  bool add_new(const SystemMetric& metric, std::uint64_t bits, std::initializer_list<LabelValue> labels);
  void add_signed(const SystemMetric& metric, std::int64_t value, std::initializer_list<LabelValue> labels = {});
  void add_double(const SystemMetric& metric, double value, std::initializer_list<LabelValue> labels = {});

  /// `histogram` has one count more than the metric's buckets have bounds (HistogramBuckets). Copies the counts.
  void add_histogram(const SystemMetric& metric, const HistogramCounts& histogram,
                     std::initializer_list<LabelValue> labels = {});
  /// Requires an entry of add_histogram(). Valid until the next change.
  [[nodiscard]] HistogramCounts histogram(const Entry& entry) const {
    const HistogramPlace& place = histograms_[entry.bits];
    return {.counts = std::span(bucket_counts_).subspan(place.begin, place.size), .sum = place.sum};
  }

  /// Whether a value of this metric has this first label. Linear search.
  [[nodiscard]] bool has(const SystemMetric& metric, std::string_view first_label) const;
  /// In insertion order.
  [[nodiscard]] std::span<const Entry> entries() const { return std::span(entries_).first(count_); }
  /// Metrics and labels of all entries, but not their values: two objects of the same shape have the same.
  struct Shape {
    std::uint64_t version = 0;
    std::size_t count = 0;
    friend bool operator==(const Shape& a, const Shape& b) = default;
  };
  [[nodiscard]] Shape shape() const { return {.version = version_, .count = count_}; }
  /// Label `index` of an entry, valid UTF-8. Valid until the next change.
  [[nodiscard]] std::string_view label(const Entry& entry, std::size_t index) const {
    const std::uint32_t begin = index == 0 ? entry.labels_begin : entry.label_ends[index - 1];
    return std::string_view(texts_).substr(begin, entry.label_ends[index] - begin);
  }

  /// In bytes. The longest labels are paths of control groups.
  static constexpr std::size_t kMaxLabelSize = 4096;

 private:
  struct HistogramPlace {
    std::size_t begin = 0;  // in the counts
    std::size_t size = 0;
    double sum = 0;
  };

  /// All labels of an entry, concatenated.
  [[nodiscard]] std::string_view labels(const Entry& entry) const {
    return std::string_view(texts_).substr(entry.labels_begin, entry.label_ends.back() - entry.labels_begin);
  }
  [[nodiscard]] bool is_same(const Entry& a, const Entry& b) const;
  /// Whether the entry of the poll before, in the place of the next one, has this metric and these labels.
  [[nodiscard]] bool is_next(const SystemMetric& metric, std::initializer_list<LabelValue> labels) const;
  /// An entry whose labels are behind all others in the texts.
  Entry make_entry(const SystemMetric& metric, std::uint64_t bits, std::initializer_list<LabelValue> labels);
  void remove_after(std::size_t count);
  [[nodiscard]] std::size_t hash_of(const Entry& entry) const;
  Entry* add_or_find(const SystemMetric& metric, std::uint64_t bits, std::initializer_list<LabelValue> labels);

  std::vector<Entry> entries_;  // those from count_ on are of the poll before
  std::size_t count_ = 0;
  std::uint64_t version_ = 0;  // changes with each entry that is not as stored; unique in the process
  std::string texts_;
  std::vector<HistogramPlace> histograms_;
  std::vector<std::uint64_t> bucket_counts_;
  IndexTable table_;        // of add_or_find(): entries by metric and labels
  std::size_t placed_ = 0;  // entries in that table
};

}  // namespace memstat
