// SPDX-License-Identifier: BSD-2-Clause
// The common traversal of catalogue, snapshot and the daemon's own metrics for all formats. A format provides a Writer:
//
//   explicit Writer(Buffer&, const RenderOptions&)       writes at the end of the buffer
//   begin_family(FamilyHeader, samples, label_bytes)     estimates of the samples and the bytes of their rows' labels
//   end_family()
//   most_bytes(samples, label_bytes)                     room that row_sample needs for that many samples with that many
//                                                        bytes of row labels
//   row_sample<ValueFormat>(at, labels, extra, bits, created_ns) -> end
//                                                        one sample of a snapshot's row: the hot path, without a check of
//                                                        room
//   named_sample<ValueFormat>(at, labels, bits, created_ns) -> end
//                                                        one sample with NamedLabels; room as for row_sample
//   named_histogram(labels, buckets, counts, created_ns) one histogram of a snapshot; checks room itself
//   own_sample(labels, value, created_ns)                one gauge or counter of the daemon
//   own_histogram(labels, data)
//   static frame_gauge(FamilyHeader) -> GaugeFrame       a page of one gauge without labels, around its value
//   static write_gauge_value(at, value) -> end           that value
//
// A format is one file: its Writer, and a FormatDescriptor made with describe_format().
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/exposition/exposition.h"
#include "daemon/snapshot/metric_catalogue.h"
#include "daemon/snapshot/snapshot.h"

namespace memstat {

enum class FamilyKind : std::uint8_t { kGauge, kCounter, kHistogram };

struct FamilyHeader {
  std::string_view name;
  std::string_view help;
  std::string_view unit;  ///< "" if there is none, or if the name does not end with it (before `_total`).
  FamilyKind kind = FamilyKind::kGauge;
};

/// An additional label of a row's sample; without a name: none.
struct ExtraLabel {
  std::string_view name;
  std::uint64_t number = 0;
};

using OwnLabels = std::vector<std::pair<std::string, std::string>>;

/// Appends to a buffer through a pointer held by the caller; the compiler would have to reload a member after every char
/// store.
class PageAppender {
 public:
  explicit PageAppender(Buffer& out) : out_(out) {}

  /// Makes room for `size` bytes. Returns the end of the page.
  char* need(std::size_t size) {
    if (out_.size() + size > out_.capacity()) out_.reserve((out_.size() + size) * 5 / 4);
    return out_.data() + out_.size();
  }
  /// Extends the page up to `end`.
  void written(const char* end) { out_.resize(static_cast<std::size_t>(end - out_.data())); }
  void put(std::string_view text) {
    if (text.empty()) return;
    char* at = need(text.size());
    std::memcpy(at, text.data(), text.size());
    written(at + text.size());
  }

