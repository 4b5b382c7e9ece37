// SPDX-License-Identifier: BSD-2-Clause
// Reads the text of a table of events: a version, figures of the whole table, lines that each source knows, and "end".
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/base/result.h"
#include "core/base/text.h"
#include "core/model/staging.h"

namespace memstat::events {

/// Cuts the number that `line` goes on with off it. False when there is none.
bool take_number(std::string_view& line, std::uint64_t& number);

/// Takes the rest of a line "EVENT COUNT [BYTES]" into memstat_vm_events_total and memstat_vm_event_bytes_total. False when
/// it is something else. What is there twice is added up.
bool take_event(std::string_view line, Staging& staging);

/// Takes the rest of a line "sizes ALLOCATOR BYTES COUNT..." into memstat_allocation_size_bytes. False when it is something
/// else, or the allocator has its sizes already.
bool take_sizes(std::string_view line, Staging& staging);

/// Lines "gfp ALLOCATOR CLASS ALLOCATIONS FAILURES" of a table, of one allocator. Thread safety: none.
class GfpLines {
 public:
  /// Takes the rest of a line into memstat_gfp_allocations_total and memstat_gfp_failures_total. False when it is something
  /// else, or there was one of this class, or too many.
  bool take(std::string_view line, Staging& staging);

 private:
  static constexpr std::size_t kMostClasses = 16;
  std::array<std::string_view, kMostClasses> classes_;
  std::size_t count_ = 0;
};

/// The line "governor ATTACHED WEIGHT COST_NS SAMPLED_NS BUDGET_PPM [later|lost]" of a table, which stands in it at most
/// once: what its counting costs, and whether all is counted. Thread safety: none.
class GovernorLine {
 public:
  /// Takes the rest of the line into the metrics of `source`, and says in the note what is left out. False when it is
  /// something else, or there was such a line.
  bool take(std::string_view line, std::string_view source, Staging& staging);
  /// Whether it says that the programs were detached, so that figures are missing.
  [[nodiscard]] bool is_detached() const { return is_detached_; }

 private:
  bool is_taken_ = false;
  bool is_detached_ = false;
};

/// The lines of one text, which outlives this. Errors name the table and the line's offset. Thread safety: none.
class TableLines {
 public:
  TableLines(std::string_view table, std::string_view text) : table_(table), text_(text), rest_(text) {}

  /// Takes the first line. Errors: kVersion when it is not `version`.
  Result<void> take_version(std::string_view version);

  /// Takes a line of `word` and a number.
  Result<void> take_figure(std::string_view word, std::uint64_t& figure);

  /// Takes the lines up to "end", with which the text ends, and calls take(LINE) for each. Errors: that the line `is`, when
  /// that returns false.
  template <typename Take>
  Result<void> take_rest(Take take, std::string_view is) {
    std::string_view line;
    while (true) {
      const std::size_t offset = text_.size() - rest_.size();
      if (!next_line(rest_, line)) return wrong(offset, "ends without the line 'end'");
      if (line == "end") break;
      if (!take(line)) return wrong(offset, is);
    }
    return rest_.empty() ? Result<void>() : wrong(text_.size() - rest_.size(), "goes on behind the line 'end'");
  }

  /// The error that the text at `offset` `is`.
  [[nodiscard]] Result<void> wrong(std::size_t offset, std::string_view is) const;

 private:
  std::string_view table_;
  std::string_view text_;
  std::string_view rest_;
};

}  // namespace memstat::events
