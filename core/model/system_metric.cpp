// SPDX-License-Identifier: BSD-2-Clause
#include "core/model/system_metric.h"

#include <bit>
#include <charconv>

#include "core/base/text.h"

namespace memstat {
namespace {

/// At most `most` bytes of valid UTF-8, which end between two characters.
std::string_view cut(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text;
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0U) == 0x80U) --most;
  return text.substr(0, most);
}

}  // namespace

std::string_view to_string(MetricKind kind) {
  switch (kind) {
    case MetricKind::kGauge: return "gauge";
    case MetricKind::kCounter: return "counter";
    case MetricKind::kHistogram: return "histogram";
  }
  return "unknown";
}

std::string_view to_string(Tier tier) {
  switch (tier) {
    case Tier::kMinimal: return "minimal";
    case Tier::kDefault: return "default";
    case Tier::kFull: return "full";
  }
  return "unknown";
}

std::string_view LabelValue::view(std::array<char, 20>& room) const {
  if (!is_number_) return text_;
  const char* end = std::to_chars(room.data(), room.data() + room.size(), number_).ptr;
  return {room.data(), static_cast<std::size_t>(end - room.data())};
}

void StagedStatistics::add(const SystemMetric& metric, std::uint64_t bits, std::initializer_list<LabelValue> labels) {
  Entry entry{.metric = &metric, .bits = bits, .labels_begin = static_cast<std::uint32_t>(texts_.size())};
  std::size_t index = 0;
  for (const LabelValue& label : labels) {
    if (index == metric.label_names().size()) break;
    std::array<char, 20> room;
    const std::string_view text = label.view(room);
    if (is_valid_label_text(text)) {
      texts_ += cut(text, kLongestLabel);
    } else {
      texts_ += cut(make_label_text(text), kLongestLabel);
    }
    entry.label_ends[index++] = static_cast<std::uint32_t>(texts_.size());
  }
  for (; index < kMaxSystemMetricLabels; ++index) entry.label_ends[index] = static_cast<std::uint32_t>(texts_.size());
  entries_.push_back(entry);
}

void StagedStatistics::add_histogram(const SystemMetric& metric, const HistogramCounts& histogram,
                                     std::initializer_list<LabelValue> labels) {
  histograms_.push_back({.begin = bucket_counts_.size(), .size = histogram.counts.size(), .sum = histogram.sum});
  bucket_counts_.insert(bucket_counts_.end(), histogram.counts.begin(), histogram.counts.end());
  add(metric, histograms_.size() - 1, labels);
  entries_.back().is_histogram = true;
}

void StagedStatistics::add_signed(const SystemMetric& metric, std::int64_t value, std::initializer_list<LabelValue> labels) {
  add(metric, static_cast<std::uint64_t>(value), labels);
}

void StagedStatistics::add_double(const SystemMetric& metric, double value, std::initializer_list<LabelValue> labels) {
  add(metric, std::bit_cast<std::uint64_t>(value), labels);
}

}  // namespace memstat
