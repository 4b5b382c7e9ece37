// SPDX-License-Identifier: BSD-2-Clause
#include "core/events/table_lines.h"

#include <string>

#include "core/base/error.h"
#include "core/events/event_metrics.h"

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
  staging.statistics().add(kVmEvents, count, {event});
  if (line.empty()) return true;
  std::uint64_t bytes = 0;
  if (!take_number(line, bytes) || !line.empty()) return false;
  staging.statistics().add(kVmEventBytes, bytes, {event});
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
