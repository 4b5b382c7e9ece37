// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/commands/commands.h"

#include <array>

namespace memstat::ctl {

namespace {

#define MEMSTAT_ADDRESS(name) &k##name##Command,
constexpr std::array kCommands{MEMSTAT_COMMANDS(MEMSTAT_ADDRESS)};
#undef MEMSTAT_ADDRESS

}  // namespace

std::string_view to_string(Group group) {
  switch (group) {
    case Group::kLook: return "Look";
    case Group::kGrowth: return "Growth";
    case Group::kCaptures: return "Captures";
    case Group::kFreeBsd: return "FreeBSD";
    case Group::kMachine: return "Machine";
    case Group::kHelp: return "Help";
  }
  return "Other";
}

std::span<const Command* const> commands() { return kCommands; }

const Command* find_command(std::string_view name) {
  for (const Command* const command : kCommands) {
    if (name == command->name || (!name.empty() && name == command->alias)) return command;
  }
  return nullptr;
}

std::string command_names(std::string_view last_separator) {
  std::string names;
  for (const Command* const command : kCommands) {
    if (!names.empty()) names += command == kCommands.back() ? last_separator : std::string_view(", ");
    names += command->name;
  }
  return names;
}

}  // namespace memstat::ctl
