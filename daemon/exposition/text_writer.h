// SPDX-License-Identifier: BSD-2-Clause
// The writer of both text formats. With kIsOpenMetrics, counter families are named without `_total`, and units and start
// times are on the page.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <string>
#include <vector>

#include "daemon/exposition/number_text.h"
#include "daemon/exposition/page_renderer.h"

namespace memstat {

template <bool kIsOpenMetrics>
class TextWriter : public PageAppender {
 public:
  TextWriter(Buffer& out, const RenderOptions& options)
      : PageAppender(out), writes_created_(kIsOpenMetrics && options.created) {}

  void begin_family(const FamilyHeader& header, std::size_t, std::size_t) {
    name_size_ = std::min(header.name.size(), kMaxMetricNameSize);
    std::memcpy(name_.data(), header.name.data(), name_size_);
    std::string_view family = name();
    if (kIsOpenMetrics && header.kind == FamilyKind::kCounter && family.ends_with(page_renderer::kTotal)) {
      family.remove_suffix(page_renderer::kTotal.size());
    }
    family_size_ = family.size();
    put("# HELP ");
    put(family);
    put(" ");
    put_help(header.help);
    put("\n# TYPE ");
    put(family);
    put(header.kind == FamilyKind::kCounter     ? " counter\n"
        : header.kind == FamilyKind::kHistogram ? " histogram\n"
                                                : " gauge\n");
    if (kIsOpenMetrics && !header.unit.empty()) {
      put("# UNIT ");
      put(family);
      put(" ");
      put(header.unit);
      put("\n");
    }
  }
  void end_family() {}

  [[nodiscard]] std::size_t most_bytes(std::size_t samples, std::size_t label_bytes) const {
    // `} `, the value, the line feed; an extra label with its number; `_created`, which is longer than `_total`
    constexpr std::size_t kOthers = 3 + 25 + 32 + 8;
    return (writes_created_ ? 2 : 1) * (samples * (name_size_ + kOthers) + label_bytes) + kCopyPadding + kNumberRoom;
  }

  template <ValueFormat kFormat>
  [[gnu::always_inline]] char* row_sample(char* at, const RowLabels& labels, const ExtraLabel& extra, std::uint64_t bits,
                                          std::int64_t created_ns) const {
    at = row_series(copy_padded(at, name_.data(), name_size_), labels, extra);
    at = write_value<kFormat>(at, bits);
    if constexpr (kIsOpenMetrics) {
      if (writes_created_ && created_ns > 0) {
        std::memcpy(at, name_.data(), family_size_);
        at = row_series(put_at(at + family_size_, kCreated), labels, extra);
        at = write_seconds(at, created_ns);
        *at++ = '\n';
      }
    }
    return at;
  }

  template <ValueFormat kFormat>
  char* named_sample(char* at, const NamedLabels& labels, std::uint64_t bits, std::int64_t created_ns) const {
    at = named_series(copy_padded(at, name_.data(), name_size_), labels);
    at = write_value<kFormat>(at, bits);
    return write_created(at, labels, created_ns);
  }

  void named_histogram(const NamedLabels& labels, const HistogramBuckets& buckets, const HistogramCounts& histogram,
                       std::int64_t created_ns) {
    std::uint64_t cumulative = 0;
    const auto next = [&](std::size_t i) {
      return HistogramData::Bucket{.upper_bound = buckets.bounds[i], .cumulative = cumulative += histogram.counts[i]};
    };
    const auto count = [&] { return cumulative + histogram.counts.back(); };
    put_histogram(labels, buckets.bounds.size(), next, count, histogram.sum, created_ns);
  }

  static GaugeFrame frame_gauge(const FamilyHeader& header) {
    Buffer page;
    TextWriter writer(page, {});
    writer.begin_family(header, 1, 0);
    writer.put(header.name);
    writer.put(" ");
    return {.before = std::string(page.view()), .after = "\n"};
  }
  static char* write_gauge_value(char* at, double value) { return write_number(at, value); }

  void own_sample(const OwnLabels& labels, double value, std::int64_t created_ns) {
    const OwnText text(labels);
    char* at = need(most_bytes(1, text.labels().text.size()));
    written(named_sample<ValueFormat::kDouble>(at, text.labels(), std::bit_cast<std::uint64_t>(value), created_ns));
  }
  void own_histogram(const OwnLabels& labels, const HistogramData& data) {
    const auto next = [&](std::size_t i) { return data.buckets[i]; };
    put_histogram(
        OwnText(labels).labels(), data.buckets.size(), next, [&] { return data.count; }, data.sum, data.created_ns);
  }

 private:
  static constexpr std::string_view kCreated = "_created";

  [[nodiscard]] std::string_view name() const { return {name_.data(), name_size_}; }

