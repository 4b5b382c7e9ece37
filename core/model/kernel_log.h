// SPDX-License-Identifier: BSD-2-Clause
// Lines of Linux's log that say that memory, or a table, ran out, and the text table in which they are kept and recorded:
//
//   kernel_log 1                  the version
//   lost N                        records that the kernel overwrote before they were read
//   count EVENT N                 how many of each event, since boot as far as the log goes back
//   event EVENT MICROSECONDS      one of the last 64, oldest first, with its time since boot
//   text LINE                     its line
//   more LINE                     a second line that belongs to it; may be missing
//   end
//
// A record of /dev/kmsg (Documentation/ABI/testing/dev-kmsg) is "PRIORITY,SEQUENCE,MICROSECONDS,FLAGS;TEXT", then lines that
// begin with a blank. The kernel writes any byte that is not printable ASCII as \xNN. Programs may write records, too:
// theirs have a facility other than 0 in the priority. Names of programs (15 bytes) and paths of groups are chosen by users
// and may hold anything, so a line is recognised by how it begins, never by what stands behind such a name.
#pragma once

#include <array>
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
  kSuppressed,  ///< The kernel left out lines that came too often.
};
inline constexpr std::size_t kLogEventCount = static_cast<std::size_t>(LogEvent::kSuppressed) + 1;

/// "oom_kill", "page_allocation_failure", ...
std::string_view to_string(LogEvent event);

/// The event that a line of the log reports.
std::optional<LogEvent> event_of_line(std::string_view line);

/// One record of /dev/kmsg. The text lives as long as the bytes.
struct LogRecord {
  std::uint64_t sequence = 0;
  std::uint64_t time_us = 0;  ///< Since boot.
  bool is_of_kernel = false;  ///< False: a program wrote it.
  std::string_view text;      ///< Its first line.
};
std::optional<LogRecord> read_log_record(std::string_view bytes);

/// One event of a table. The texts live as long as the table's text.
struct LoggedEvent {
  LogEvent event{};
  std::uint64_t time_us = 0;
  std::string_view text;
  std::string_view more;
};

inline constexpr std::size_t kKeptLogEvents = 64;

/// A table that was read. Thread safety: a plain value.
struct LogTable {
  std::uint64_t lost = 0;
  std::array<std::uint64_t, kLogEventCount> counts{};
  std::array<LoggedEvent, kKeptLogEvents> events;  ///< The first `size` of them.
  std::size_t size = 0;
};
/// Fills `table`. Returns the offset of the first line that is wrong, and nothing when all is well. Events of other versions
/// are passed over. Allocates nothing.
std::optional<std::size_t> read_log_table(std::string_view text, LogTable& table);

/// What an event's lines say, by name: {"command", "stress"}, {"anonymous_bytes", "4096"}.
struct LogField {
  std::string_view name;
  std::string value;
  bool is_number = false;
};
std::vector<LogField> fields_of(const LoggedEvent& event);

}  // namespace memstat
