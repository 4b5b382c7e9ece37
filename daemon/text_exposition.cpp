// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/text_exposition.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>

namespace memstat {
namespace {

constexpr std::size_t kLongestNumber = 32;

/// Writes at the end of a buffer that was made large enough before.
class Writer {
 public:
  explicit Writer(Buffer& out) : out_(out) {}

  /// Makes room for `size` more bytes; put() and number() rely on it.
  void need(std::size_t size) {
    if (out_.size() + size > out_.capacity()) out_.reserve((out_.size() + size) * 5 / 4);
    at_ = out_.data() + out_.size();
  }
  void put(std::string_view text) {
    std::memcpy(at_, text.data(), text.size());
    at_ += text.size();
  }
  /// The same for text with 15 readable bytes after it; may write as many after the end. A call of memcpy would cost more.
  void put_padded(const char* text, std::size_t size) {
    for (std::size_t i = 0; i < size; i += 16) std::memcpy(at_ + i, text + i, 16);
    at_ += size;
  }
  void number(std::uint64_t value) { at_ = std::to_chars(at_, at_ + kLongestNumber, value).ptr; }
  void number(std::int64_t value) { at_ = std::to_chars(at_, at_ + kLongestNumber, value).ptr; }
  /// With three decimals at most: what a rate of bytes needs, and much faster than the shortest exact text.
  void number(double value) {
    if (!(std::abs(value) < 9e15)) {
      at_ = std::to_chars(at_, at_ + kLongestNumber, value).ptr;
      return;
    }
    auto thousandths = static_cast<std::int64_t>(std::llround(value * 1000));
    if (thousandths < 0) {
      *at_++ = '-';
      thousandths = -thousandths;
    }
    number(thousandths / 1000);
    auto decimals = static_cast<unsigned>(thousandths % 1000);
    if (decimals == 0) return;
    *at_++ = '.';
    for (unsigned place = 100; decimals != 0; place /= 10) {
      *at_++ = static_cast<char>('0' + decimals / place);
      decimals %= place;
    }
  }
  void value(FigureFormat format, std::uint64_t bits) {
    switch (format) {
      case FigureFormat::kUnsigned: number(bits); break;
      case FigureFormat::kSigned: number(static_cast<std::int64_t>(bits)); break;
      case FigureFormat::kDouble: number(std::bit_cast<double>(bits)); break;
    }
  }
  /// What was put since need() becomes part of the buffer.
  void commit() { out_.resize(static_cast<std::size_t>(at_ - out_.data())); }

 private:
  Buffer& out_;
  char* at_ = nullptr;
};

/// One family while it is written: the header comes with the first sample.
class Family {
 public:
  Family(const MetricDescriptor& metric, Writer& writer) : metric_(metric), writer_(writer) {
    std::memcpy(name_, metric.name.data(), std::min(metric.name.size(), sizeof name_ - 16));
  }
  std::size_t series = 0;

  void sample(std::string_view label, std::string_view more_label, std::uint64_t bits) {
    writer_.need(2 * metric_.name.size() + metric_.help.size() + 64 + metric_.name.size() + label.size() +
                 more_label.size() + kLongestNumber);
    if (series++ == 0) header();
    writer_.put_padded(name_, metric_.name.size());
    writer_.put_padded(label.data(), label.size());
    if (!more_label.empty()) writer_.put(more_label);
    writer_.put("} ");
    writer_.value(metric_.format, bits);
    writer_.put("\n");
    writer_.commit();
  }

 private:
  void header() {
    writer_.put("# HELP ");
    writer_.put(metric_.name);
    writer_.put(" ");
    writer_.put(metric_.help);
    writer_.put("\n# TYPE ");
    writer_.put(metric_.name);
    writer_.put(metric_.kind == MetricKind::kCounter ? " counter\n" : " gauge\n");
  }

  const MetricDescriptor& metric_;
  Writer& writer_;
  char name_[80] = {};
};

void render_types(const MetricDescriptor& metric, const Snapshot& snapshot, Family& family) {
  const auto figure = static_cast<Figure>(metric.figure);
  for (std::size_t row = 0; row < snapshot.row_count(); ++row) {
    if (snapshot.has(figure, row)) family.sample(snapshot.label(row), {}, snapshot.value(figure, row));
  }
}

void render_size_classes(const Snapshot& snapshot, Family& family) {
  const std::vector<std::uint64_t>& sizes = snapshot.size_classes();
  for (std::size_t row = 0; row < snapshot.row_count(); ++row) {
    if (!snapshot.has(Figure::kSizeClasses, row)) continue;
    const std::uint64_t used = snapshot.value(Figure::kSizeClasses, row);
    for (std::size_t i = 0; i < sizes.size() && i < 64; ++i) {
      if ((used >> i & 1U) == 0) continue;
      char label[40] = ",size=\"";
      char* end = std::to_chars(label + 7, label + sizeof label - 1, sizes[i]).ptr;
      *end++ = '"';
      family.sample(snapshot.label(row), {label, static_cast<std::size_t>(end - label)}, 1);
    }
  }
}

void render_cpus(const MetricDescriptor& metric, const Snapshot& snapshot, Family& family) {
  const auto figure = static_cast<CpuFigure>(metric.figure);
  for (const Snapshot::CpuBlock& block : snapshot.cpu_blocks()) {
    if ((block.figures >> metric.figure & 1U) == 0) continue;
    const std::uint64_t* values = snapshot.cpu_values(block, figure);
    for (std::uint32_t cpu = 0; cpu < block.cpu_count; ++cpu) {
      char label[32] = ",cpu=\"";
      char* end = std::to_chars(label + 6, label + sizeof label - 1, cpu).ptr;
      *end++ = '"';
      family.sample(snapshot.label(block.row), {label, static_cast<std::size_t>(end - label)}, values[cpu]);
    }
  }
}

}  // namespace

void render_text(const RenderOptions& options, Snapshot& snapshot) {
  snapshot.text.clear();
  snapshot.series = 0;
  Writer writer(snapshot.text);
  for (const MetricDescriptor& metric : metric_catalogue()) {
    Family family(metric, writer);
    switch (metric.scope) {
      case MetricScope::kType:
        if (metric.tier <= options.tier) render_types(metric, snapshot, family);
        break;
      case MetricScope::kSizeClass:
        if (options.size_classes) render_size_classes(snapshot, family);
        break;
      case MetricScope::kCpu:
        if (options.per_cpu) render_cpus(metric, snapshot, family);
        break;
    }
    snapshot.series += family.series;
  }
}

}  // namespace memstat
