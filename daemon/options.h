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

/// What the command line says. A flag that was given beats its key in the configuration file.
struct CommandLine {
  std::string config_file;  ///< "": built-in defaults.
  bool check_config = false;
  std::vector<Endpoint> listen;  ///< Empty: as configured.
  std::optional<std::chrono::nanoseconds> interval;
  std::optional<Tier> tier;
  std::optional<LogLevel> log_level;
  bool no_sandbox = false;
  bool once = false;
  ExpositionFormat format = kFallbackFormat;  ///< Of the page that `once` prints.
  std::string replay;                         ///< Capture to replay; "": the live kernel.
  std::optional<std::uint64_t> replay_max;    ///< B unpacked; none: kMaxCaptureBytes.
  double replay_speed = 1;
  bool replay_loop = false;
  std::optional<std::uint64_t> polls;
  std::string record;    ///< "": as configured.
  std::string textfile;  ///< "": as configured.
  bool list_metrics = false;
  bool list_sources = false;
  bool selftest = false;
};

/// The command line, or the exit status with which to end at once (after --help and --version 0, after a mistake 2; what
/// there is to say has been printed).
struct ParsedCommandLine {
  CommandLine options;
  std::optional<int> exit_status;
};

/// Never throws. `version` is what --version prints.
ParsedCommandLine parse_command_line(int argc, const char* const* argv, const std::string& version);

/// Puts the flags over the keys of the file.
void apply(const CommandLine& options, Config& config);

}  // namespace memstat
