// SPDX-License-Identifier: BSD-2-Clause
// Lines of FreeBSD's log as the sysctl kern.msgbuf has them (sys/kern/subr_msgbuf.c, subr_prf.c): text with a line each. A
// line begins with "<N>", facility x 8 + level, where log(9) wrote it, and not where printf(9) did. What programs write to
// the console has a facility other than 0. With kern.msgbuf_show_timestamp "[SECONDS] " or "[SECONDS.MICROSECONDS] "
// follows. The kernel keeps the last 96 KiB and leaves out a first line that is cut. It also keeps what it printed before a
// warm reboot. Repeated lines are written as often as they come; "last message repeated" is syslogd's.
//
// Users choose names of programs (19 bytes) and paths of sockets (104), with any byte except NUL: a line may end within one
// and what follows looks like a line. So a pattern must be longer than a program's name, and it includes the level, because
// each line of a socket's path has the level of its message.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/model/kernel_log.h"

namespace memstat {

class LogFieldList;

/// One line. Borrows the bytes. Thread safety: a plain value.
struct FreeBsdLogLine {
  std::optional<std::uint64_t> priority;  ///< Nothing: printf(9) wrote it.
  std::optional<std::uint64_t> time_us;   ///< Since boot.
  std::string_view text;
};
FreeBsdLogLine read_freebsd_log_line(std::string_view line);

std::optional<LogEvent> event_of_line(const FreeBsdLogLine& line);

/// Whether these two lines, one after the other, are the first ones that a kernel prints.
bool is_start_of_boot(const FreeBsdLogLine& first, const FreeBsdLogLine& second);

/// Fields of an event that event_of_line(FreeBsdLogLine) found. False: the line is not FreeBSD's.
bool add_freebsd_fields(const LoggedEvent& event, LogFieldList& fields);

/// The lines of `now`, the content of kern.msgbuf, that `known`, its content at an earlier read, did not have: what comes
/// after the longest end of `known` with which `now` begins. All of `now` if the buffer was cleared or overwritten. Both
/// must end with a newline or be empty.
std::string_view lines_behind(std::string_view known, std::string_view now);

}  // namespace memstat
