// SPDX-License-Identifier: BSD-2-Clause
// The commands of memstatctl, in one table: help, messages, parsing, completion and running come from it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "daemon/ctl/commands/options.h"
#include "daemon/ctl/output/output.h"

namespace memstat::ctl {

/// Commands that are listed together, in this order.
enum class Group : std::uint8_t { kLook, kGrowth, kCaptures, kFreeBsd, kMachine, kHelp };

/// "Look", "Growth", ...
std::string_view to_string(Group group);

/// One command. A new one is a file next to this one, and a word in MEMSTAT_COMMANDS.
struct Command {
  const char* name;  ///< As users type it.
  Group group;
  const char* help;                 ///< One line for --help.
  const char* examples;             ///< Command lines, a line each, for the end of the command's --help.
  std::span<const Option> options;  ///< Options and arguments.
  /// Reads what it needs and makes the report. Throws std::bad_alloc.
  Report (*run)(const CommandLine& options);
  const char* alias = "";  ///< A former name, which is still accepted; "" for none.
};

/// Every command, in the order of the help text.
#define MEMSTAT_COMMANDS(command)                                                                                       \
  command(Why) command(Top) command(Types) command(Limits) command(Show) command(Events) command(Diff) command(Watch)   \
      command(Leaks) command(Origins) command(Stacks) command(Record) command(Replay) command(Objects) command(Malloc)  \
          command(Zones) command(Mbufs) command(Who) command(Process) command(Node) command(Resident) command(Counters) \
              command(Explain) command(Doctor) command(Completion)

#define MEMSTAT_DECLARATION(name) extern const Command k##name##Command;
MEMSTAT_COMMANDS(MEMSTAT_DECLARATION)
#undef MEMSTAT_DECLARATION

/// All commands, in the order of the help text. Static.
std::span<const Command* const> commands();

/// The command of that name or alias; nullptr when no command has it.
const Command* find_command(std::string_view name);

/// "malloc, zones and types" with " and " as the last separator.
std::string command_names(std::string_view last_separator);

}  // namespace memstat::ctl
