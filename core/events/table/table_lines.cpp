// SPDX-License-Identifier: BSD-2-Clause
#include "core/events/table/table_lines.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>

#include "core/base/error.h"
#include "core/events/table/event_metrics.h"

namespace memstat::events {

bool take_number(std::string_view& line, std::uint64_t& number) {
  std::string_view word;
  if (!next_word(line, word)) return false;
  const auto value = parse_u64(word);
  number = value.value_or(0);
  return value.has_value();
}

bool take_event(std::string_view line, Staging& staging) {
  std::string_view event;
  std::uint64_t count = 0;
  if (!next_word(line, event) || !is_valid_label_text(event) || !take_number(line, count)) return false;
  staging.statistics().merge(kVmEvents, count, {event});
  if (line.empty()) return true;
  std::uint64_t bytes = 0;
  if (!take_number(line, bytes) || !line.empty()) return false;
  staging.statistics().merge(kVmEventBytes, bytes, {event});
  return true;
}

bool take_sizes(std::string_view line, Staging& staging) {
  std::string_view allocator;
  std::uint64_t bytes = 0;
  if (!next_word(line, allocator) || !is_valid_label_text(allocator) || !take_number(line, bytes)) return false;
  std::array<std::uint64_t, kSizeBounds.size() + 1> counts{};
  for (std::uint64_t& count : counts) {
    if (!take_number(line, count)) return false;
  }
  if (!line.empty() || staging.statistics().has(kAllocationSizes, allocator)) return false;
  staging.statistics().add_histogram(kAllocationSizes, {.counts = counts, .sum = static_cast<double>(bytes)}, {allocator});
  return true;
}

bool GfpLines::take(std::string_view line, Staging& staging) {
  std::string_view allocator;
  std::string_view word;
  std::uint64_t allocations = 0;
  std::uint64_t failures = 0;
  if (!next_word(line, allocator) || !is_valid_label_text(allocator) || !next_word(line, word) ||
      !is_valid_label_text(word) || !take_number(line, allocations) || !take_number(line, failures) || !line.empty()) {
    return false;
  }
  const auto known = std::span(classes_).first(count_);
  if (count_ == kMostClasses || std::find(known.begin(), known.end(), word) != known.end()) return false;
  classes_[count_++] = word;
  staging.statistics().add(kGfpAllocations, allocations, {allocator, word});
  staging.statistics().add(kGfpFailures, failures, {allocator, word});
  return true;
}

bool GovernorLine::take(std::string_view line, std::string_view source, Staging& staging) {
  std::array<std::uint64_t, 5> numbers{};
  for (std::uint64_t& number : numbers) {
    if (!take_number(line, number)) return false;
  }
  const auto& [attached, weight, cost_ns, sampled_ns, budget_ppm] = numbers;
  std::string_view again;
  if (next_word(line, again) && (attached != 0 || (again != "later" && again != "lost"))) return false;
  if (is_taken_ || !line.empty() || attached > 1 || weight == 0) return false;
  is_taken_ = true;
  is_detached_ = attached == 0;
  StagedStatistics& statistics = staging.statistics();
  statistics.add_double(kEventsCost, static_cast<double>(cost_ns) / 1e9, {source});
  statistics.add_double(kEventsSampled, static_cast<double>(sampled_ns) / 1e9, {source});
  statistics.add_double(kEventsCounted, is_detached_ ? 0 : 1 / static_cast<double>(weight), {source});
  statistics.add_double(kEventsBudget, static_cast<double>(budget_ppm) / 1e6, {source});
  if (is_detached_) {
    staging.add_note(
        std::string("frequent events: counting them took more than events.budget, so memstatd detached from them") +
        (again == "later"  ? ", and tries again: a minute later at first, an hour later at most"
         : again == "lost" ? "; the helper process, which would attach to them again, is gone: restart memstatd "
                             "to count events again"
                           : " and stays so until it is restarted"));
  } else if (weight > 1) {
    staging.add_note("exact counts: counting takes more than events.budget, so a part of the time is counted and scaled");
  }
  return true;
}

Result<void> TableLines::wrong(std::size_t offset, std::string_view is) const {
  return data_error(table_, offset, std::string(is));
}

Result<void> TableLines::take_version(std::string_view version) {
  std::string_view line;
  if (next_line(rest_, line) && line == version) return {};
  Error error = data_error(table_, 0, "does not start with '" + std::string(version) + "'");
  error.code = ErrorCode::kVersion;
  return error;
}

Result<void> TableLines::take_figure(std::string_view word, std::uint64_t& figure) {
  const std::size_t offset = text_.size() - rest_.size();
  std::string_view line;
  std::string_view first;
  if (next_line(rest_, line) && next_word(line, first) && first == word && take_number(line, figure) && line.empty())
    return {};
  return wrong(offset, "expected '" + std::string(word) + "' and a number");
}

}  // namespace memstat::events
