// SPDX-License-Identifier: BSD-2-Clause
// Events of a kernel's log or of the journal, and the text table that stores and records them:
//
//   kernel_log 1                  the version
//   lost N                        records that the kernel overwrote before they were read
//   count EVENT N                 events of each kind since boot, as far back as the log goes
//   event EVENT MICROSECONDS      one of the last 64, oldest first, with its time since boot; "-": not known
//   text LINE                     its line
//   more LINE                     another line that belongs to it; at most eight
//   end
//
// core/model/freebsd_log.h describes FreeBSD's lines, core/model/service_log.h those of programs. On Linux a record of
// /dev/kmsg (Documentation/ABI/testing/dev-kmsg) is "PRIORITY,SEQUENCE,MICROSECONDS,FLAGS;TEXT", followed by lines that
// begin with a blank. The kernel writes bytes that are not printable ASCII as \xNN. Programs may write records too; theirs
// have a facility other than 0 in the priority. Users choose program names (15 bytes) and group paths, which may contain
// anything. So a line is recognized by its beginning, never by text after such a name.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace memstat {

enum class LogEvent : std::uint8_t {
  kOomKill,
  kPageAllocationFailure,
  kSlabAllocationFailure,
  kVmallocFailure,
  kConntrackFull,
  kNeighboursFull,
  kFilesFull,
  kPidsFull,
  kTcpMemoryFull,
  kOrphansFull,
  kMemoryError,
  kPagePoolStalled,
  kSuppressed,  ///< Lines that the kernel suppressed because they came too often.
  kProcessesFull,
  kThreadsFull,
  kZoneFull,
  kPipesFull,
  kAcceptQueueFull,
  kSwapFull,
  kSwapTableFull,
  kSwapReservationRefused,
  kProgramKill,  ///< A program killed for lack of memory, by its line in the journal.
  kPagingError,
  kAuditFull,
  kCacheLeaked,    ///< A slab cache was destroyed with objects in it.
  kLeakSuspected,  ///< By kmemleak.
  kPercpuFailure,
  kRoutesFull,
  kSynQueueFull,
  kRcuStall,
  kDeviceHeld,           ///< A removed network device is still referenced.
  kMemoryErrorInjected,  ///< A program or a tester requested the memory error that follows.
  kNobodyToKill,         ///< Memory ran out, and no process may be killed.
  kReaperFailed,         ///< A killed process kept its memory.
  kBounceBuffersFull,
  kAllocationWaits,  ///< A file system or a program repeats an allocation that does not succeed.
  kCmaFailure,
  kHugePagesRefused,
  kCommitRefused,         ///< Overcommit refused a program memory.
  kVictimExiting,         ///< The chosen process was exiting already, so nothing was killed.
  kMemoryErrorCorrected,  ///< Reported by the hardware, and corrected, as a rule.
  kTimeWaitFull,
  kUnrecognized,  ///< A line of no known wording that says that memory could not be had.
};
inline constexpr std::size_t kLogEventCount = static_cast<std::size_t>(LogEvent::kUnrecognized) + 1;
/// All but those from kProcessesFull to kProgramKill, which only FreeBSD or programs log.
inline constexpr std::array kLinuxLogEvents = [] {
  constexpr auto kBefore = static_cast<std::size_t>(LogEvent::kProcessesFull);
  constexpr auto kAfter = static_cast<std::size_t>(LogEvent::kPagingError);
  std::array<LogEvent, kLogEventCount - (kAfter - kBefore)> events{};
  for (std::size_t i = 0; i < events.size(); ++i) events[i] = static_cast<LogEvent>(i < kBefore ? i : i + kAfter - kBefore);
  return events;
}();
inline constexpr std::array kFreeBsdLogEvents{LogEvent::kOomKill,         LogEvent::kFilesFull,
                                              LogEvent::kProcessesFull,   LogEvent::kThreadsFull,
                                              LogEvent::kZoneFull,        LogEvent::kPipesFull,
                                              LogEvent::kAcceptQueueFull, LogEvent::kSwapFull,
                                              LogEvent::kSwapTableFull,   LogEvent::kSwapReservationRefused,
                                              LogEvent::kPagingError,     LogEvent::kCacheLeaked,
                                              LogEvent::kUnrecognized};
inline constexpr std::array kServiceLogEvents{LogEvent::kProgramKill};

/// The event's name: "oom_kill", "page_allocation_failure", ...
std::string_view to_string(LogEvent event);

/// The event of a line of Linux.
std::optional<LogEvent> event_of_line(std::string_view line);

/// One record of /dev/kmsg. Borrows the bytes.
struct LogRecord {
  std::uint64_t sequence = 0;
  std::uint64_t time_us = 0;  ///< Since boot.
  bool is_of_kernel = false;  ///< False: written by a program.
  std::string_view text;      ///< Its first line.
};
std::optional<LogRecord> read_log_record(std::string_view bytes);

/// A kill has the most lines: who needed memory, the group at its limit and its usage, before 5.1 the announcement, the
/// constraint; and of the table of processes the columns and the two largest.
inline constexpr std::size_t kMaxMoreLines = 8;

/// One event of a table. Borrows the table's text.
struct LoggedEvent {
  LogEvent event{};
  std::uint64_t time_us = 0;  ///< Since boot.
  bool has_time = true;       ///< False: the log has no time for it, and time_us is 0.
  std::string_view text;
  std::array<std::string_view, kMaxMoreLines> more = {};  ///< The first ones; "": none.
};

inline constexpr std::size_t kKeptLogEvents = 64;

/// A parsed table.
struct LogTable {
  std::uint64_t lost = 0;
  std::array<std::uint64_t, kLogEventCount> counts{};
  std::bitset<kLogEventCount> has_count;
  std::array<LoggedEvent, kKeptLogEvents> events;  ///< The first `size` are valid.
  std::size_t size = 0;
};
/// Fills `table`. Returns the offset of the first malformed line, or nothing on success. Skips events of other versions.
/// Allocates nothing.
std::optional<std::size_t> read_log_table(std::string_view text, LogTable& table);

/// One field of an event's lines: {"command", "stress"}, {"anonymous_bytes", "4096"}.
struct LogField {
  std::string_view name;
  std::string value;
  bool is_number = false;
};
std::vector<LogField> fields_of(const LoggedEvent& event);

}  // namespace memstat