  static char* put_at(char* at, std::string_view text) {
    std::memcpy(at, text.data(), text.size());
    return at + text.size();
  }
  template <ValueFormat kFormat>
  [[gnu::always_inline]] static char* write_value(char* at, std::uint64_t bits) {
    if constexpr (kFormat == ValueFormat::kUnsigned) at = write_number(at, bits);
    if constexpr (kFormat == ValueFormat::kSigned) at = write_number(at, static_cast<std::int64_t>(bits));
    if constexpr (kFormat == ValueFormat::kDouble) at = write_number(at, std::bit_cast<double>(bits));
    *at++ = '\n';
    return at;
  }
  /// Writes a histogram sample `NAMEsuffix{labels,le="bound"} value`, without `le` if the bound is "".
  template <typename Number>
  char* named_sample_of(char* at, std::string_view suffix, const NamedLabels& labels, std::string_view bound, Number value) {
    at = put_at(put_at(at, name()), suffix);
    at = copy_padded(at, labels.text.data(), labels.text.size());
    if (!bound.empty()) {
      at = put_at(put_at(at, labels.names.empty() ? "{le=\"" : ",le=\""), bound);
      *at++ = '"';
    }
    at = put_at(at, labels.names.empty() && bound.empty() ? " " : "} ");
    at = write_number(at, value);
    *at++ = '\n';
    return at;
  }
  static char* named_series(char* at, const NamedLabels& labels) {
    if (labels.names.empty()) return put_at(at, " ");
    return put_at(copy_padded(at, labels.text.data(), labels.text.size()), "} ");
  }
  /// Writes the series NAME_created, if the page has these and the time is known.
  char* write_created(char* at, const NamedLabels& labels, std::int64_t created_ns) const {
    if (!writes_created_ || created_ns <= 0) return at;
    at = named_series(put_at(put_at(at, name().substr(0, family_size_)), kCreated), labels);
    at = write_seconds(at, created_ns);
    *at++ = '\n';
    return at;
  }
  /// Writes the labels of a row's series and the blank before its value.
  [[gnu::always_inline]] static char* row_series(char* at, const RowLabels& labels, const ExtraLabel& extra) {
    at = copy_padded(at, labels.text.data(), labels.text.size());
    if (!extra.name.empty()) {
      *at++ = ',';
      at = put_at(put_at(at, extra.name), "=\"");
      at = write_number(at, extra.number);
      *at++ = '"';
    }
    return put_at(at, "} ");
  }
  void put_help(std::string_view help) {
    for (const char c : help) {
      switch (c) {
        case '\\': put("\\\\"); break;
        case '\n': put("\\n"); break;
        case '"': put(kIsOpenMetrics ? "\\\"" : "\""); break;
        default: put({&c, 1});
      }
    }
  }
  /// Formats a bound; OpenMetrics requires it to look like a floating-point number.
  static std::string_view bound_text(double bound, std::array<char, kNumberRoom + 2>& text) {
    char* end = write_number(text.data(), bound);
    const std::string_view plain(text.data(), static_cast<std::size_t>(end - text.data()));
    if (kIsOpenMetrics && plain.find_first_not_of("-0123456789") == std::string_view::npos) end = put_at(end, ".0");
    return {text.data(), static_cast<std::size_t>(end - text.data())};
  }
  /// Labels in the form that a snapshot has for those of the machine.
  class OwnText {
   public:
    explicit OwnText(const OwnLabels& labels) {
      for (const auto& [label, value] : labels) {
        text_.append(text_.empty() ? "{" : ",").append(label).append("=\"");
        append_escaped_label_value(text_, value);
        text_ += '"';
        names_.push_back(label);
      }
      size_ = text_.size();
      text_.append(kCopyPadding, '\0');
    }
    [[nodiscard]] NamedLabels labels() const { return {.text = {text_.data(), size_}, .names = names_}; }

   private:
    std::string text_;
    std::size_t size_ = 0;
    std::vector<std::string_view> names_;
  };
  /// `next` returns each bucket, in order; then `count` the number of all observations.
  template <typename Next, typename Count>
  void put_histogram(const NamedLabels& labels, std::size_t buckets, Next next, Count count, double sum,
                     std::int64_t created_ns) {
    const std::size_t series = buckets + 4;
    char* at = need(most_bytes(series, series * labels.text.size()));
    for (std::size_t i = 0; i < buckets; ++i) {
      const HistogramData::Bucket bucket = next(i);
      std::array<char, kNumberRoom + 2> text;
      at = named_sample_of(at, "_bucket", labels, bound_text(bucket.upper_bound, text), bucket.cumulative);
    }
    at = named_sample_of(at, "_bucket", labels, "+Inf", count());
    at = named_sample_of(at, "_sum", labels, "", sum);
    at = named_sample_of(at, "_count", labels, "", count());
    written(write_created(at, labels, created_ns));
  }

  std::array<char, kMaxMetricNameSize + kCopyPadding> name_{};
  std::size_t name_size_ = 0;
  std::size_t family_size_ = 0;  // size of the family name in HELP and TYPE
  const bool writes_created_;
};

}  // namespace memstat
