// SPDX-License-Identifier: BSD-2-Clause
// The format of event tables. On a live machine the rows pass from the writer to the source as packed numbers and
// names. In recordings they are text: a version, a line for each row, and "end". TableReader reads both.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <span>
#include <string_view>

#include "core/base/buffer.h"
#include "core/base/result.h"
#include "core/events/bpf/gfp.h"
#include "core/events/bpf/sizes.h"
#include "core/kernel/kernel_view.h"
#include "core/model/staging.h"

namespace memstat::events {

/// A kind of row: its word, and a letter for each field. n: a number; w: a word that is a valid label; t: text up to
/// the end of the line; T: a name after a tab, without tabs; *: any more numbers. Fields after ? are optional. A table
/// with more than `most` such rows is malformed.
struct RowFormat {
  std::string_view word;
  std::string_view fields;
  std::size_t most = std::numeric_limits<std::size_t>::max();
};

/// A table: its source, the first line of its text, its kinds of rows, and the error text for a malformed line.
struct TableFormat {
  std::string_view source;
  std::string_view version;
  std::span<const RowFormat> rows;
  std::string_view mismatch;
};

inline constexpr std::size_t kMaxKinds = 24;
inline constexpr RowFormat kGovernorRow{"governor", "nnnnn?w", 1};
inline constexpr RowFormat kEventRow{"event", "wn?n", 64};
inline constexpr RowFormat kGfpRow{"gfp", "wwnn"};
inline constexpr RowFormat kSizesRow{"sizes", "wn*", 8};

/// A parsed row. The names point into the table's bytes.
struct TableRow {
  static constexpr std::size_t kMaxNumbers = 32;
  static constexpr std::size_t kMaxNames = 4;
  std::string_view word;
  std::array<std::uint64_t, kMaxNumbers> number{};
  std::array<std::string_view, kMaxNames> name{};
  std::size_t number_count = 0;
  std::size_t name_count = 0;

  [[nodiscard]] std::span<const std::uint64_t> numbers() const { return {number.data(), number_count}; }
};

/// Packs rows into a buffer. Does not allocate once the buffer is large enough.
class TableWriter {
 public:
  /// Empties `out`. Both arguments must outlive the writer.
  TableWriter(const TableFormat& format, Buffer& out);
  /// The word must be one of the format's. Line feeds in names become question marks, because they end a line of text.
  void add(std::string_view word, std::span<const std::uint64_t> numbers,
           std::initializer_list<std::string_view> names = {});
  void add(std::string_view word, std::initializer_list<std::uint64_t> numbers,
           std::initializer_list<std::string_view> names = {}) {
    add(word, std::span(numbers.begin(), numbers.size()), names);
  }

 private:
  const TableFormat& format_;
  Buffer& out_;
  std::size_t kind_ = 0;  // kind of the previous row: rows of one kind are consecutive
};

/// Replaces `text` with the text form of packed rows, for a recording. Rows that are text already are copied.
void write_table_text(const TableFormat& format, std::string_view rows, Buffer& text);

/// Reads a packed table or its text. Errors name the source and, for text, the line's offset.
class TableReader {
 public:
  TableReader(const TableFormat& format, std::string_view bytes);

  struct Figure {
    std::string_view word;
    std::uint64_t* number;
  };
  /// Consumes the version line, then a row for each figure: its word and its number. Errors: kVersion, kData.
  Result<void> take_head(std::initializer_list<Figure> figures = {});
  /// Calls take(ROW) for each remaining row. Errors: kData if it returns false, or if text ends without its last line.
  template <typename Take>
  Result<void> take_rest(Take take) {
    while (true) {
      const std::size_t offset = this->offset();
      const auto more = next();
      if (!more) return more.error();
      if (!*more) return {};
      if (++counts_[kind_] > format_.rows[kind_].most || !take(std::as_const(row_))) return wrong(offset, format_.mismatch);
    }
  }
  [[nodiscard]] Result<void> wrong(std::size_t offset, std::string_view is) const;
  [[nodiscard]] std::size_t size() const { return bytes_.size(); }

 private:
  [[nodiscard]] std::size_t offset() const { return bytes_.size() - rest_.size(); }
  Result<bool> next();  // false: end of the table
  bool unpack();
  bool parse(std::string_view line);

  const TableFormat& format_;
  std::string_view bytes_;
  std::string_view rest_;
  bool is_packed_;
  std::size_t kind_ = 0;  // of the latest row
  std::array<std::size_t, kMaxKinds> counts_{};
  TableRow row_;
};

/// A live table of events: packed for its source, text for a recording.
class EventTable : public TextTableSource {
 public:
  /// `format`: a constant.
  explicit EventTable(const TableFormat& format) : format_(format) {}
  [[nodiscard]] WriteText text_writer() const final {
    return [&format = format_](std::string_view rows, Buffer& text) { write_table_text(format, rows, text); };
  }
  /// Whether read() also writes counts per CPU, if it can; off by default.
  virtual void show_cpus(bool /*is_wanted*/) {}
  /// The view through which open() and read() read files of the kernel, if they do.
  virtual void set_view(KernelView& /*view*/) {}

 protected:
  const TableFormat& format_;
};

// ---- rows that several tables share ----

/// Reads a figure that the kernel may be writing.
inline std::uint64_t figure_now(const unsigned long long& figure) { return __atomic_load_n(&figure, __ATOMIC_RELAXED); }

/// A kernel name up to its NUL, or all `size` bytes.
std::string_view kernel_name(const char* name, std::size_t size);

/// Allocations by size, in the buckets of memstat_size_bucket().
using SizeCounts = std::span<const std::uint64_t, MEMSTAT_SIZES>;
void add_sizes(TableWriter& rows, std::string_view allocator, std::uint64_t bytes, SizeCounts counts);
/// Adds counters, which the kernel may be writing, to `sums`.
void add_gfp_counts(const memstat_gfp_counts& counts, memstat_gfp_counts& sums);
void add_gfp_rows(TableWriter& rows, std::string_view allocator, const memstat_gfp_counts& counts);

/// Takes "event EVENT COUNT [BYTES]". Repeated events are added up. Here and below, false means a malformed row.
bool take_event(const TableRow& row, Staging& staging);
/// Takes "sizes ALLOCATOR BYTES COUNT...", once per allocator.
bool take_sizes(const TableRow& row, Staging& staging);

/// Takes "gfp ALLOCATOR CLASS ALLOCATIONS FAILURES" of one allocator.
class GfpRows {
 public:
  bool take(const TableRow& row, Staging& staging);

 private:
  static constexpr std::size_t kMaxClasses = 16;
  std::array<std::string_view, kMaxClasses> classes_;
  std::size_t count_ = 0;
};

/// Takes "governor ATTACHED WEIGHT COST_NS SAMPLED_NS BUDGET_PPM [later|lost]": the cost of counting, and
/// the sampling.
class GovernorRow {
 public:
  bool take(const TableRow& row, std::string_view source, Staging& staging);
  /// Whether the programs were detached, so that figures are missing.
  [[nodiscard]] bool is_detached() const { return is_detached_; }

 private:
  bool is_detached_ = false;
};

}  // namespace memstat::events
