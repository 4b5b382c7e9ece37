// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdio>
#include <exception>
#include <new>
#include <utility>

#include "daemon/ctl/output.h"

namespace memstat::ctl {
namespace {

struct CommandWords {
  Command command;
  const char* name;
  const char* help;
};

constexpr std::array<CommandWords, 7> kCommands{{
    {Command::kMalloc, "malloc", "The malloc(9) types of a FreeBSD kernel, as vmstat -m prints them"},
    {Command::kZones, "zones", "The uma(9) zones of a FreeBSD kernel, as vmstat -z prints them"},
    {Command::kMbufs, "mbufs", "The network buffers of a FreeBSD kernel, as netstat -m prints them"},
    {Command::kTypes, "types", "Every memory type of any kernel, the largest first"},
    {Command::kProcess, "process", "How much memory processes of a Linux kernel have"},
    {Command::kNode, "node", "Which NUMA node of a Linux kernel physical addresses lie in"},
    {Command::kResident, "resident", "How much of files is in this machine's memory"},
}};

constexpr std::array<std::pair<const char*, Format>, 4> kFormats{{{"freebsd-15", Format::kFreeBsd15},
                                                                  {"freebsd-13", Format::kFreeBsd13},
                                                                  {"freebsd-12", Format::kFreeBsd12},
                                                                  {"freebsd-10", Format::kFreeBsd10}}};

constexpr const char* kFooter =
    "Exit status: 0 done, 1 it could not run, 2 wrong usage.\n"
    "Environment: MEMSTAT_CAPTURE names the capture to read when --from is not given.\n"
    "memstatctl COMMAND --help lists the options of a command.";

/// "" or what is wrong with the argument of --from.
std::string check_from(const std::string& text) {
  if (text.empty()) return "must not be empty";
  std::string scheme = text.substr(0, text.find("://"));
  std::transform(scheme.begin(), scheme.end(), scheme.begin(), [](unsigned char c) { return std::tolower(c); });
  if (text.find("://") != std::string::npos && (scheme == "http" || scheme == "https")) {
    return text + " is a URL, and this command reads a kernel or a capture only: give live, CAPTURE or CAPTURE@POLL";
  }
  return {};
}

/// "" or what is wrong with the argument of --format.
std::string check_format(const std::string& text) {
  const bool is_known =
      std::any_of(kFormats.begin(), kFormats.end(), [&](const auto& entry) { return text == entry.first; });
  return is_known ? std::string() : "there is no format " + text + ": give freebsd-15, freebsd-13, freebsd-12 or freebsd-10";
}

/// The whole of `text` as a number: decimal, or hexadecimal behind 0x.
std::optional<std::uint64_t> parse_number(std::string_view text) {
  const bool is_hex = text.starts_with("0x") || text.starts_with("0X");
  if (is_hex) text.remove_prefix(2);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, is_hex ? 16 : 10);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return {};
  return value;
}

/// "" or what is wrong with an address.
std::string check_address(const std::string& text) {
  if (parse_number(text)) return {};
  return "\"" + text + "\" is no address: give bytes from the begin of physical memory, at most 2^64 - 1, as 0x1a2b or 6699";
}

/// "" or what is wrong with the number of a process.
std::string check_pid(const std::string& text) {
  constexpr std::uint64_t kMost = 0x7FFFFFFF;
  const auto number = parse_number(text);
  const bool is_decimal = text.find_first_not_of("0123456789") == std::string::npos;
  if (number && is_decimal && *number != 0 && *number <= kMost) return {};
  return "\"" + text + "\" is no process: give its number";
}

/// What a command's options are written to while they are parsed.
struct Collected {
  std::string from;
  std::string format = kFormats[0].first;
  bool is_human = false;
  bool is_exact = false;
  std::vector<std::string> arguments;  // that stand behind the command
};

bool is_of_freebsd(Command command) {
  return command == Command::kMalloc || command == Command::kZones || command == Command::kMbufs;
}

/// What a command takes that is no option.
void add_arguments(CLI::App& app, Command command, Collected& collected) {
  if (command == Command::kProcess) {
    app.add_option("PID", collected.arguments, "Their numbers; memstatctl itself when there is none")
        ->type_name("")
        ->check(check_pid);
  } else if (command == Command::kNode) {
    app.add_option("ADDRESS", collected.arguments, "Physical addresses, as 0x1a2b or 6699")
        ->type_name("")
        ->required()
        ->check(check_address);
  } else if (command == Command::kResident) {
    app.add_option("PATH", collected.arguments, "Files, and folders with all files below them")->type_name("")->required();
  }
}

void add_options(CLI::App& app, Command command, Collected& collected, CommandLine& options) {
  add_arguments(app, command, collected);
  if (command != Command::kResident)
    app.add_option(
           "--from", collected.from,
           "This machine's kernel, or a capture (a folder, .tar or .tar.zst)\nand which poll of it, from 0; the last "
           "by default")
        ->type_name("live|CAPTURE[@POLL]")
        ->check(check_from);
  app.add_flag("--json", options.json,
               is_of_freebsd(command) ? "JSON with the keys and nesting of the original tool"
                                      : "JSON, figures in bytes and whole numbers");
  if (is_of_freebsd(command)) {
    app.add_option(
           "--format", collected.format,
           "Layout of that release: freebsd-15 (the default), freebsd-13,\nfreebsd-12 or freebsd-10 (which had no JSON)")
        ->type_name("RELEASE")
        ->check(check_format);
  }
  if (command == Command::kMalloc || command == Command::kTypes) {
    CLI::Option* human =
        app.add_flag("--human", collected.is_human,
                     command == Command::kTypes ? "Bytes as 2.3M: the default"
                                                : "Figures as 2.3k: the default on a terminal, as with vmstat");
    app.add_flag("--no-human", collected.is_exact, "Whole figures")->excludes(human);
  }
}

ParsedCommandLine refuse(const std::string& what) {
  std::fprintf(stderr, "memstatctl: %s\nmemstatctl --help lists what there is.\n", what.c_str());
  return {.options = {}, .exit_status = kExitUsage};
}

ParsedCommandLine finish(const CLI::App& parsed, const Collected& collected, CommandLine options) {
  for (const CommandWords& words : kCommands) {
    if (parsed.get_name() == words.name) options.command = words.command;
  }
  for (const auto& [name, format] : kFormats) {
    if (collected.format == name) options.format = format;
  }
  if (options.command != Command::kResident && parsed.count("--from") > 0) options.from = collected.from;
  for (const std::string& argument : collected.arguments) {
    if (options.command == Command::kResident) options.paths.push_back(argument);
    if (options.command == Command::kNode) options.addresses.push_back(parse_number(argument).value_or(0));
    if (options.command == Command::kProcess) options.pids.push_back(static_cast<int>(parse_number(argument).value_or(0)));
  }
  if (collected.is_human || collected.is_exact) options.human = collected.is_human;
  if (options.json && options.format == Format::kFreeBsd10) {
    return refuse("--json: the tools of FreeBSD 10 had no JSON; leave --format out, or take freebsd-12 or later");
  }
  if (options.human.value_or(false) && options.format != Format::kFreeBsd15) {
    return refuse("--human: only the format freebsd-15 has it");
  }
  return {.options = std::move(options), .exit_status = std::nullopt};
}

}  // namespace

