// SPDX-License-Identifier: BSD-2-Clause
// Reads a delimited protobuf page strictly: a field that memstatd does not write is an error.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace memstat {

/// The messages of tests/support/metrics.proto, with its names.
struct ProtobufHistogram {
  std::uint64_t sample_count = 0;
  double sample_sum = 0;
  std::vector<std::pair<double, std::uint64_t>> buckets;  ///< Bound, cumulative count.
  std::optional<std::int64_t> schema;
  double zero_threshold = 0;
  std::uint64_t zero_count = 0;
  std::vector<std::pair<std::int64_t, std::uint64_t>> spans;  ///< Offset, length.
  std::vector<std::int64_t> deltas;
};

struct ProtobufMetric {
  std::vector<std::pair<std::string, std::string>> labels;
  std::optional<double> gauge;
  std::optional<double> counter;
  std::optional<ProtobufHistogram> histogram;
  std::optional<std::int64_t> created_ns;
};

struct ProtobufFamily {
  std::string name;
  std::string help;
  std::uint64_t type = 99;
  std::string unit;
  std::vector<ProtobufMetric> metrics;
};

/// Reads one message; every function throws std::runtime_error on impossible input.
class ProtobufReader {
 public:
  explicit ProtobufReader(std::string_view bytes) : rest_(bytes) {}

  [[nodiscard]] bool at_end() const { return rest_.empty(); }
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<unsigned char>(take(1)[0]);
      value |= std::uint64_t{byte & 0x7FU} << shift;
      if (byte < 0x80) {
        if (byte == 0 && shift != 0) throw std::runtime_error("a varint that is longer than it must be");
        return value;
      }
    }
    throw std::runtime_error("a varint without end");
  }
  std::int64_t zigzag() {
    const std::uint64_t value = varint();
    return static_cast<std::int64_t>((value >> 1U) ^ (0 - (value & 1U)));
  }
  double fixed() {
    std::uint64_t bits = 0;
    const std::string_view bytes = take(8);
    for (unsigned i = 0; i < 8; ++i) bits |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
    return std::bit_cast<double>(bits);
  }
  std::string_view bytes() { return take(varint()); }

 private:
  std::string_view take(std::uint64_t size) {
    if (size > rest_.size()) throw std::runtime_error("a message that ends too early");
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }
  std::string_view rest_;
};

namespace protobuf_page {

/// A field by its tag, and what reads it.
struct Field {
  std::uint64_t tag;
  std::function<void(ProtobufReader&)> read;
};
constexpr std::uint64_t number_tag(unsigned field) { return field << 3U; }
constexpr std::uint64_t double_tag(unsigned field) { return field << 3U | 1U; }
constexpr std::uint64_t bytes_tag(unsigned field) { return field << 3U | 2U; }

/// Reads a message that has no other fields.
inline void read(std::string_view bytes, const std::vector<Field>& fields) {
  for (ProtobufReader reader(bytes); !reader.at_end();) {
    const std::uint64_t tag = reader.varint();
    const auto known = std::find_if(fields.begin(), fields.end(), [&](const Field& field) { return field.tag == tag; });
    if (known == fields.end()) throw std::runtime_error("unknown field, tag " + std::to_string(tag));
    known->read(reader);
  }
}
template <typename To>
Field number(unsigned field, To& to) {
  return {number_tag(field), [&to](ProtobufReader& from) { to = from.varint(); }};
}
template <typename To>
Field signed_number(unsigned field, To& to) {
  return {number_tag(field), [&to](ProtobufReader& from) { to = from.zigzag(); }};
}
template <typename To>
Field fixed(unsigned field, To& to) {
  return {double_tag(field), [&to](ProtobufReader& from) { to = from.fixed(); }};
}
inline Field text(unsigned field, std::string& to) {
  return {bytes_tag(field), [&to](ProtobufReader& from) { to = from.bytes(); }};
}
/// A message, which may be repeated: `take` reads its bytes.
template <typename Take>
Field message(unsigned field, Take take) {
  return {bytes_tag(field), [take](ProtobufReader& from) { take(from.bytes()); }};
}

inline Field created(unsigned field, std::optional<std::int64_t>& ns) {
  return message(field, [&ns](std::string_view bytes) {
    std::uint64_t seconds = 0, nanoseconds = 0;
    read(bytes, {number(1, seconds), number(2, nanoseconds)});
    ns = static_cast<std::int64_t>(seconds * 1'000'000'000 + nanoseconds);
  });
}

inline void read_histogram(std::string_view bytes, ProtobufMetric& metric) {
  ProtobufHistogram& to = metric.histogram.emplace();
  const auto add_bucket = [&to](std::string_view bucket) {
    auto& [bound, count] = to.buckets.emplace_back();
    read(bucket, {number(1, count), fixed(2, bound)});
  };
  const auto add_span = [&to](std::string_view span) {
    auto& [offset, length] = to.spans.emplace_back();
    read(span, {signed_number(1, offset), number(2, length)});
  };
  read(bytes, {number(1, to.sample_count), fixed(2, to.sample_sum), message(3, add_bucket), signed_number(5, to.schema),
               fixed(6, to.zero_threshold), number(7, to.zero_count), message(12, add_span),
               Field{number_tag(13), [&to](ProtobufReader& from) { to.deltas.push_back(from.zigzag()); }},
               created(15, metric.created_ns)});
}

inline void read_metric(std::string_view bytes, ProtobufMetric& to) {
  read(bytes, {message(1,
                       [&to](std::string_view label) {
                         auto& [name, value] = to.labels.emplace_back();
                         read(label, {text(1, name), text(2, value)});
                       }),
               message(2, [&to](std::string_view gauge) { read(gauge, {fixed(1, to.gauge)}); }),
               message(3,
                       [&to](std::string_view counter) {
                         read(counter, {fixed(1, to.counter), created(3, to.created_ns)});
                       }),
               message(7, [&to](std::string_view histogram) { read_histogram(histogram, to); })});
}

}  // namespace protobuf_page

inline std::vector<ProtobufFamily> read_protobuf_page(std::string_view page) {
  using namespace protobuf_page;
  std::vector<ProtobufFamily> families;
  for (ProtobufReader reader(page); !reader.at_end();) {
    ProtobufFamily& to = families.emplace_back();
    read(reader.bytes(),
         {text(1, to.name), text(2, to.help), number(3, to.type),
          message(4, [&to](std::string_view metric) { read_metric(metric, to.metrics.emplace_back()); }), text(5, to.unit)});
  }
  return families;
}

}  // namespace memstat
