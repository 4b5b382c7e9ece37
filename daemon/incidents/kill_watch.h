// SPDX-License-Identifier: BSD-2-Clause
// Wakes memstatd when the kernel or a program kills a process for lack of memory, so that it polls before the evidence is
// gone.
#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <thread>

#include "core/base/unique_fd.h"
#include "daemon/incidents/program_kills.h"

namespace memstat {

/// Whether this line of the kernel's log says that it killed a process for lack of memory.
bool says_killed(std::string_view line);

/// Waits for lines of the kernel's log and of the journal on a thread of its own, which otherwise sleeps. Without permission
/// for a log, or on another system than Linux, the next poll notices the kill.
class KillWatch {
 public:
  /// Opens the logs at their ends. Call while privileges last.
  KillWatch();
  ~KillWatch();
  KillWatch(const KillWatch&) = delete;
  KillWatch& operator=(const KillWatch&) = delete;

  /// `on_kill` is called on the thread, at most once in kRestMs; it may take long.
  void start(std::function<void()> on_kill);

 private:
  static constexpr int kRestMs = 2000;
  static constexpr int kJournalRestMs =
      250;  // other messages are many, and the line of a kill follows others of its program
  void run();
  bool kernel_has_killed();

  UniqueFd log_;  // of the kernel
  ProgramKills programs_;
  UniqueFd reading_end_;  // readable when the thread must stop
  UniqueFd writing_end_;
  std::function<void()> on_kill_;
  std::thread thread_;
};

}  // namespace memstat