 protected:
  Buffer& out_;
};

/// Bytes that copy_padded may read after its text and write after its copy.
inline constexpr std::size_t kCopyPadding = Snapshot::kLabelPadding;

/// Copies a text in pieces of 16 bytes, the first three unconditionally. A call of memcpy would cost more than the whole
/// copy.
[[gnu::always_inline]] inline char* copy_padded(char* at, const char* text, std::size_t size) {
  std::memcpy(at, text, 16);
  std::memcpy(at + 16, text + 16, 16);
  std::memcpy(at + 32, text + 32, 16);
  for (std::size_t i = 48; i < size; i += 16) std::memcpy(at + i, text + i, 16);
  return at + size;
}

/// A figure's bits as a double; exact up to 2^53.
template <ValueFormat kFormat>
double figure_value(std::uint64_t bits) {
  if constexpr (kFormat == ValueFormat::kSigned) return static_cast<double>(static_cast<std::int64_t>(bits));
  if constexpr (kFormat == ValueFormat::kDouble) return std::bit_cast<double>(bits);
  return static_cast<double>(bits);
}

namespace page_renderer {

inline constexpr std::string_view kTotal = "_total";

/// `unit` if the standard permits it for a family of that name, otherwise "".
inline std::string_view unit_of(std::string_view name, std::string_view unit) {
  if (name.ends_with(kTotal)) name.remove_suffix(kTotal.size());
  const bool is_its_end =
      !unit.empty() && name.size() > unit.size() && name.ends_with(unit) && name[name.size() - unit.size() - 1] == '_';
  return is_its_end ? unit : std::string_view();
}

/// The unit suffix of one of the daemon's own names; the registry does not store units.
inline std::string_view unit_of(std::string_view name) {
  for (const std::string_view unit : {std::string_view("seconds"), std::string_view("bytes")}) {
    if (const std::string_view found = unit_of(name, unit); !found.empty()) return found;
  }
  return {};
}

inline FamilyHeader header_of(const MetricDescriptor& metric) {
  return {.name = metric.name,
          .help = metric.help,
          .unit = unit_of(metric.name, metric.unit),
          .kind = metric.kind == MetricKind::kCounter     ? FamilyKind::kCounter
                  : metric.kind == MetricKind::kHistogram ? FamilyKind::kHistogram
                                                          : FamilyKind::kGauge};
}

/// Start of a metric's counters or histograms, by row; 0: unknown, or a gauge.
struct CounterStart {
  bool is_of_row = false;
  std::int64_t common_ns = 0;

  CounterStart(const MetricDescriptor& metric, const Snapshot& snapshot) {
    if (metric.kind == MetricKind::kGauge) return;
    is_of_row = metric.counted_since == CountedSince::kFirstSight;
    if (!is_of_row) common_ns = snapshot.boot_time_ns();
  }
  [[nodiscard]] std::int64_t of(const Snapshot::Row& row) const { return is_of_row ? row.first_seen_ns : common_ns; }
};

/// All rows, at no cost; the alternative is a PageFilter.
struct AllRows {
  const Snapshot& snapshot;

