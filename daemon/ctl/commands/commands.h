// SPDX-License-Identifier: BSD-2-Clause
// The commands of memstatctl, in one table: help, messages, parsing and running come from it.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/include/memstat.h"
#include "daemon/ctl/commands/options.h"
#include "daemon/ctl/output/output.h"

namespace memstat::ctl {

/// One command. A new one is a row in commands.cpp.
struct Command {
  const char* name;  ///< As users type it.
  const char* help;  ///< One line for --help.
  /// Declares the options and arguments that the command takes.
  void (*add_options)(OptionAdder& add);
  /// Reads what it needs through the list, which is empty and has its capture set, and makes the report. Throws
  /// std::bad_alloc.
  Report (*run)(const CommandLine& options, memory_type_list* list);
};

/// All of them, in the order of the help text. Static.
std::span<const Command> commands();

/// The row of that name; nullptr when no command has it.
const Command* find_command(std::string_view name);

/// "malloc, zones and types" with " and " as the last separator.
std::string command_names(std::string_view last_separator);

}  // namespace memstat::ctl
