// SPDX-License-Identifier: BSD-2-Clause
#include "core/model/system_metric.h"

#include <bit>
#include <charconv>
#include <functional>

#include "core/base/arithmetic.h"
#include "core/base/text.h"
#include "core/base/utf8.h"
#include "core/model/unique_number.h"

namespace memstat {

std::string_view to_string(MetricKind kind) {
  constexpr std::string_view kNames[] = {"gauge", "counter", "histogram"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string_view to_string(Tier tier) {
  constexpr std::string_view kNames[kTierCount] = {"minimal", "default", "full"};
  return kNames[static_cast<std::size_t>(tier)];
}

std::string_view LabelValue::view(std::array<char, 20>& room) const {
  if (!is_number_) return text_;
  const char* end = std::to_chars(room.data(), room.data() + room.size(), number_).ptr;
  return {room.data(), static_cast<std::size_t>(end - room.data())};
}

bool StagedStatistics::is_next(const SystemMetric& metric, std::initializer_list<LabelValue> labels) const {
  if (count_ == entries_.size()) return false;
  const Entry& entry = entries_[count_];
  if (entry.metric != &metric || labels.size() > kMaxSystemMetricLabels) return false;
  std::uint32_t end = entry.labels_begin;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    std::array<char, 20> room;
    if (label(entry, i) != labels.begin()[i].view(room)) return false;
    end = entry.label_ends[i];
  }
  return end == entry.label_ends.back();
}

StagedStatistics::Entry StagedStatistics::make_entry(const SystemMetric& metric, std::uint64_t bits,
                                                     std::initializer_list<LabelValue> labels) {
  Entry entry{.metric = &metric, .bits = bits, .labels_begin = static_cast<std::uint32_t>(texts_.size())};
  std::size_t index = 0;
  for (const LabelValue& label : labels) {
    if (index == metric.label_names().size()) break;
    std::array<char, 20> room;
    std::string_view text = label.view(room);
    std::string repaired;
    if (!is_valid_label_text(text)) text = repaired = make_label_text(text);
    texts_ += utf8_prefix(text, kMaxLabelSize);
    entry.label_ends[index++] = static_cast<std::uint32_t>(texts_.size());
  }
  for (; index < kMaxSystemMetricLabels; ++index) entry.label_ends[index] = static_cast<std::uint32_t>(texts_.size());
  return entry;
}

void StagedStatistics::remove_after(std::size_t count) {
  entries_.resize(count);
  texts_.resize(count == 0 ? 0 : entries_.back().label_ends.back());
}

void StagedStatistics::add(const SystemMetric& metric, std::uint64_t bits, std::initializer_list<LabelValue> labels) {
  if (is_next(metric, labels)) {
    entries_[count_++].bits = bits;
    return;
  }
  version_ = unique_number();
  remove_after(count_);
  entries_.push_back(make_entry(metric, bits, labels));
  ++count_;
}

bool StagedStatistics::has(const SystemMetric& metric, std::string_view first_label) const {
  return std::any_of(entries().begin(), entries().end(),
                     [&](const Entry& entry) { return entry.metric == &metric && label(entry, 0) == first_label; });
}

bool StagedStatistics::is_same(const Entry& a, const Entry& b) const {
  if (a.metric != b.metric || labels(a) != labels(b)) return false;
  for (std::size_t i = 0; i < kMaxSystemMetricLabels; ++i) {
    if (a.label_ends[i] - a.labels_begin != b.label_ends[i] - b.labels_begin) return false;
  }
  return true;
}

std::size_t StagedStatistics::hash_of(const Entry& entry) const {
  return std::hash<std::string_view>{}(labels(entry)) * 31 + std::hash<const void*>{}(entry.metric) / alignof(SystemMetric);
}

/// Finds the entry with this metric and these labels. If there is none, appends it and returns nullptr.
StagedStatistics::Entry* StagedStatistics::add_or_find(const SystemMetric& metric, std::uint64_t bits,
                                                       std::initializer_list<LabelValue> labels) {
  table_.reserve(placed_ + 1, [&](std::size_t index) { return hash_of(entries_[index]); });
  const bool is_stored = is_next(metric, labels);
  const Entry entry = is_stored ? entries_[count_] : make_entry(metric, bits, labels);
  std::uint32_t& place = table_.find(hash_of(entry), [&](std::size_t index) { return is_same(entries_[index], entry); });
  if (!is_stored) texts_.resize(entry.labels_begin);
  if (place != 0) return &entries_[place - 1];
  add(metric, bits, labels);
  place = static_cast<std::uint32_t>(count_);
  ++placed_;
  return nullptr;
}

void StagedStatistics::merge(const SystemMetric& metric, std::uint64_t number, std::initializer_list<LabelValue> labels) {
  Entry* const known = add_or_find(metric, number, labels);
  if (known != nullptr) known->bits = saturating_sum(known->bits, number);
}

bool StagedStatistics::add_new(const SystemMetric& metric, std::uint64_t bits, std::initializer_list<LabelValue> labels) {
  return add_or_find(metric, bits, labels) == nullptr;
}

void StagedStatistics::add_histogram(const SystemMetric& metric, const HistogramCounts& histogram,
                                     std::initializer_list<LabelValue> labels) {
  histograms_.push_back({.begin = bucket_counts_.size(), .size = histogram.counts.size(), .sum = histogram.sum});
  bucket_counts_.insert(bucket_counts_.end(), histogram.counts.begin(), histogram.counts.end());
  add(metric, histograms_.size() - 1, labels);
  entries_[count_ - 1].is_histogram = true;
}

void StagedStatistics::add_signed(const SystemMetric& metric, std::int64_t value, std::initializer_list<LabelValue> labels) {
  add(metric, static_cast<std::uint64_t>(value), labels);
}

void StagedStatistics::add_double(const SystemMetric& metric, double value, std::initializer_list<LabelValue> labels) {
  add(metric, std::bit_cast<std::uint64_t>(value), labels);
}

}  // namespace memstat
