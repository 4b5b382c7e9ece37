// SPDX-License-Identifier: BSD-2-Clause
// The command line of memstatctl.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace memstat::ctl {

enum class Command { kMalloc, kZones, kMbufs, kTypes, kProcess, kNode, kResident };

/// As which release's tools reports look; the figures are the same in all.
enum class Format { kFreeBsd15, kFreeBsd13, kFreeBsd12, kFreeBsd10 };

/// What --from says for the kernel of this machine.
inline constexpr std::string_view kFromLive = "live";

/// The name of a command as users type it.
std::string_view name_of(Command command);

struct CommandLine {
  Command command = Command::kTypes;
  std::optional<std::string> from;  ///< A capture, or kFromLive; none: MEMSTAT_CAPTURE when it is set, else live.
  bool json = false;
  Format format = Format::kFreeBsd15;
  std::optional<bool> human;             ///< Figures as 2.3k; none: the command's own default.
  std::vector<int> pids;                 ///< Of the command process; empty: memstatctl itself.
  std::vector<std::uint64_t> addresses;  ///< Of the command node.
  std::vector<std::string> paths;        ///< Of the command resident.
};

/// The command line, or the exit status with which to end at once (what there is to say has been printed).
struct ParsedCommandLine {
  CommandLine options;
  std::optional<int> exit_status;
};

/// Throws std::bad_alloc only.
ParsedCommandLine parse_command_line(int argc, const char* const* argv);

}  // namespace memstat::ctl
