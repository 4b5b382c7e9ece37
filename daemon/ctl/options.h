// SPDX-License-Identifier: BSD-2-Clause
// The command line of memstatctl.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's name
class App;
}  // namespace CLI

namespace memstat::ctl {

struct Command;  // a row of the table in commands.h

/// As which release's tools reports look; the figures are the same in all.
enum class Format { kFreeBsd15, kFreeBsd13, kFreeBsd12, kFreeBsd10 };

/// What --json says for JSON on one line.
inline constexpr std::string_view kCompact = "compact";

/// Of the command counters: what to count, of whom and for how long.
struct CounterOptions {
  bool is_list = false;
  bool is_user_only = false;
  std::optional<int> cpu = {};
  std::optional<int> pid = {};
  std::vector<std::string> command = {};  ///< With its arguments.
  std::string events = {};                ///< Separated by commas; "": what memory costs.
  std::optional<unsigned> seconds = {};   ///< None: 1, or until the command ends.
};

struct CommandLine {
  const Command* command = nullptr;  ///< Never nullptr once parsed.
  std::optional<std::string> from;   ///< As memstat_mtl_set_capture; none: MEMSTAT_CAPTURE when it is set, else live.
  bool json = false;
  std::string json_layout;  ///< "pretty" or kCompact.
  Format format = Format::kFreeBsd15;
  std::optional<bool> human;             ///< Figures as 2.3k; none: the command's own default.
  std::vector<int> pids;                 ///< Of the command process; empty: memstatctl itself.
  std::vector<std::uint64_t> addresses;  ///< Of the command node.
  std::vector<std::string> paths;        ///< Of the command resident.
  CounterOptions counters;               ///< Of the command counters.
  bool csv = false;
  std::vector<std::string> states;  ///< Of the command diff: two as `from`, or none: this kernel now and `seconds` later.
  std::optional<unsigned> seconds = {};
  std::string shell = {};  ///< Of the command completion: one of kShells.
};

/// Declares options of one command. What users give is written to `line` while the command line is parsed; both must
/// outlive the parsing. Every option that commands share is here once. Thread safety: none.
class OptionAdder {
 public:
  OptionAdder(CLI::App& app, CommandLine& line) : app_(app), line_(line) {}

  void from();                   ///< --from live|CAPTURE[@POLL]
  void json(const char* help);   ///< --json[=pretty|compact]
  void csv();                    ///< --csv
  void shell();                  ///< SHELL
  void states();                 ///< BEFORE AFTER, or --seconds N
  void format();                 ///< --format RELEASE
  void human(const char* help);  ///< --human, --no-human
  void pids();                   ///< PID...
  void addresses();              ///< ADDRESS..., at least one
  void paths();                  ///< PATH..., at least one
  void counters();               ///< --list, --cpu, --pid, --events, --seconds, --user-only, -- COMMAND...

 private:
  CLI::App& app_;
  CommandLine& line_;
};

/// The layouts that --format knows, separated by blanks.
inline constexpr std::string_view kReleases = "freebsd-15 freebsd-13 freebsd-12 freebsd-10";

/// Declares every command with its options; both must outlive the parsing.
void declare_commands(CLI::App& app, CommandLine& line);

/// The command line, or the exit status with which to end at once (what there is to say has been printed).
struct ParsedCommandLine {
  CommandLine options;
  std::optional<int> exit_status;
};

/// Throws std::bad_alloc only.
ParsedCommandLine parse_command_line(int argc, const char* const* argv);

}  // namespace memstat::ctl
