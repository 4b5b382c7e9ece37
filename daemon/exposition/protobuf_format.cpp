// SPDX-License-Identifier: BSD-2-Clause
// Delimited protobuf: io.prometheus.client.MetricFamily messages (fields in tests/support/metrics.proto), each preceded by
// its length as a varint. Field numbers are literals in the code that writes the fields.
#include <array>
#include <limits>

#include "daemon/exposition/number_text.h"
#include "daemon/exposition/page_renderer.h"
#include "daemon/exposition/protobuf_wire.h"

namespace memstat {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr char kMetric = bytes_tag(4);    // of MetricFamily
constexpr char kLabel = bytes_tag(1);     // of Metric
constexpr char kName = bytes_tag(1);      // of LabelPair
constexpr char kValue = bytes_tag(2);     // of LabelPair
constexpr char kGauge = bytes_tag(2);     // of Metric
constexpr char kCounter = bytes_tag(3);   // of Metric
constexpr unsigned kHistogramField = 7;   // of Metric
constexpr char kNumber = fixed64_tag(1);  // of Gauge and of Counter

unsigned type_number(FamilyKind kind) {
  switch (kind) {
    case FamilyKind::kCounter: return 0;
    case FamilyKind::kGauge: return 1;
    case FamilyKind::kHistogram: return 4;
  }
  return 3;  // untyped
}

/// Writes the fields of a google.protobuf.Timestamp, at most 17 bytes.
char* write_timestamp(char* at, std::int64_t nanoseconds) {
  const auto time = static_cast<std::uint64_t>(nanoseconds);
  *at++ = varint_tag(1);
  at = write_varint(at, time / kSecond);
  if (time % kSecond == 0) return at;
  *at++ = varint_tag(2);
  return write_varint(at, time % kSecond);
}

void add_timestamp(ProtobufMessage& message, unsigned field, std::int64_t nanoseconds) {
  if (nanoseconds <= 0) return;
  std::array<char, 24> bytes;
  message.bytes(field, {bytes.data(), static_cast<std::size_t>(write_timestamp(bytes.data(), nanoseconds) - bytes.data())});
}

class ProtobufWriter : public PageAppender {
 public:
  ProtobufWriter(Buffer& out, const RenderOptions&) : PageAppender(out) {}

  void begin_family(const FamilyHeader& header, std::size_t samples, std::size_t label_bytes) {
    unit_ = header.unit;
    value_tag_ = header.kind == FamilyKind::kCounter ? kCounter : kGauge;
    // The length precedes the message and is not known yet, so reserve as many bytes as it is likely to need.
    begin_ = out_.size();
    length_size_ = varint_size(header.name.size() + header.help.size() + samples * 40 + label_bytes);
    written(need(length_size_) + length_size_);
    put_text(1, header.name);
    put_text(2, header.help);
    char* at = need(2);
    *at++ = varint_tag(3);
    *at++ = static_cast<char>(type_number(header.kind));
    written(at);
  }

  void end_family() {
    if (!unit_.empty()) put_text(5, unit_);
    const std::size_t size = out_.size() - begin_ - length_size_;
    const std::size_t wanted = varint_size(size);
    if (wanted != length_size_) {
      char* end = need(wanted);
      char* message = out_.data() + begin_;
      std::memmove(message + wanted, message + length_size_, size);
      written(end + wanted - length_size_);
    }
    write_varint(out_.data() + begin_, size);
  }

  static std::size_t most_bytes(std::size_t samples, std::size_t label_bytes) {
    // Per sample, beyond the row's labels: tags, lengths, an extra label's name and number, the value and its start. Or for
    // each of kMaxSystemMetricLabels at most 10 bytes beyond `,name="value"`.
    constexpr std::size_t kOthers = 112;
    return samples * kOthers + label_bytes + kCopyPadding + kNumberRoom;
  }