std::string_view name_of(Command command) { return kCommands[static_cast<std::size_t>(command)].name; }

ParsedCommandLine parse_command_line(int argc, const char* const* argv) {
  if (argc > 1 && argv[1][0] != '-' && std::none_of(kCommands.begin(), kCommands.end(), [&](const auto& words) {
        return argv[1] == std::string(words.name);
      })) {
    return refuse("there is no command \"" + std::string(argv[1]) +
                  "\"; there are malloc, zones, mbufs, types, process, node and resident");
  }
  CommandLine options;
  Collected collected;
  try {
    CLI::App app("Shows kernel memory, of this machine or from a capture, as FreeBSD's vmstat and netstat do, and more.",
                 "memstatctl");
    app.set_version_flag("--version", "memstatctl " MEMSTAT_VERSION);
    app.require_subcommand(0, 1);  // none is our own mistake to tell, after those that name an argument
    app.footer(kFooter);
    app.get_formatter()->label("SUBCOMMAND", "COMMAND");
    for (const CommandWords& words : kCommands) {
      add_options(*app.add_subcommand(words.name, words.help)->group("Commands"), words.command, collected, options);
    }
    try {
      app.parse(argc, argv);
    } catch (const CLI::CallForHelp&) {
      return {.options = {}, .exit_status = print(app.help())};
    } catch (const CLI::CallForVersion& version) {
      return {.options = {}, .exit_status = print(version.what() + std::string("\n"))};
    }
    if (app.get_subcommands().empty())
      return refuse("a command is needed: malloc, zones, mbufs, types, process, node or resident");
    return finish(*app.get_subcommands().front(), collected, std::move(options));
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& mistake) {
    return refuse(mistake.what());
  }
}

}  // namespace memstat::ctl
