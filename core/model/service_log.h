// SPDX-License-Identifier: BSD-2-Clause
// Kills by programs that free memory, from their lines in the journal: systemd-oomd, oomd, earlyoom, nohang and kubelet.
//
// The text of such an event is "PROGRAM: LINE", where PROGRAM is one of ours and never chosen by a writer of the journal.
// Its other lines say why and whom, as far as the program logs it. Users choose names of processes (15 bytes), control
// groups and pods, which may contain anything: a name can be shown wrongly, but it cannot become another program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/buffer.h"
#include "core/model/kernel_log.h"
#include "core/model/kernel_log_book.h"
#include "core/model/log_fields.h"

namespace memstat {

/// The systemd units of these programs. Only their messages are read: see core/collect/journal_messages.h.
std::span<const std::string_view> killer_units();
/// Stands for systemd itself, whose line about a unit says how many processes systemd-oomd killed.
inline constexpr std::string_view kSystemdUnit = "init.scope";
/// MESSAGE_ID of systemd's line about a unit in which systemd-oomd killed (sd-messages.h: SD_MESSAGE_UNIT_OOMD_KILL), since
/// systemd 248.
inline constexpr std::string_view kUnitOomdKill = "d989611b15e44c9dbf31e3c81256e4ed";

/// Joins the lines of each kill. A kill that did not happen (a dry run, a refused signal) does not count.
class ServiceLogBook {
 public:
  /// Adds a message of the journal: its unit, one of killer_units() or kSystemdUnit, and its time since boot. Ignores
  /// anything else.
  void add(std::string_view unit, std::uint64_t time_us, std::string_view message);
  /// Counts the last kill although nothing followed that confirms it. To be called once there are no more messages.
  void finish();
  /// Number of kills so far.
  [[nodiscard]] std::uint64_t kills() const { return book_.count(LogEvent::kProgramKill); }
  /// Replaces `out` with the table. Throws std::bad_alloc.
  void write(Buffer& out) const { book_.write(out); }

 private:
  struct Kill {
    std::string_view program;  // a constant
    std::uint64_t time_us = 0;
    std::string line = {};
    std::vector<std::string> more = {};
  };
  void begin(std::string_view program, std::uint64_t time_us, std::string_view line, std::string_view reason);
  void drop() { last_.reset(); }
  void add_systemd(std::uint64_t time_us, std::string_view line);
  void add_systemd_oomd(std::uint64_t time_us, std::string_view line);
  void add_oomd(std::uint64_t time_us, std::string_view line);
  void add_earlyoom(std::uint64_t time_us, std::string_view line);
  void add_nohang(std::uint64_t time_us, std::string_view line);
  void add_kubelet(std::uint64_t time_us, std::string_view line);

  KernelLogBook book_{kServiceLogEvents};
  std::optional<Kill> last_;  // not counted yet
  std::string systemd_line_;  // the last one, and its time
  std::uint64_t systemd_time_us_ = 0;
  std::string reason_of_oomd_;
  std::string reason_of_earlyoom_;
  std::string reason_of_kubelet_;  // "": not for lack of memory
  std::string reason_of_nohang_;
  std::vector<std::string> victim_of_nohang_;
  std::string earlyoom_pid_;  // of its last kill, and its time: it repeats the signal until the process is gone
  std::uint64_t earlyoom_time_us_ = 0;
};

/// "program", "pid", "command", "uid", "group", "pod", "processes", "bytes", "signal" and "reason", as far as the lines have
/// them.
void add_program_kill(const LoggedEvent& event, LogFieldList& fields);

}  // namespace memstat