  template <ValueFormat kFormat>
  [[gnu::always_inline]] char* row_sample(char* at, const RowLabels& labels, const ExtraLabel& extra, std::uint64_t bits,
                                          std::int64_t created_ns) {
    if (created_ns != created_ns_) encode_created(created_ns);
    const std::size_t allocator_size = labels.allocator().size();
    const std::string_view type = labels.has_type ? labels.escaped_type() : std::string_view();
    const std::size_t type_size = labels.is_escaped ? unescaped_label_size(type) : type.size();
    const std::size_t allocator_pair = pair_size(kAllocator.size(), allocator_size);
    const std::size_t type_pair = pair_size(kType.size(), type_size);
    const std::size_t value = 9 + created_size_;
    std::size_t metric = field_size(allocator_pair) + field_size(value);
    if (labels.has_type) metric += field_size(type_pair);
    unsigned digits = 0;
    if (!extra.name.empty()) {
      digits = digit_count(extra.number);
      metric += field_size(pair_size(extra.name.size(), digits));
    }
    *at++ = kMetric;
    at = write_varint(at, metric);
    at = begin_pair(at, allocator_pair, kAllocator, allocator_size);
    at = copy_padded(at, labels.allocator().data(), allocator_size);
    if (labels.has_type) {
      at = begin_pair(at, type_pair, kType, type_size);
      at = labels.is_escaped ? unescape_label_value(at, type) : copy_padded(at, type.data(), type.size());
    }
    if (!extra.name.empty()) {
      at = begin_pair(at, pair_size(extra.name.size(), digits), extra.name, digits);
      at = write_number(at, extra.number);
    }
    return write_value<kFormat>(at, bits);
  }

  template <ValueFormat kFormat>
  char* named_sample(char* at, const NamedLabels& labels, std::uint64_t bits, std::int64_t created_ns) {
    if (created_ns != created_ns_) encode_created(created_ns);
    const std::size_t value = 9 + created_size_;
    std::size_t metric = field_size(value);
    const auto size_of = [&](std::string_view text) { return labels.is_escaped ? unescaped_label_size(text) : text.size(); };
    labels.for_each(
        [&](std::string_view name, std::string_view text) { metric += field_size(pair_size(name.size(), size_of(text))); });
    *at++ = kMetric;
    at = write_varint(at, metric);
    labels.for_each([&](std::string_view name, std::string_view text) {
      const std::size_t size = size_of(text);
      at = begin_pair(at, pair_size(name.size(), size), name, size);
      at = labels.is_escaped ? unescape_label_value(at, text) : copy_padded(at, text.data(), size);
    });
    return write_value<kFormat>(at, bits);
  }

  void own_sample(const OwnLabels& labels, double value, std::int64_t created_ns) {
    ProtobufMessage figure;
    figure.fixed(1, value);
    add_timestamp(figure, 3, created_ns);
    ProtobufMessage metric = labelled(labels);
    metric.bytes(value_tag_ == kCounter ? 3 : 2, figure.view());
    put(ProtobufMessage().bytes(4, metric.view()).view());
  }

  /// Allocates, unlike samples: a page in this format is made at most once per snapshot, and not by the poll.
  void named_histogram(const NamedLabels& labels, const HistogramBuckets& buckets, const HistogramCounts& histogram,
                       std::int64_t created_ns) {
    OwnLabels own;
    labels.for_each([&](std::string_view name, std::string_view text) { own.emplace_back(name, unescaped_label(text)); });
    own_histogram(own, histogram_data(buckets, histogram, created_ns));
  }

  static GaugeFrame frame_gauge(const FamilyHeader& header) {
    const std::array<char, 5> metric{kMetric, 11, kGauge, 9, kNumber};  // followed by the eight bytes of the value
    ProtobufMessage fields;
    fields.bytes(1, header.name).bytes(2, header.help).varint(3, type_number(header.kind));
    ProtobufMessage unit;
    if (!header.unit.empty()) unit.bytes(5, header.unit);
    std::array<char, kVarintRoom> size;
    const char* const end = write_varint(size.data(), fields.view().size() + metric.size() + 8 + unit.view().size());
    std::string before(size.data(), static_cast<std::size_t>(end - size.data()));
    before += fields.view();
    before.append(metric.data(), metric.size());
    return {.before = std::move(before), .after = std::string(unit.view())};
  }
  static char* write_gauge_value(char* at, double value) { return write_fixed64(at, value); }

