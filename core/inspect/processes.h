// SPDX-License-Identifier: BSD-2-Clause
// The processes of a machine, and their descriptors.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/inspect/inspection.h"

namespace memstat {

/// The contents of /proc/PID/status of a process with its own memory; kernel threads have none.
struct Process {
  std::uint64_t pid = 0;
  std::string command;
  std::string uid;
  std::uint64_t descriptor_room = 0;              ///< at least the number of its descriptors
  std::optional<std::uint64_t> descriptors = {};  ///< the number, if the kernel reports it
  std::uint64_t bytes = 0;                        ///< value of the requested line
};

/// Nothing if `status` is not that of such a process. `key`: a line in kB, such as "VmLck"; "": none.
std::optional<Process> parse_status(std::string_view status, std::string_view key);

/// All processes, as far as half of the time allows. Those that may have the most descriptors come first. Errors:
/// kNotPresent if there are none, as in a capture.
Result<std::vector<Process>> list_processes(Inspector& inspector, std::string_view key = {});

/// Calls `visit(pid, status)` for each process, zombies and kernel threads included, within the bounds. They are what the
/// answer has seen. The status is valid until the inspector reads something else. Errors: as list_processes().
using VisitStatus = std::function<void(std::uint64_t, std::string_view)>;
Result<void> walk_statuses(Inspector& inspector, const VisitStatus& visit);

/// The value of a line of a status, such as "12 kB"; "": no such line.
std::string_view status_value(std::string_view status, std::string_view key);
/// The number that it begins with.
std::optional<std::uint64_t> status_number(std::string_view status, std::string_view key);

/// The soft limit with that name in /proc/PID/limits, such as "Max open files". Nothing: unlimited or unknown.
std::optional<std::uint64_t> soft_limit(Inspector& inspector, std::uint64_t pid, std::string_view name);
/// The number in a file of /proc/sys.
std::optional<std::uint64_t> setting(Inspector& inspector, std::string_view path);

/// From here on what has been seen is how many of these processes were examined.
void begin_examining(Inspector& inspector, const std::vector<Process>& processes);

/// One process for each namespace of that kind, such as "mnt", in the order of `processes`. The first is Process{}, for
/// memstatd's own namespace.
std::vector<Process> one_of_each(Inspector& inspector, const std::vector<Process>& processes, std::string_view kind);
/// "/proc/812/", or "/proc/self/" for Process{}.
std::string directory_of(const Process& process);

Holder holder_of(const Process& process);

/// "/proc/812/fd"
std::string path_of(const Process& process, std::string_view file);

/// Counts the process as refused if `error` is a missing permission or descriptor. A process that has just ended is not
/// counted at all.
void note_refusal(Inspector& inspector, const Process& process, const Error& error);

/// Adds the processes with bytes in that line of their status.
Result<void> look_at_status(Inspector& inspector, std::string_view key);

/// Calls `visit` for each process with descriptors, within the bounds, those with the most first: what is left out holds the
/// least. `visit` counts the descriptors that it has seen. Errors: as list_processes().
Result<void> walk_by_descriptors(Inspector& inspector, const std::function<void(const Process&)>& visit);

/// Calls `visit(process, descriptor, target)` for each descriptor of each process, with texts such as "5" and "pipe:[123]",
/// and `leave(process)` after the last descriptor of a process, in the order of walk_by_descriptors().
/// A process may use half of the time that is left, so that it hides no other.
using VisitDescriptor = std::function<void(const Process&, std::string_view, std::string_view)>;
using LeaveProcess = std::function<void(const Process&)>;
Result<void> walk_descriptors(Inspector& inspector, const VisitDescriptor& visit, const LeaveProcess& leave);

/// Adds the number of descriptors with that target for each process that has any.
Result<void> count_descriptors(Inspector& inspector, std::string_view target);

/// 123 of "pipe:[123]", where `kind` is "pipe".
std::optional<std::uint64_t> inode_of(std::string_view target, std::string_view kind);

}  // namespace memstat
