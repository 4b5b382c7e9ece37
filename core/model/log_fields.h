// SPDX-License-Identifier: BSD-2-Clause
// Extracts fields from lines of a kernel's log.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/text.h"
#include "core/model/kernel_log.h"

namespace memstat {

/// Collects the fields that a line has; missing ones are omitted.
class LogFieldList {
 public:
  void add(std::string_view name, std::string_view text) {
    if (!text.empty()) fields_.push_back({.name = name, .value = std::string(text)});
  }
  void add_number(std::string_view name, std::string_view text, std::uint64_t unit = 1) {
    const auto number = parse_u64(text);
    std::uint64_t value = 0;
    if (!number || __builtin_mul_overflow(*number, unit, &value)) return;
    fields_.push_back({.name = name, .value = std::to_string(value), .is_number = true});
  }
  std::vector<LogField> take() { return std::move(fields_); }

 private:
  std::vector<LogField> fields_;
};

namespace log_text {

/// The text of a line between `begin` and `end`; "" if either is missing. An empty `end` means up to the end of the line.
inline std::string_view between(std::string_view line, std::string_view begin, std::string_view end) {
  const std::size_t at = line.find(begin);
  if (at == std::string_view::npos) return {};
  line.remove_prefix(at + begin.size());
  const std::size_t stop = end.empty() ? line.size() : line.find(end);
  return stop == std::string_view::npos ? std::string_view() : line.substr(0, stop);
}

/// Like between(), but after the last `begin`.
inline std::string_view between_last(std::string_view line, std::string_view begin, std::string_view end) {
  const std::size_t at = line.rfind(begin);
  return at == std::string_view::npos ? std::string_view() : between(line.substr(at), begin, end);
}

inline std::string_view digits_behind(std::string_view line, std::string_view begin) {
  const std::string_view rest = between(line, begin, "");
  return rest.substr(0, std::min(rest.find_first_not_of("0123456789"), rest.size()));
}

/// How the lines begin that precede a kill and belong to it.
inline constexpr std::string_view kContext = "oom-kill:constraint=";
inline constexpr std::string_view kOldContext = "Task in ";                          // before 4.19
inline constexpr std::string_view kUsage = "memory: usage ";                         // of the group at its limit
inline constexpr std::string_view kMachineKill = "Out of memory: Kill process ";     // before 5.1, like the next
inline constexpr std::string_view kGroupKill = "Memory cgroup out of memory: Kill";  // also "Killed"
inline constexpr std::string_view kGroupAnnouncement = "Memory cgroup out of memory: Kill process ";
inline constexpr std::string_view kOldMachineKill = "Out of memory: kill process ";  // before 2.6.36, like the next
inline constexpr std::string_view kOldGroupKill = "Memory cgroup out of memory: kill process ";
inline constexpr std::string_view kAskerKill = "Out of memory (oom_kill_allocating_task): ";
inline constexpr std::string_view kAskerAnnouncement = "Out of memory (oom_kill_allocating_task): Kill process ";
inline constexpr std::string_view kInvoked = " invoked oom-killer: ";  // behind a program's name

}  // namespace log_text
}  // namespace memstat