  void own_histogram(const OwnLabels& labels, const HistogramData& data) {
    ProtobufMessage histogram;
    histogram.varint(1, data.count).fixed(2, data.sum);
    for (const HistogramData::Bucket& bucket : data.buckets) {
      histogram.bytes(3, ProtobufMessage().varint(1, bucket.cumulative).fixed(2, bucket.upper_bound).view());
    }
    histogram.bytes(3, ProtobufMessage().varint(1, data.count).fixed(2, std::numeric_limits<double>::infinity()).view());
    if (data.has_native) {
      histogram.varint(5, zigzag(data.schema)).fixed(6, data.zero_threshold).varint(7, data.zero_count);
      for (const HistogramData::Span& span : data.spans) {
        histogram.bytes(12, ProtobufMessage().varint(1, zigzag(span.offset)).varint(2, span.length).view());
      }
      for (const std::int64_t delta : data.deltas) histogram.varint(13, zigzag(delta));
    }
    add_timestamp(histogram, 15, data.created_ns);
    ProtobufMessage metric = labelled(labels);
    metric.bytes(kHistogramField, histogram.view());
    put(ProtobufMessage().bytes(4, metric.view()).view());
  }

 private:
  static constexpr std::string_view kAllocator = "allocator";
  static constexpr std::string_view kType = "type";

  /// Writes the Gauge or Counter at the end of a Metric.
  template <ValueFormat kFormat>
  [[gnu::always_inline]] char* write_value(char* at, std::uint64_t bits) const {
    *at++ = value_tag_;
    *at++ = static_cast<char>(9 + created_size_);  // less than 128, since a Timestamp has at most 17 bytes
    *at++ = kNumber;
    at = write_fixed64(at, figure_value<kFormat>(bits));
    std::memcpy(at, created_.data(), created_.size());
    return at + created_size_;
  }

  /// Size of a LabelPair with a short name.
  static std::size_t pair_size(std::size_t name, std::size_t value) { return 2 + name + 1 + varint_size(value) + value; }
  /// The same including tag and length, as a field.
  static std::size_t field_size(std::size_t size) { return 1 + varint_size(size) + size; }

  /// Writes a LabelPair up to its value.
  static char* begin_pair(char* at, std::size_t size, std::string_view name, std::size_t value_size) {
    *at++ = kLabel;
    at = write_varint(at, size);
    *at++ = kName;
    *at++ = static_cast<char>(name.size());
    std::memcpy(at, name.data(), name.size());
    at += name.size();
    *at++ = kValue;
    return write_varint(at, value_size);
  }
  static ProtobufMessage labelled(const OwnLabels& labels) {
    ProtobufMessage metric;
    for (const auto& [name, value] : labels) metric.bytes(1, ProtobufMessage().bytes(1, name).bytes(2, value).view());
    return metric;
  }
  void put_text(unsigned field, std::string_view text) {
    char* at = need(1 + kVarintRoom);
    *at++ = bytes_tag(field);
    written(write_varint(at, text.size()));
    put(text);
  }
  /// Encodes the field created_timestamp of a Counter. Not inlined, because neighbouring samples usually share it.
  [[gnu::noinline]] void encode_created(std::int64_t created_ns) {
    created_ns_ = created_ns;
    created_size_ = 0;
    if (created_ns <= 0) return;
    char* at = created_.data();
    *at++ = bytes_tag(3);
    ++at;  // the size, below 128
    at = write_timestamp(at, created_ns);
    created_size_ = static_cast<std::size_t>(at - created_.data());
    created_[1] = static_cast<char>(created_size_ - 2);
  }

  std::string_view unit_;
  std::size_t begin_ = 0;        // position of the family's length
  std::size_t length_size_ = 0;  // bytes reserved for it
  char value_tag_ = kGauge;
  std::int64_t created_ns_ = 0;
  std::array<char, 24> created_{};  // the encoded field
  std::size_t created_size_ = 0;    // 0: unknown
};

}  // namespace

namespace {

constexpr std::array kProtobufParameters{
    MediaParameter{.name = "proto", .value = "io.prometheus.client.MetricFamily", .is_required = true},
    MediaParameter{.name = "encoding", .value = "delimited", .ignores_case = true, .is_required = true},
};

}  // namespace

constinit const FormatDescriptor kProtobufFormat = describe_format<ProtobufWriter>(
    "protobuf", "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited",
    {.type = "application", .subtype = "vnd.google.protobuf", .parameters = kProtobufParameters}, "");

}  // namespace memstat