  [[nodiscard]] static bool shows(std::size_t) { return true; }
  [[nodiscard]] static bool shows_metric(std::size_t) { return true; }
  [[nodiscard]] static bool shows_allocator(Allocator) { return true; }
  [[nodiscard]] static bool shows_machine() { return true; }
  [[nodiscard]] std::size_t count() const { return snapshot.row_count(); }
  [[nodiscard]] std::size_t label_bytes() const { return snapshot.label_bytes().size(); }
};
template <ValueFormat kFormat, typename Rows, typename Writer>
std::size_t write_rows(const MetricDescriptor& metric, const Rows& rows, const Snapshot& snapshot, Writer& writer) {
  const std::uint64_t bit = std::uint64_t{1} << metric.figure;
  const Snapshot::Row* const begin = snapshot.rows().data();
  const Snapshot::Row* row = begin;
  const Snapshot::Row* const end = row + snapshot.rows().size();
  const auto is_shown = [&] { return (row->figures & bit) != 0 && rows.shows(static_cast<std::size_t>(row - begin)); };
  while (row != end && !is_shown()) ++row;
  if (row == end) return 0;
  const char* const labels = snapshot.label_bytes().data();
  const std::uint64_t* value = snapshot.values(Figure::from_number(metric.figure)) + (row - begin);
  const CounterStart beginning(metric, snapshot);
  // Check for room once per family.
  const std::size_t most = std::min(static_cast<std::size_t>(end - row), rows.count());
  writer.begin_family(header_of(metric), most, rows.label_bytes());
  std::size_t series = 0;
  char* at = writer.need(writer.most_bytes(most, rows.label_bytes()));
  for (; row != end; ++row, ++value) {
    if (!is_shown()) continue;
    at = writer.template row_sample<kFormat>(at, row->labels(labels), ExtraLabel{}, *value, beginning.of(*row));
    ++series;
  }
  writer.written(at);
  writer.end_family();
  return series;
}

/// Calls `write` with the format as its template argument.
template <typename Write>
std::size_t with_format(ValueFormat format, Write write) {
  switch (format) {
    case ValueFormat::kUnsigned: return write.template operator()<ValueFormat::kUnsigned>();
    case ValueFormat::kSigned: return write.template operator()<ValueFormat::kSigned>();
    case ValueFormat::kDouble: break;
  }
  return write.template operator()<ValueFormat::kDouble>();
}

template <typename Rows, typename Writer>
std::size_t write_size_classes(const MetricDescriptor& metric, const Rows& rows, const Snapshot& snapshot, Writer& writer) {
  const std::vector<std::uint64_t>& sizes = snapshot.size_classes();
  const std::uint64_t known = sizes.size() >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << sizes.size()) - 1;
  std::size_t series = 0;
  for (std::size_t row = 0; row < snapshot.row_count(); ++row) {
    if (!snapshot.has(Field::kSizeMask, row) || !rows.shows(row)) continue;
    std::uint64_t used = snapshot.value(Field::kSizeMask, row) & known;
    if (used == 0) continue;
    const RowLabels labels = snapshot.rows()[row].labels(snapshot.label_bytes().data());
    const auto count = static_cast<std::size_t>(std::popcount(used));
    if (series == 0) writer.begin_family(header_of(metric), count * rows.count(), rows.label_bytes());
    char* at = writer.need(writer.most_bytes(count, count * labels.text.size()));
    for (; used != 0; used &= used - 1) {
      const ExtraLabel size{.name = "size", .number = sizes[static_cast<std::size_t>(std::countr_zero(used))]};
      at = writer.template row_sample<ValueFormat::kUnsigned>(at, labels, size, 1, 0);
    }
    writer.written(at);
    series += count;
  }
  if (series != 0) writer.end_family();
  return series;
}

/// A sample for each CPU or node of a row, which `place` labels.
template <typename Block, typename Rows, typename Writer>
std::size_t write_places(const MetricDescriptor& metric, const std::vector<Block>& blocks, std::string_view place,
                         const Rows& rows, const Snapshot& snapshot, Writer& writer) {
  const auto field = static_cast<typename Block::FieldType>(metric.figure);
  const CounterStart beginning(metric, snapshot);
  std::size_t series = 0;
  for (const Block& block : blocks) {
    if (!block.figures.has(field) || block.count == 0 || !rows.shows(block.row)) continue;
    const std::uint64_t* values = snapshot.values(block, field);
    const auto count = block.count - static_cast<std::size_t>(std::count(values, values + block.count, kNoFigure));
    if (count == 0) continue;
    const Snapshot::Row& row = snapshot.rows()[block.row];
    const RowLabels labels = row.labels(snapshot.label_bytes().data());
    const std::size_t label_bytes = block.count * labels.text.size();
    if (series == 0) writer.begin_family(header_of(metric), block.count * blocks.size(), label_bytes * blocks.size());
    char* at = writer.need(writer.most_bytes(block.count, label_bytes));
    for (std::uint32_t i = 0; i < block.count; ++i) {
      if (values[i] == kNoFigure) continue;
      const ExtraLabel extra{.name = place, .number = i};
      at = writer.template row_sample<ValueFormat::kUnsigned>(at, labels, extra, values[i], beginning.of(row));
    }
    writer.written(at);
    series += count;
  }
  if (series != 0) writer.end_family();
  return series;
}

template <typename Rows, typename Writer>
std::size_t write_details(const MetricDescriptor& metric, const Rows& rows, const Snapshot& snapshot, Writer& writer) {
  std::size_t series = 0;
  for (const Snapshot::Detail& detail : snapshot.details()) {
    if (!rows.shows(detail.row)) continue;
    const NamedLabels labels = snapshot.labels_at(detail.labels, label_names(metric));
    if (series++ == 0) {
      const std::size_t most = std::min(snapshot.details().size(), rows.count());
      writer.begin_family(header_of(metric), most, most * labels.text.size());
    }
    char* at = writer.need(writer.most_bytes(1, labels.text.size()));
    writer.written(writer.template named_sample<ValueFormat::kUnsigned>(at, labels, 1, 0));
  }
  if (series != 0) writer.end_family();
  return series;
}

template <ValueFormat kFormat, typename Writer>
std::size_t write_samples(const MetricDescriptor& metric, const Snapshot& snapshot, Writer& writer) {
  const std::span<const Snapshot::MachineSample> samples = snapshot.samples(metric.figure);
  if (samples.empty()) return 0;
  std::size_t label_bytes = 0;
  for (const Snapshot::MachineSample& sample : samples) label_bytes += sample.labels.size;
  const std::span<const std::string_view> names = label_names(metric);
  const CounterStart beginning(metric, snapshot);
  writer.begin_family(header_of(metric), samples.size(), label_bytes);
  char* at = writer.need(writer.most_bytes(samples.size(), label_bytes));
  for (const Snapshot::MachineSample& sample : samples) {
    at = writer.template named_sample<kFormat>(at, snapshot.labels_at(sample.labels, names), sample.bits,
                                               beginning.common_ns);
  }
  writer.written(at);
  writer.end_family();
  return samples.size();
}

template <typename Writer>
std::size_t write_histograms(const MetricDescriptor& metric, const Snapshot& snapshot, Writer& writer) {
  const std::span<const Snapshot::MachineSample> samples = snapshot.samples(metric.figure);
  const HistogramBuckets& buckets = *metric.buckets;
  const CounterStart beginning(metric, snapshot);
  const std::size_t each = series_per_sample(metric);
  std::size_t series = 0;
  for (const Snapshot::MachineSample& sample : samples) {
    const HistogramCounts counts = snapshot.histogram(sample);
    if (counts.counts.size() != buckets.bounds.size() + 1) continue;  // a source with different buckets
    const NamedLabels labels = snapshot.labels_at(sample.labels, label_names(metric));
    if (series == 0)
      writer.begin_family(header_of(metric), samples.size() * each, samples.size() * each * labels.text.size());
    writer.named_histogram(labels, buckets, counts, beginning.common_ns);
    series += each;
  }
  if (series != 0) writer.end_family();
  return series;
}

template <typename Rows, typename Writer>
std::size_t write_allocators(const MetricDescriptor& metric, const Rows& rows, const Snapshot& snapshot, Writer& writer) {
  std::size_t series = 0;
  for (std::size_t i = 0; i < kAllocatorCount; ++i) {
    const auto allocator = static_cast<Allocator>(i);
    const std::optional<std::uint64_t> bytes = snapshot.unlisted[i].bytes;
    if (!bytes || !rows.shows_allocator(allocator)) continue;
    const RowLabels labels = allocator_labels(allocator);
    if (series++ == 0) writer.begin_family(header_of(metric), kAllocatorCount, kAllocatorCount * labels.text.size());
    char* at = writer.need(writer.most_bytes(1, labels.text.size()));
    writer.written(writer.template row_sample<ValueFormat::kUnsigned>(at, labels, ExtraLabel{}, *bytes, 0));
  }
  if (series != 0) writer.end_family();
  return series;
}

template <typename Writer, typename Rows>
std::size_t write_shown(std::span<const MetricDescriptor> catalogue, const RenderOptions& options, const Rows& rows,
                        const Snapshot& snapshot, Buffer& out) {
  Writer writer(out, options);
  std::size_t series = 0;
  for (std::size_t i = 0; i < catalogue.size(); ++i) {
    const MetricDescriptor& metric = catalogue[i];
    if (!rows.shows_metric(i)) continue;
    const bool is_of_tier = options.types && metric.tier <= options.tier;
    switch (metric.scope) {
      case MetricScope::kType:
        if (!is_of_tier) break;
        series += with_format(metric.format,
                              [&]<ValueFormat kFormat>() { return write_rows<kFormat>(metric, rows, snapshot, writer); });
        break;
      case MetricScope::kAllocator:
        if (is_of_tier) series += write_allocators(metric, rows, snapshot, writer);
        break;
      case MetricScope::kSizeClass:
        if (options.size_classes) series += write_size_classes(metric, rows, snapshot, writer);
        break;
      case MetricScope::kNode:
        if (is_of_tier) series += write_places(metric, snapshot.node_blocks(), "node", rows, snapshot, writer);
        break;
      case MetricScope::kSystem:
        if (!is_of_tier || !rows.shows_machine()) break;
        series += metric.kind == MetricKind::kHistogram ? write_histograms(metric, snapshot, writer)
                                                        : with_format(metric.format, [&]<ValueFormat kFormat>() {
                                                            return write_samples<kFormat>(metric, snapshot, writer);
                                                          });
        break;
      case MetricScope::kDetail:
        if (is_of_tier) series += write_details(metric, rows, snapshot, writer);
        break;
      case MetricScope::kCpu:
        if (options.per_cpu) series += write_places(metric, snapshot.cpu_blocks(), "cpu", rows, snapshot, writer);
        break;
    }
  }
  return series;
}

template <typename Writer>
std::size_t write_snapshot(std::span<const MetricDescriptor> catalogue, const RenderOptions& options,
                           const PageFilter* filter, const Snapshot& snapshot, Buffer& out) {
  if (filter == nullptr) return write_shown<Writer>(catalogue, options, AllRows{snapshot}, snapshot, out);
  return write_shown<Writer>(catalogue, options, *filter, snapshot, out);
}

template <typename Writer>
void write_registry_family(const prometheus::MetricFamily& family, std::int64_t created_ns, Writer& writer) {
  if (family.metric.empty()) return;
  const bool is_counter = family.type == prometheus::MetricType::Counter;
  writer.begin_family({.name = family.name,
                       .help = family.help,
                       .unit = unit_of(family.name),
                       .kind = is_counter ? FamilyKind::kCounter : FamilyKind::kGauge},
                      family.metric.size(), 0);
  for (const prometheus::ClientMetric& metric : family.metric) {
    OwnLabels labels;
    for (const auto& label : metric.label) labels.emplace_back(label.name, label.value);
    writer.own_sample(labels, is_counter ? metric.counter.value : metric.gauge.value, is_counter ? created_ns : 0);
  }
  writer.end_family();
}

template <typename Writer>
void write_own_metrics(const RenderOptions& options, const OwnMetrics& own, Buffer& out) {
  Writer writer(out, options);
  for (const prometheus::MetricFamily& family : own.families) write_registry_family(family, own.created_ns, writer);
  for (const HistogramFamily::Data& family : own.histograms) {
    if (family.members.empty()) continue;
    writer.begin_family(
        {.name = family.name, .help = family.help, .unit = unit_of(family.name), .kind = FamilyKind::kHistogram},
        family.members.size() * 32, 0);
    for (const auto& [labels, data] : family.members) writer.own_histogram(labels, data);
    writer.end_family();
  }
}

template <typename Writer>
GaugeFrame frame_gauge(std::string_view name, std::string_view help) {
  return Writer::frame_gauge({.name = name, .help = help, .unit = unit_of(name), .kind = FamilyKind::kGauge});
}

}  // namespace page_renderer

/// Describes a format by its Writer, command-line name, content type, media type and document end.
template <typename Writer>
constexpr FormatDescriptor describe_format(std::string_view name, std::string_view content_type, const MediaType& media,
                                           std::string_view document_end) {
  return {.name = name,
          .content_type = content_type,
          .media = media,
          .document_end = document_end,
          .write_types = &page_renderer::write_snapshot<Writer>,
          .write_own = &page_renderer::write_own_metrics<Writer>,
          .frame_gauge = &page_renderer::frame_gauge<Writer>,
          .write_gauge_value = &Writer::write_gauge_value};
}

#define MEMSTAT_DECLARE(NAME) extern const FormatDescriptor k##NAME##Format;
MEMSTAT_FORMATS(MEMSTAT_DECLARE)
#undef MEMSTAT_DECLARE

}  // namespace memstat
