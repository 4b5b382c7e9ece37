// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/commands/options.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <exception>
#include <memory>
#include <new>
#include <span>
#include <utility>

#include "config/command_line_help.h"
#include "core/kernel/open_view.h"
#include "daemon/ctl/output/cells.h"
#include "daemon/ctl/output/report_table.h"
#include "daemon/ctl/source/report_source.h"

namespace memstat::ctl {
namespace {

constexpr const char* kVersion = "memstatctl " MEMSTAT_VERSION;

constexpr const char* kFooter =
    "Exit status: 0 success, 1 failure, 2 wrong usage, 3 the answer is incomplete; of why also\n10 something notable, 11 "
    "something fails now or soon.\nEnvironment: MEMSTAT_CAPTURE names the capture to read when --from is not "
    "given.\nmemstatctl COMMAND --help lists the options of a command.";

ParsedCommandLine refuse(const std::string& what, const Command* command = nullptr) {
  std::fprintf(stderr, "memstatctl: %s\nmemstatctl %s%s--help lists the %s.\n", what.c_str(),
               command == nullptr ? "" : command->name, command == nullptr ? "" : " ",
               command == nullptr ? "commands" : "options");
  return {.options = {}, .exit_status = kExitUsage};
}

/// The same as contradiction(), of the options for a Prometheus.
std::string contradiction_of_server(const CommandLine& options, const std::string& from) {
  const ServerOptions& server = options.server;
  if (is_prometheus(from)) {
    if (options.command != &kDiffCommand) return {};
    return server.at && !options.window_ns ? "" : "diff: of a server give --at TIME, and --and TIME for the second state";
  }
  if (!server.host.empty() || !server.match.empty() || !server.headers.empty()) {
    return "--host, --match, --headers: only with --from prometheus:URL";
  }
  if ((server.at || options.later) && (from.empty() || from == kLiveReference || is_url(from))) {
    return "--at, --and: only with --from CAPTURE or prometheus:URL";
  }
  if (!options.is_of_fleet || (options.command == &kTopCommand && !options.hosts.empty() && is_url(from))) return {};
  return "--hosts: only with --from prometheus:URL" + std::string(options.command == &kTopCommand ? " or URLs" : "");
}

/// Returns an error for options that are valid on their own but contradict each other; otherwise "".
std::string contradiction(const CommandLine& options) {
  if (options.json && options.format == Format::kFreeBsd10) {
    return "--json: the tools of FreeBSD 10 had no JSON; omit --format, or use freebsd-12 or later";
  }
  const CounterOptions& counters = options.counters;
  if (std::string_view(options.command->name) == "counters" && !counters.is_list && !counters.cpu && !counters.pid &&
      counters.command.empty()) {
    return "counters: give --cpu N, --pid PID, -- COMMAND, or --list";
  }
  const std::string& from = options.hosts.empty() ? options.from.value_or("") : options.hosts.front();
  if (std::string problem = contradiction_of_server(options, from); !problem.empty()) return problem;
  const bool is_of_server = is_prometheus(from);
  if (options.command == &kDiffCommand && options.states.size() != 2 && !options.window_ns && !options.server.at) {
    return "diff: give two captures or polls, BEFORE and AFTER, or --for 10s for this kernel now and later";
  }
  if (options.command == &kDiffCommand && options.from &&
      (!options.states.empty() || (from != kLiveReference && !is_url(from) && !options.server.at && !is_of_server))) {
    return "--from: with diff only a URL, or live, together with --for";
  }
  if (options.command == &kStacksCommand) {
    if (options.memuse.older_ns.value_or(0) >= options.window_ns.value_or(kStacksWindowNs)) {
      return "stacks: --older must be less than --for, or no block can become old";
    }
    if (options.json && options.memuse.is_folded) return "--folded: not together with --json";
  }
  if (options.command != &kHostsCommand && options.hosts.size() > 1 &&
      !std::all_of(options.hosts.begin(), options.hosts.end(), is_url)) {
    return "--from: may be repeated only for running memstatds, each as http://HOST:PORT";
  }
  if (options.json && options.csv) return "--csv: not together with --json";
  if (options.human.value_or(false) && options.format != Format::kFreeBsd15) {
    return "--human: works only with the format freebsd-15";
  }
  return {};
}

/// The commands that accept a URL.
std::string commands_by_url() {
  std::vector<std::string_view> names;
  for (const Command* const command : commands()) {
    const auto takes_url = [](const Option& option) {
      return option.word() == "--from" && std::string_view(option.value).find("URL") != std::string_view::npos;
    };
    if (std::any_of(command->options.begin(), command->options.end(), takes_url)) names.emplace_back(command->name);
  }
  return join_words(names, " and ");
}

CLI::Option* add_option(CLI::App& app, const Option& option, CommandLine& line) {
  const auto set = [&line, set = option.set](const std::string& text) { set(line, text); };
  const std::string_view name(option.name);
  if (name.find('{') != std::string_view::npos) return app.add_flag(option.name, line.json_layout, option.help)->each(set);
  if (option.range.most == 0)
    return app
        .add_flag_callback(
            option.name, [set] { set({}); }, option.help)
        ->disable_flag_override();
  CLI::Option* added = nullptr;
  if (option.range.most == 1) {
    added = app.add_option_function<std::string>(option.name, set, option.help);
  } else {
    const auto set_all = [set](const std::vector<std::string>& texts) { std::for_each(texts.begin(), texts.end(), set); };
    added = app.add_option_function<std::vector<std::string>>(option.name, set_all, option.help);
    if (!option.is_argument()) added->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    if (option.is_argument() && option.range.most != Option::kAny) added->expected(static_cast<int>(option.range.most));
  }
  return added->type_name(option.value)->required(option.range.least != 0);
}

void add_options(CLI::App& app, std::span<const Option> options, CommandLine& line) {
  for (const Option& option : options) {
    CLI::Option* const added = add_option(app, option, line);
    if (option.check != nullptr) added->check(option.check);
  }
  for (const Option& option : options) {
    std::string_view others(option.against);
    while (!others.empty()) {
      const std::string_view other = others.substr(0, others.find(','));
      app.get_option(std::string(option.word()))->excludes(app.get_option(std::string(other)));
      others.remove_prefix(std::min(others.size(), other.size() + 1));
    }
  }
}

/// Declares the application and a subcommand for each row of the table.
void declare(CLI::App& app, CommandLine& line) {
  app.formatter(std::make_shared<HelpFormatter>());  // subcommands inherit it
  app.set_help_flag("-h,--help", "Print this help and exit");
  app.set_version_flag("--version", kVersion, "Print the version and exit");
  app.require_subcommand(0, 1);  // a missing one is reported later, after errors in options
  for (const Command* const command : commands()) {
    CLI::App* const subcommand =
        app.add_subcommand(command->name, command->help)->group(std::string(to_string(command->group)));
    subcommand->callback([&line, command] { line.command = command; });
    std::string examples = "Examples:";
    std::string_view example;
    for (std::string_view rest = command->examples; next_line(rest, example);) examples.append("\n  ").append(example);
    subcommand->footer(examples);
    add_options(*subcommand, command->options, line);
  }
  app.footer("--from takes the URL of a running memstatd with " + commands_by_url() + ".\n" + kFooter);
}

/// The first option that the command does not have; "" if each is known.
std::string unknown_option(std::span<const char* const> arguments, const Command& command) {
  std::vector<std::string> known{"--help"};
  for (const Option& option : command.options) {
    if (!option.is_argument()) known.emplace_back(option.word());
  }
  for (const std::string_view argument : arguments) {
    const std::string word(argument.substr(0, argument.find('=')));
    if (word == "--") break;
    if (!word.starts_with("--") || std::find(known.begin(), known.end(), word) != known.end()) continue;
    return std::string(command.name) + " has no option " + printable_bytes(word) + did_you_mean(word, known);
  }
  return {};
}

/// The error to report before CLI11 parses: no command, or an unknown one.
std::string unknown_command(std::string_view word) {
  if (find_command(word) != nullptr) return {};
  if (word.starts_with('-')) {
    return "the command comes first: memstatctl COMMAND " + printable_bytes(word) + ", where COMMAND is " +
           command_names(" or ");
  }
  std::vector<std::string> known;
  for (const Command* const command : commands()) known.emplace_back(command->name);
  return "unknown command \"" + printable_bytes(word) + "\"" +
         did_you_mean(word, known, "The commands are " + command_names(" and "));
}

#define MEMSTAT_ADDRESS(name) &k##name##Command,
constexpr std::array kCommands{MEMSTAT_COMMANDS(MEMSTAT_ADDRESS)};
#undef MEMSTAT_ADDRESS

}  // namespace

ParsedCommandLine parse_command_line(int argc, const char* const* argv) {
  if (argc < 2) return refuse("a command is needed: " + command_names(" or "));
  std::vector<const char*> arguments(argv, argv + argc);
  const std::string_view first(argv[1]);
  const bool asks_for_help = first == "help" || first == "-h" || first == "--help";
  if (asks_for_help) {
    // "help COMMAND" is "COMMAND --help".
    if (argc > 2) arguments = {argv[0], argv[2]};
    if (argc > 3) return refuse("help: takes one command");
    if (argc <= 2) arguments.resize(1);
    arguments.push_back("--help");
  } else if (first == "version") {
    arguments[1] = "--version";
  }
  const std::string_view word(arguments[1]);
  const bool is_about_all = word == "--help" || word == "--version";
  if (const std::string problem = is_about_all ? "" : unknown_command(word); !problem.empty()) return refuse(problem);
  const Command* const named = find_command(word);
  CommandLine options;
  try {
    CLI::App app("Shows kernel memory of this machine or of a capture, as FreeBSD's vmstat and netstat do, and more.",
                 "memstatctl");
    declare(app, options);
    try {
      if (named != nullptr) arguments[1] = named->name;  // not its alias
      app.parse(static_cast<int>(arguments.size()), arguments.data());
    } catch (const CLI::CallForHelp&) {
      return {.options = {}, .exit_status = print(fitted(app.help()))};
    } catch (const CLI::CallForVersion& version) {
      return {.options = {}, .exit_status = print(version.what() + std::string("\n"))};
    } catch (const CLI::ParseError& mistake) {
      std::string problem;
      if (named != nullptr && dynamic_cast<const CLI::ExtrasError*>(&mistake) != nullptr)
        problem = unknown_option({argv + 2, argv + argc}, *named);
      const CLI::App& where = named == nullptr ? app : *app.get_subcommand(named->name);
      return refuse(problem.empty() ? usage_error(where, mistake) : problem, named);
    }
    if (options.command == nullptr) return refuse("a command is needed: " + command_names(" or "));
    const std::string problem = contradiction(options);
    if (!problem.empty()) return refuse(problem, options.command);
    options.view.layout = options.json ? Layout::kJson : options.csv ? Layout::kCsv : Layout::kText;
    options.view.is_compact = options.json_layout == kCompact;
    options.view.is_human = options.human.value_or(true);
    return {.options = std::move(options), .exit_status = std::nullopt};
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& mistake) {
    return refuse(mistake.what(), named);
  }
}

std::string_view to_string(Group group) {
  constexpr std::array<std::string_view, 6> kTitles{"Look", "Growth", "Captures", "FreeBSD", "Machine", "Help"};
  return kTitles[static_cast<std::size_t>(group)];
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
