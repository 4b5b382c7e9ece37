// SPDX-License-Identifier: BSD-2-Clause
// Opens and reads the files of a read plan, with one rule for errors (ReadNeed) and one for what may be repeated (ReadTime).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>

#include "core/base/text.h"
#include "core/collect/listed_name.h"
#include "core/source.h"

namespace memstat {

/// Finds the plan's files, and opens those that are kept open. Call before privileges are dropped. Error: of a required
/// file.
Result<void> open_plan(KernelView& view, std::span<const PlannedFile> plan, RawBytes& raw);

/// Reads into `raw.files` what is due. Absent files are looked for at every kSeldomReads-th read. Errors: those that
/// ReadNeed says; the first one if nothing could be read. Does not allocate in the steady state.
Result<void> read_plan(KernelView& view, std::span<const PlannedFile> plan, RawBytes& raw, ReaderState& state);

/// The number in a file of one line. Nothing if the file has no content or ends within the line, whose number may be longer.
std::optional<std::uint64_t> number_of(const RawFile& file);

namespace internal {

template <const auto& kPlan, auto kCheck>
Result<void> read_and_check(KernelView& view, RawBytes& raw, ReaderState& state) {
  auto result = read_plan(view, kPlan, raw, state);
  if constexpr (!std::is_same_v<decltype(kCheck), std::nullptr_t>) {
    if (result) return kCheck(raw);
  }
  return result;
}

/// Opens the plan and reads once: the first read shows whether the kernel has the interface, and is the most expensive one.
template <typename State, const auto& kPlan, auto kRead>
Result<void> open_and_read(KernelView& view, RawBytes& raw, State& state) {
  auto result = open_plan(view, kPlan, raw);
  return result ? kRead(view, raw, state) : result;
}

}  // namespace internal

/// Makes the steps of a source that reads more than its plan: read(view, raw, State&) calls read_plan().
template <typename State, const auto& kPlan, auto kRead, auto kParse>
constexpr SourceSteps planned_steps_with() {
  return source_steps<State, internal::open_and_read<State, kPlan, kRead>, kRead, kParse>();
}

/// Makes the steps of a source whose files are `kPlan`, from parse(raw, staging) and, for what parsing cannot tell from a
/// damaged file, check(raw) after each read, which returns kNotPresent.
template <const auto& kPlan, auto kParse, auto kCheck = nullptr>
constexpr SourceSteps planned_steps() {
  return planned_steps_with<ReaderState, kPlan, internal::read_and_check<kPlan, kCheck>, kParse>();
}

/// The files of a plan without patterns at one read. Records the first error and continues, so that callers need not check
/// each number. `kPaths`: paths_of() the plan.
template <const auto& kPaths>
class PlannedFiles {
 public:
  using File = ListedName<kPaths>;
  using Number = std::optional<std::uint64_t>;

  /// Borrows `raw`.
  explicit PlannedFiles(const RawBytes& raw) {
    for (const RawFile& file : raw.files) {
      if (file.planned < contents_.size() && file.has_content()) contents_[file.planned] = file.bytes.view();
    }
  }

  /// The content of a file if it consists of whole lines; nothing if there is no such file.
  std::optional<std::string_view> text(File file) {
    const auto& content = contents_[file];
    if (!content || content->empty() || content->ends_with('\n')) return content;
    refuse(file, content->rfind('\n') + 1, "ends within a line");
    return std::nullopt;
  }
  /// The number at index `place` of a file's only line; nothing if there is no such file.
  Number number(File file, std::size_t place = 0) {
    const auto content = text(file);
    if (!content) return std::nullopt;
    std::string_view rest = trim(*content);
    std::string_view word;
    for (std::size_t at = 0; next_word(rest, word); ++at) {
      if (at != place) continue;
      if (const auto number = parse_u64(word)) return number;
      break;
    }
    refuse(file, 0, "expected a number of at most 64 bits");
    return std::nullopt;
  }
  void refuse(File file, std::size_t offset, std::string_view what) {
    if (!error_) error_ = data_error(kPaths[file], offset, what);
  }
  [[nodiscard]] const std::optional<Error>& error() const { return error_; }

 private:
  std::array<std::optional<std::string_view>, std::size(kPaths)> contents_;
  std::optional<Error> error_;
};

}  // namespace memstat
