// SPDX-License-Identifier: BSD-2-Clause
// Reads a delimited protobuf page strictly: a field that memstatd does not write is an error.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
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

[[noreturn]] inline void unknown(std::uint64_t tag) {
  throw std::runtime_error("unknown field, tag " + std::to_string(tag));
}

inline std::int64_t read_timestamp(ProtobufReader reader) {
  std::int64_t nanoseconds = 0;
  while (!reader.at_end()) {
    switch (const std::uint64_t tag = reader.varint()) {
      case 010: nanoseconds += static_cast<std::int64_t>(reader.varint()) * 1'000'000'000; break;
      case 020: nanoseconds += static_cast<std::int64_t>(reader.varint()); break;
      default: unknown(tag);
    }
  }
  return nanoseconds;
}

/// A message of two numbers, each read by a function.
template <typename First, typename Second>
void read_pair(ProtobufReader reader, std::uint64_t first_tag, First first, std::uint64_t second_tag, Second second) {
  while (!reader.at_end()) {
    const std::uint64_t tag = reader.varint();
    if (tag == first_tag) {
      first(reader);
    } else if (tag == second_tag) {
      second(reader);
    } else {
      unknown(tag);
    }
  }
}

inline ProtobufHistogram read_histogram(ProtobufReader reader, std::optional<std::int64_t>& created_ns) {
  ProtobufHistogram histogram;
  while (!reader.at_end()) {
    switch (const std::uint64_t tag = reader.varint()) {
      case 1 << 3: histogram.sample_count = reader.varint(); break;
      case 2 << 3 | 1: histogram.sample_sum = reader.fixed(); break;
      case 3 << 3 | 2: {
        auto& one = histogram.buckets.emplace_back();
        read_pair(
            ProtobufReader(reader.bytes()), 1 << 3, [&](ProtobufReader& from) { one.second = from.varint(); }, 2 << 3 | 1,
            [&](ProtobufReader& from) { one.first = from.fixed(); });
        break;
      }
      case 5 << 3: histogram.schema = reader.zigzag(); break;
      case 6 << 3 | 1: histogram.zero_threshold = reader.fixed(); break;
      case 7 << 3: histogram.zero_count = reader.varint(); break;
      case 12 << 3 | 2: {
        auto& one = histogram.spans.emplace_back();
        read_pair(
            ProtobufReader(reader.bytes()), 1 << 3, [&](ProtobufReader& from) { one.first = from.zigzag(); }, 2 << 3,
            [&](ProtobufReader& from) { one.second = from.varint(); });
        break;
      }
      case 13 << 3: histogram.deltas.push_back(reader.zigzag()); break;
      case 15 << 3 | 2: created_ns = read_timestamp(ProtobufReader(reader.bytes())); break;
      default: unknown(tag);
    }
  }
  return histogram;
}

inline ProtobufMetric read_metric(ProtobufReader reader) {
  ProtobufMetric metric;
  while (!reader.at_end()) {
    const std::uint64_t tag = reader.varint();
    if (tag == (7 << 3 | 2)) {
      metric.histogram = read_histogram(ProtobufReader(reader.bytes()), metric.created_ns);
      continue;
    }
    ProtobufReader part(reader.bytes());
    if (tag == (1 << 3 | 2)) {
      auto& label = metric.labels.emplace_back();
      read_pair(
          part, 1 << 3 | 2, [&](ProtobufReader& from) { label.first = from.bytes(); }, 2 << 3 | 2,
          [&](ProtobufReader& from) { label.second = from.bytes(); });
    } else if (tag == (2 << 3 | 2) || tag == (3 << 3 | 2)) {
      std::optional<double>& value = tag >> 3 == 2 ? metric.gauge : metric.counter;
      read_pair(
          part, 1 << 3 | 1, [&](ProtobufReader& from) { value = from.fixed(); }, tag >> 3 == 3 ? 3 << 3 | 2 : 0,
          [&](ProtobufReader& from) { metric.created_ns = read_timestamp(ProtobufReader(from.bytes())); });
    } else {
      unknown(tag);
    }
  }
  return metric;
}

}  // namespace protobuf_page

inline std::vector<ProtobufFamily> read_protobuf_page(std::string_view page) {
  std::vector<ProtobufFamily> families;
  for (ProtobufReader reader(page); !reader.at_end();) {
    ProtobufFamily& family = families.emplace_back();
    for (ProtobufReader message(reader.bytes()); !message.at_end();) {
      switch (const std::uint64_t tag = message.varint()) {
        case 1 << 3 | 2: family.name = message.bytes(); break;
        case 2 << 3 | 2: family.help = message.bytes(); break;
        case 3 << 3: family.type = message.varint(); break;
        case 4 << 3 | 2: family.metrics.push_back(protobuf_page::read_metric(ProtobufReader(message.bytes()))); break;
        case 5 << 3 | 2: family.unit = message.bytes(); break;
        default: protobuf_page::unknown(tag);
      }
    }
  }
  return families;
}

}  // namespace memstat
