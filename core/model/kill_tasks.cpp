// SPDX-License-Identifier: BSD-2-Clause
#include "core/model/kill_tasks.h"

#include <algorithm>

#include "core/base/text.h"

namespace memstat {
namespace {

/// Splits "[  123]  rest". False if the line does not begin so.
bool split_row(std::string_view line, std::string_view& number, std::string_view& rest) {
  const std::size_t end = line.find(']');
  if (!line.starts_with('[') || end == std::string_view::npos) return false;
  number = trim(line.substr(1, end - 1));
  rest = line.substr(end + 1);
  return true;
}

bool take_amount(std::string_view text, std::uint64_t& place) {
  const auto number = parse_u64(text);
  place = number.value_or(0);
  return number.has_value();
}

/// Stores the value of a column. False if it is not a number. Skips columns that are not needed.
bool take_column(std::string_view column, std::string_view text, KillTask& task) {
  if (column == "tgid") return take_amount(text, task.pid);
  if (column == "rss") return take_amount(text, task.resident_pages);
  if (column == "swapents") return take_amount(text, task.swap_pages);
  if (column != "oom_score_adj") return true;
  const auto adjustment = parse_i64(text);
  task.oom_score_adj = adjustment.value_or(0);
  return adjustment.has_value();
}

}  // namespace

bool is_task_header(std::string_view line) {
  std::string_view pid;
  std::string_view columns;
  return split_row(line, pid, columns) && pid == "pid" && trim(columns).starts_with("uid ") &&
         columns.find(" tgid ") != std::string_view::npos && columns.find(" rss ") != std::string_view::npos &&
         columns.ends_with(" name");
}

std::optional<KillTask> read_kill_task(std::string_view header, std::string_view line) {
  std::string_view number;
  std::string_view columns;
  std::string_view rest;
  if (!is_task_header(header) || !split_row(header, number, columns) || !split_row(line, number, rest)) return std::nullopt;
  const auto thread = parse_u64(number);
  if (!thread) return std::nullopt;
  KillTask task;
  task.thread = *thread;
  std::string_view column;
  std::string_view word;
  while (next_word(columns, column) && column != "name") {
    if (!next_word(rest, word) || !take_column(column, word, task)) return std::nullopt;
  }
  task.name = rest.substr(std::min<std::size_t>(1, rest.size()));  // after one blank: a name may begin with more
  return task;
}

}  // namespace memstat
