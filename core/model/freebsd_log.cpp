// SPDX-License-Identifier: BSD-2-Clause
#include "core/model/freebsd_log.h"

#include <algorithm>
#include <charconv>
#include <cstddef>

#include "core/model/log_fields.h"
#include "core/model/log_wordings.h"

namespace memstat {
namespace {

using log_text::between;
using log_text::between_last;
using log_text::digits_behind;

constexpr std::uint64_t kLevels = 8;  // per facility; facility 0 is the kernel's
constexpr std::uint64_t kError = 3;   // LOG_ERR

constexpr std::string_view kKilled = ", was killed: ";
/// The ends of lines about kills for lack of memory (vm_pageout_oom() in vm/vm_pageout.c). Kills for other reasons exist.
constexpr std::string_view kKillReasons[] = {"failed to reclaim memory", "a thread waited too long to allocate a page",
                                             "out of swap space"};

/// The reason at the end of a line about a kill; "" for other lines and reasons. A newline in the program's name may have
/// split the line before it.
std::string_view kill_reason(std::string_view text) {
  for (const std::string_view reason : kKillReasons) {
    if (!text.ends_with(reason)) continue;
    if (text.substr(0, text.size() - reason.size()).ends_with(kKilled)) return reason;
  }
  return {};
}

/// Takes "OPEN N CLOSE" from the start of `text`, where N may have a fraction of six digits.
std::optional<std::uint64_t> take_number(std::string_view& text, char open, std::string_view close, bool is_time) {
  if (!text.starts_with(open)) return std::nullopt;
  const char* const end = text.data() + text.size();
  std::uint64_t number = 0;
  auto [at, failure] = std::from_chars(text.data() + 1, end, number);
  if (failure != std::errc()) return std::nullopt;
  std::uint64_t fraction = 0;
  if (is_time && at != end && *at == '.') {
    const char* const digits = at + 1;
    const auto parsed = std::from_chars(digits, end, fraction);
    if (parsed.ec != std::errc() || parsed.ptr - digits != 6) return std::nullopt;
    at = parsed.ptr;
  }
  const std::string_view rest(at, static_cast<std::size_t>(end - at));
  if (!rest.starts_with(close)) return std::nullopt;
  constexpr std::uint64_t kMicroseconds = 1'000'000;
  if (is_time &&
      (__builtin_mul_overflow(number, kMicroseconds, &number) || __builtin_add_overflow(number, fraction, &number)))
    return std::nullopt;
  text = rest.substr(close.size());
  return number;
}

/// "pid 812 (COMMAND), jid 0, uid 1001, was killed: REASON"; without jid before 13.0.
void add_kill(std::string_view line, LogFieldList& fields) {
  fields.add("scope", "machine");
  if (line.starts_with("pid ")) fields.add_number("pid", digits_behind(line, "pid "));
  const std::size_t end = std::max(line.rfind("), jid ") + 1, line.rfind("), uid ") + 1);
  if (end != 0) fields.add("command", between(line.substr(0, end - 1), " (", ""));
  if (end != 0) fields.add_number("uid", digits_behind(line.substr(end - 1), "uid "));
  if (end != 0) fields.add_number("jail", digits_behind(line.substr(end - 1), ", jid "));
  fields.add("reason", kill_reason(line));
}

/// "sonewconn: pcb 0xfffff80003 (0.0.0.0:80 (proto 6)): Listen queue overflow: 193 already in queue awaiting acceptance (5
/// occurrences), euid 1001, rgid 1001, jail 0"; without the owner for root, without the address before 12.0.
void add_queue(std::string_view line, LogFieldList& fields) {
  constexpr std::string_view kOverflow = ": Listen queue overflow: ";
  const std::size_t at = line.rfind(kOverflow);
  if (at == std::string_view::npos) return;
  const std::string_view head = line.substr(0, at);
  const std::string_view tail = line.substr(at);
  if (head.ends_with(")")) fields.add("socket", between(head.substr(0, head.size() - 1), " (", ""));
  fields.add_number("queued", digits_behind(tail, kOverflow));
  fields.add_number("times", digits_behind(tail, "acceptance ("));
  fields.add_number("uid", digits_behind(tail, ", euid "));
}

}  // namespace

FreeBsdLogLine read_freebsd_log_line(std::string_view line) {
  FreeBsdLogLine read{.priority = {}, .time_us = {}, .text = line};
  read.priority = take_number(read.text, '<', ">", false);
  read.time_us = take_number(read.text, '[', "] ", true);
  return read;
}

std::optional<LogEvent> event_of_line(const FreeBsdLogLine& line) {
  if (line.priority.value_or(0) >= kLevels) return std::nullopt;
  if (line.priority) {
    if (*line.priority == kError && !kill_reason(line.text).empty()) return LogEvent::kOomKill;
    constexpr LogWording kOverflow{LogEvent::kAcceptQueueFull, "sonewconn: pcb ", ": Listen queue overflow: "};
    if (is_like(line.text, kOverflow)) return kOverflow.event;
    return may_be_refusal(line.text) ? std::optional(LogEvent::kUnrecognized) : std::nullopt;
  }
  for (const LogWording& wording : freebsd_wordings()) {
    if (is_like(line.text, wording)) return wording.event;
  }
  return may_be_refusal(line.text) ? std::optional(LogEvent::kUnrecognized) : std::nullopt;
}

bool is_start_of_boot(const FreeBsdLogLine& first, const FreeBsdLogLine& second) {
  return !first.priority && !second.priority && first.text == "---<<BOOT>>---" &&
         second.text.starts_with("Copyright (c) 1992-");
}

bool add_freebsd_fields(const LoggedEvent& event, LogFieldList& fields) {
  const std::string_view line = event.text;
  switch (event.event) {
    case LogEvent::kOomKill:
      if (kill_reason(line).empty()) return false;
      add_kill(line, fields);
      return true;
    case LogEvent::kFilesFull:
      if (!line.starts_with("kern.maxfiles ")) return false;
      fields.add_number("uid", digits_behind(line, " uid "));
      fields.add("command", between(line.substr(0, std::min(line.rfind(") "), line.size())), ", (", ""));
      return true;
    case LogEvent::kProcessesFull:
    case LogEvent::kThreadsFull:
    case LogEvent::kSwapReservationRefused:
      fields.add_number("uid", digits_behind(line, "uid "));
      fields.add_number("pid", digits_behind(line, "pid "));
      fields.add_number("bytes", digits_behind(line, ": swap reservation for "));
      return true;
    case LogEvent::kZoneFull:
      fields.add("zone", between(line, "[zone: ", "] "));
      fields.add("limit", between(line, "] ", " limit reached"));
      return true;
    case LogEvent::kSwapFull: fields.add_number("pages", digits_behind(line, "getswapspace(")); return true;
    case LogEvent::kPagingError:
      if (line.find("-error on swap-device (") != std::string_view::npos) return false;
      fields.add_number("pid", digits_behind(line, ", pid "));
      fields.add("command", between_last(line, " (", ")"));
      return true;
    case LogEvent::kAcceptQueueFull: add_queue(line, fields); return true;
    case LogEvent::kCacheLeaked:  // "Freed UMA keg (ZONE) was not empty (240 items).  Lost 26 pages of memory."
      if (!line.starts_with("Freed UMA keg (")) return false;
      fields.add("zone", between_last(line, "UMA keg (", ") was not empty ("));
      fields.add_number("items", digits_behind(line, ") was not empty ("));
      fields.add_number("pages", digits_behind(line, " Lost "));
      return true;
    case LogEvent::kPipesFull:
    case LogEvent::kSwapTableFull: return true;
    default: return false;
  }
}

std::string_view lines_after(std::string_view known, std::string_view now) {
  if (now.starts_with(known)) return now.substr(known.size());
  if (now.size() < known.size() / 2) return now;  // cleared; overwriting loses no more than a line at a time
  // The kernel may have overwritten the beginning: find where the first line of `now` is in `known`.
  const std::string_view first = now.substr(0, now.find('\n') + 1);
  constexpr int kMaxTries = 4096;  // for a line that occurs repeatedly
  std::size_t at = known.find(first);
  for (int tries = 0; tries < kMaxTries && at != std::string_view::npos; ++tries) {
    const std::string_view rest = known.substr(at);
    if (now.starts_with(rest)) return now.substr(rest.size());
    at = known.find(first, at + first.size());
  }
  return now;
}

}  // namespace memstat
