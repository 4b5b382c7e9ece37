// SPDX-License-Identifier: BSD-2-Clause
// Lines of FreeBSD's log, as in the sysctl kern.msgbuf (sys/kern/subr_msgbuf.c, subr_prf.c). A line from log(9) begins with
// "<N>", facility x 8 + level; a line from printf(9) does not. Lines that programs write to the console have a facility
// other than 0. With kern.msgbuf_show_timestamp, "[SECONDS] " or "[SECONDS.MICROSECONDS] " follows. The kernel keeps the
// last 96 KiB, across warm reboots too, and omits a truncated first line. Repeated lines are all there: only syslogd writes
// "last message repeated".
//
// Users choose program names (19 bytes) and socket paths (104 bytes), which may contain any byte except NUL. What follows a
// newline in one of them looks like a line of its own. So a pattern must be longer than a program name, and it includes the
// level, because each line of a socket path gets the level of its message.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/model/kernel_log.h"

namespace memstat {

class LogFieldList;

/// One line. Borrows the bytes.
struct FreeBsdLogLine {
  std::optional<std::uint64_t> priority;  ///< Nothing: a line from printf(9).
  std::optional<std::uint64_t> time_us;   ///< Since boot.
  std::string_view text;
};
FreeBsdLogLine read_freebsd_log_line(std::string_view line);

std::optional<LogEvent> event_of_line(const FreeBsdLogLine& line);

/// Whether these two consecutive lines are the first ones that a kernel prints.
bool is_start_of_boot(const FreeBsdLogLine& first, const FreeBsdLogLine& second);

/// Adds the fields of an event that event_of_line(FreeBsdLogLine) found. Returns false if the line is not FreeBSD's.
bool add_freebsd_fields(const LoggedEvent& event, LogFieldList& fields);

/// The lines of `now`, the content of kern.msgbuf, that are new since `known`, its content at an earlier read: those after
/// the longest suffix of `known` that `now` begins with. All of `now` if the buffer was cleared or overwritten. Both must
/// be empty or end with a newline.
std::string_view lines_after(std::string_view known, std::string_view now);

}  // namespace memstat
