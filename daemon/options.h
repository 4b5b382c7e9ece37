// SPDX-License-Identifier: BSD-2-Clause
// The command line of memstatd.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "daemon/exposition/format.h"

namespace memstat {

/// The parsed command line. A flag overrides its key in the configuration file.
struct CommandLine {
  std::string config_file;  ///< "": built-in defaults.
  bool check_config = false;
  std::vector<Endpoint> listen;  ///< Empty: as configured.
  std::optional<std::chrono::nanoseconds> interval;
  std::optional<Tier> tier;
  std::optional<LogLevel> log_level;
  bool no_sandbox = false;
  bool once = false;
  ExpositionFormat format = kFallbackFormat;  ///< For the page that `once` prints.
  bool is_demo = false;                       ///< Replays demo_capture() at once, on a free port if the usual one is taken.
  std::string replay;                         ///< Capture to replay; "": the live kernel.
  std::optional<std::uint64_t> replay_max;    ///< B unpacked; nothing: kMaxCaptureBytes.
  double replay_speed = 1;
  bool replay_loop = false;
  std::optional<std::uint64_t> polls;
  std::string record;    ///< "": as configured.
  std::string textfile;  ///< "": as configured.
  bool list_metrics = false;
  bool list_sources = false;
  bool selftest = false;
};

/// The command line, or the exit status if the program must exit now: 0 after --help and --version, 1 if these
/// could not be printed, 2 after an error. The message has been printed.
struct ParsedCommandLine {
  CommandLine options;
  std::optional<int> exit_status;
};

/// Never throws. `version` is what --version prints.
ParsedCommandLine parse_command_line(int argc, const char* const* argv, const std::string& version);

void apply(const CommandLine& options, Config& config);

}  // namespace memstat
