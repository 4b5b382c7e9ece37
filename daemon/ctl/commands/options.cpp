// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/commands/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <exception>
#include <new>
#include <utility>

#include "core/base/text.h"
#include "daemon/ctl/commands/commands.h"
#include "daemon/ctl/commands/completion.h"
#include "daemon/ctl/commands/option_values.h"
#include "daemon/ctl/output/cells.h"
#include "daemon/ctl/output/nearest_words.h"
#include "daemon/ctl/output/output.h"
#include "daemon/ctl/source/report_source.h"

namespace memstat::ctl {
namespace {

constexpr std::array<std::pair<const char*, Format>, 4> kFormats{{{"freebsd-15", Format::kFreeBsd15},
                                                                  {"freebsd-13", Format::kFreeBsd13},
                                                                  {"freebsd-12", Format::kFreeBsd12},
                                                                  {"freebsd-10", Format::kFreeBsd10}}};

constexpr const char* kFooter =
    "Exit status: 0 success, 1 failure, 2 wrong usage, 3 the answer is partial; of why also\n10 something notable, 11 "
    "something fails now or soon.\n"
    "Environment: MEMSTAT_CAPTURE names the capture to read when --from is not given.\n"
    "memstatctl COMMAND --help lists the options of a command.";

/// "" or what is wrong with the argument of --format.
std::string check_format(const std::string& text) {
  const bool is_known =
      std::any_of(kFormats.begin(), kFormats.end(), [&](const auto& entry) { return text == entry.first; });
  return is_known ? std::string() : "unknown format " + text + ": give freebsd-15, freebsd-13, freebsd-12 or freebsd-10";
}

ParsedCommandLine refuse(const std::string& what) {
  std::fprintf(stderr, "memstatctl: %s\nmemstatctl --help lists the options.\n", what.c_str());
  return {.options = {}, .exit_status = kExitUsage};
}

/// "" or what is wrong with options that are good each by itself.
std::string contradiction(const CommandLine& options) {
  if (options.json && options.format == Format::kFreeBsd10) {
    return "--json: the tools of FreeBSD 10 had no JSON; omit --format, or use freebsd-12 or later";
  }
  const CounterOptions& counters = options.counters;
  if (std::string_view(options.command->name) == "counters" && !counters.is_list && !counters.cpu && !counters.pid &&
      counters.command.empty()) {
    return "counters: give --cpu N, --pid PID, -- COMMAND, or --list";
  }
  if (std::string_view(options.command->name) == "diff" && options.states.size() != 2 && !options.window_ns) {
    return "diff: give two captures or polls, BEFORE and AFTER, or --for 10s for this kernel now and later";
  }
  if (std::string_view(options.command->name) == "diff" && options.from &&
      (!options.states.empty() || (*options.from != "live" && !is_url(*options.from)))) {
    return "--from: with diff only a URL, or live, together with --for";
  }
  if (options.command == &kStacksCommand) {
    if (options.memuse.older_ns >= options.window_ns.value_or(kStacksWindowNs)) {
      return "stacks: --older must be less than --for, or no block can become old";
    }
    if (options.json && options.memuse.is_folded) return "--folded: not together with --json";
  }
  if (options.hosts.size() > 1 && !std::all_of(options.hosts.begin(), options.hosts.end(), is_url)) {
    return "--from: several are for running memstatds only, each as http://HOST:PORT";
  }
  if (options.json && options.csv) return "--csv: not together with --json";
  if (options.human.value_or(false) && options.format != Format::kFreeBsd15) {
    return "--human: works only with the format freebsd-15";
  }
  return {};
}

/// The commands that take a URL, from their own options.
std::string commands_by_url(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* const command : app.get_subcommands([](const CLI::App*) { return true; })) {
    const CLI::Option* const from = command->get_option_no_throw("--from");
    if (from != nullptr && from->get_type_name().find("URL") != std::string::npos) names.push_back(command->get_name());
  }
  return join_words(std::vector<std::string_view>(names.begin(), names.end()), " and ");
}

/// Gives the application its texts and a subcommand a row of the table.
void declare(CLI::App& app, CommandLine& options) {
  app.set_version_flag("--version", "memstatctl " MEMSTAT_VERSION);
  app.require_subcommand(0, 1);  // a missing one is reported after options that name an argument wrongly
  app.get_formatter()->label("SUBCOMMAND", "COMMAND");
  declare_commands(app, options);
  app.footer("--from takes the URL of a running memstatd with " + commands_by_url(app) + ".\n" + kFooter);
}

/// Without what only the next line would complete.
std::string first_line(const std::string& text) {
  std::string line = text.substr(0, text.find('\n'));
  line.erase(line.find_last_not_of(",;: ") + 1);
  return line;
}

std::vector<Word> options_of(const CLI::App& app) {
  std::vector<Word> words;
  for (const CLI::Option* const option : app.get_options()) {
    if (option->get_lnames().empty()) continue;
    words.push_back({.name = "--" + option->get_lnames().front(),  // the others are former names
                     .help = first_line(option->get_description()),
                     .takes_value = option->get_expected_min() > 0});
  }
  return words;
}

}  // namespace

void declare_commands(CLI::App& app, CommandLine& options) {
  for (const Command* const command : commands()) {
    CLI::App* const subcommand =
        app.add_subcommand(command->name, command->help)->group(std::string(to_string(command->group)));
    subcommand->callback([&options, command] { options.command = command; });
    std::string examples = "Examples:";
    for (std::string_view rest = command->examples; !rest.empty();) {
      const std::string_view line = rest.substr(0, rest.find('\n'));
      examples.append("\n  ").append(line);
      rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    }
    subcommand->footer(examples);
    OptionAdder add(*subcommand, options);
    command->add_options(add);
  }
}

void OptionAdder::kernel() {
  app_.add_option("--kernel", line_.kernel, "The kernel file of a FreeBSD crash dump, where it is not beside it")
      ->type_name("FILE");
}

void OptionAdder::from() {
  kernel();
  app_.add_option_function<std::string>(
          "--from", [line = &line_](const std::string& text) { line->from = text; },
          "This machine's kernel, or a capture (a directory, .tar or .tar.zst)\nand which poll of it, from 0; the last "
          "by default")
      ->type_name("live|CAPTURE[@POLL]")
      ->check(check_from);
}

void OptionAdder::from_anywhere() {
  kernel();
  app_.add_option_function<std::string>(
          "--from", [line = &line_](const std::string& text) { line->from = meant_reference(text); },
          "This machine's kernel; a capture (a directory, .tar or .tar.zst) and\nwhich poll of it, from 0, the last by "
          "default; or a running memstatd,\nas http://HOST:PORT")
      ->type_name("live|CAPTURE[@POLL]|URL")
      ->check(check_from_anywhere);
}

void OptionAdder::from_several() {
  kernel();
  app_.add_option_function<std::vector<std::string>>(
          "--from",
          [line = &line_](const std::vector<std::string>& texts) {
            for (const std::string& text : texts) line->hosts.push_back(meant_reference(text));
            line->from = line->hosts.front();
          },
          "This machine's kernel; a capture (a directory, .tar or .tar.zst) and\nwhich poll of it, from 0, the last by "
          "default; or a running memstatd,\nas http://HOST:PORT; several of these are one screen")
      ->type_name("live|CAPTURE[@POLL]|URL")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->check(check_from_anywhere);
}

void OptionAdder::from_dump() {
  kernel();
  app_.add_option("--from", line_.dump, "The crash dump of a kernel; MEMSTAT_CAPTURE by default")
      ->type_name("DUMP")
      ->check(check_from);
}

void OptionAdder::from_daemon_or_live() {
  app_.add_option_function<std::string>(
          "--from", [line = &line_](const std::string& text) { line->from = meant_reference(text); },
          "The running memstatd to look at; http://127.0.0.1:8947 by default, if\none answers there, else live: what this "
          "process may read")
      ->type_name("live|URL")
      ->check([](const std::string& text) {
        if (text == "live") return std::string();
        return is_url(meant_reference(text))
                   ? check_from_anywhere(text)
                   : text + " is not a URL: give http://HOST:PORT, or live for what this process may read";
      });
}

void OptionAdder::patterns() {
  app_.add_option_function<std::vector<std::string>>(
          "PATTERN",
          [line = &line_](const std::vector<std::string>& texts) {
            for (const std::string& text : texts) {
              if (auto pattern = search_pattern(text)) line->view.patterns.push_back(*std::move(pattern));
            }
          },
          "Types whose name, or ALLOCATOR/TYPE, has a part that matches\nthis regular expression: 'dentry|inode'")
      ->type_name("")
      ->check(check_pattern);
}

void OptionAdder::verbose() {
  app_.add_flag("--verbose", line_.is_verbose, "Also what was ruled out, and what could not be checked and why");
}

void OptionAdder::follow() {
  app_.add_flag("--watch", line_.is_followed, "Go on, and print the findings again whenever they change, until ^C");
}

void OptionAdder::report(Patterns patterns) {
  if (patterns == Patterns::kTypes) {
    this->patterns();
    app_.add_option_function<std::string>(
            "--allocator",
            [line = &line_](const std::string& text) {
              if (auto pattern = NamePattern::compile(text)) line->view.allocator = *std::move(pattern);
            },
            "Types of this allocator; a regular expression for several")
        ->type_name("NAME")
        ->check(check_allocator);
  }
  app_.add_option("--sort", line_.view.sort, "By this column, the largest first")->type_name("COLUMN");
  app_.add_flag("--reverse", line_.view.is_reversed, "The other way round");
  limit();
  human();
  csv();
  json();
}

void OptionAdder::limit() {
  app_.add_option_function<std::string>(
          "--limit",
          [line = &line_](const std::string& text) {
            line->view.limit = parse_number(text).value_or(0);
            line->has_limit = true;
          },
          "Rows at most; 0: all")
      ->type_name("N")
      ->check(check_number);
}

void OptionAdder::json() {
  app_.add_flag("--json{pretty}", line_.json_layout, "JSON, numbers at full precision; =compact: on one line")
      ->check(check_json)
      ->each([line = &line_](const std::string&) { line->json = true; });
}

void OptionAdder::csv() {
  app_.add_flag("--csv", line_.csv, "Comma-separated values at full precision; empty where the kernel has no value");
}

void OptionAdder::shell() {
  app_.add_option("SHELL", line_.shell, "bash, zsh or fish")
      ->type_name("")
      ->required()
      ->check(CLI::IsMember(std::vector<std::string>(kShells.begin(), kShells.end())));
}

void OptionAdder::states() {
  CLI::Option* const states = app_.add_option_function<std::vector<std::string>>(
      "STATE",
      [line = &line_](const std::vector<std::string>& texts) {
        for (const std::string& text : texts) line->states.push_back(meant_reference(text));
      },
      "Before and after: live, CAPTURE, CAPTURE@POLL or a URL, each");
  states->type_name("")->check(check_from_anywhere)->expected(2);
  window("Of this kernel, or of --from: what changes within that time");
  app_.get_option("--for")->excludes(states);
}

void OptionAdder::format() {
  app_.add_option_function<std::string>(
          "--format",
          [line = &line_](const std::string& text) {
            for (const auto& [name, format] : kFormats) {
              if (text == name) line->format = format;
            }
          },
          "Layout of that release: freebsd-15 (the default), freebsd-13,\nfreebsd-12 or freebsd-10 (which had no JSON)")
      ->type_name("RELEASE")
      ->check(check_format);
}

void OptionAdder::human() {
  CLI::Option* const human = app_.add_flag_callback(
      "--human", [line = &line_] { line->human = true; }, "Bytes as 2.3M and times as 2h 10m in text");
  app_.add_flag_callback(
          "--no-human", [line = &line_] { line->human = false; }, "Whole numbers in text")
      ->excludes(human);
}

void OptionAdder::processes() {
  app_.add_option("PROCESS", line_.words, "Numbers or names; all of this machine if none is given")->type_name("");
}

void OptionAdder::addresses() {
  app_.add_option_function<std::vector<std::string>>(
          "ADDRESS",
          [line = &line_](const std::vector<std::string>& arguments) {
            for (const std::string& text : arguments) line->addresses.push_back(parse_number(text).value_or(0));
          },
          "Physical addresses, as 0x1a2b or 6699")
      ->type_name("")
      ->required()
      ->check(check_address);
}

void OptionAdder::paths() {
  app_.add_option("PATH", line_.words, "Files, and directories with all files below them")->type_name("")->required();
}

void OptionAdder::type() {
  app_.add_option("TYPE", line_.type, "ALLOCATOR/TYPE, such as slab/dentry, or a name that only one allocator has")
      ->type_name("")
      ->required();
}

void OptionAdder::maybe_type() {
  app_.add_option("TYPE", line_.type, "One slab cache only, such as dentry or slab/dentry")->type_name("");
}

void OptionAdder::word() {
  app_.add_option(
          "WORD", line_.word,
          "An allocator, a type, a metric, a column such as USED, an alert, a value\nsuch as held_bytes, or a source")
      ->type_name("")
      ->required();
}

void OptionAdder::interval(const char* help) {
  app_.add_option_function<std::string>(
          "--interval",
          [line = &line_](const std::string& text) {
            line->interval_ns = static_cast<std::int64_t>(parse_duration(text).value_or(0));
          },
          help)
      ->type_name("DURATION")
      ->check(check_interval);
}

void OptionAdder::count(const char* help) {
  app_.add_option_function<std::string>(
          "--count", [line = &line_](const std::string& text) { line->count = parse_number(text); }, help)
      ->type_name("N")
      ->check(check_positive);
}

void OptionAdder::window(const char* help) {
  app_.add_option_function<std::string>(
          "--for,--seconds",
          [line = &line_](const std::string& text) {
            line->window_ns = static_cast<std::int64_t>(parse_duration(text).value_or(0));
          },
          help)
      ->type_name("DURATION")
      ->check(check_window);
}

void OptionAdder::since(const char* help) {
  app_.add_option_function<std::string>(
          "--since",
          [line = &line_](const std::string& text) {
            line->window_ns = static_cast<std::int64_t>(parse_duration(text).value_or(0));
          },
          help)
      ->type_name("DURATION")
      ->check(check_window);
}

void OptionAdder::recording() {
  app_.add_option("OUTPUT", line_.output, "A new directory, .tar or .tar.zst")->type_name("")->required();
  app_.add_option_function<std::string>(
          "--max-size", [line = &line_](const std::string& text) { line->max_bytes = parse_size(text).value_or(0); },
          "Largest size on the disk; the oldest polls go. 1GiB by default, 0: no bound")
      ->type_name("SIZE")
      ->check(check_size);
  app_.add_option("--label", line_.label, "What each poll is called, for people")->type_name("TEXT");
}

void OptionAdder::replaying() {
  app_.add_option("CAPTURE", line_.capture, "CAPTURE, or CAPTURE@POLL to begin there")
      ->type_name("")
      ->required()
      ->check(check_from);
  CLI::Option* const speed =
      app_.add_option("--speed", line_.speed, "In the capture's own times, 2: twice as fast; without it at once")
          ->type_name("X");
  speed->check(CLI::Range(0.001, 1e6));
  app_.add_flag("--list", line_.is_list, "The polls: number, time, label, sources that can be read, reads that failed")
      ->excludes(speed);
}

void OptionAdder::counters() {
  CounterOptions& counters = line_.counters;
  constexpr int kMaxCpus = 1 << 20;
  CLI::Option* const list = app_.add_flag("--list", counters.is_list, "The events that can be counted here");
  CLI::Option* const cpu = app_.add_option("--cpu", counters.cpu, "Whatever runs on this CPU")->type_name("N");
  cpu->check(CLI::Range(0, kMaxCpus));
  CLI::Option* const pid = app_.add_option_function<std::string>(
      "--pid",
      [line = &line_](const std::string& text) { line->counters.pid = static_cast<int>(parse_number(text).value_or(0)); },
      "This process, with all its threads and those that it begins");
  pid->type_name("PID")->check(check_pid)->excludes(cpu)->excludes(list);
  app_.add_option("--events", counters.events, "Separated by commas; without it what memory costs")->type_name("E,...");
  window("How long: 1s without it, or until COMMAND ends");
  app_.add_flag("--user-only", counters.is_user_only,
                "Not in the kernel: needs no privilege where perf_event_paranoid is 2");
  app_.add_option("COMMAND", counters.command, "A program and its arguments, behind --")
      ->type_name("")
      ->excludes(cpu)
      ->excludes(pid)
      ->excludes(list);
}

void OptionAdder::stacks() {
  constexpr unsigned kMostFrames = 32;
  MemuseOptions& memuse = line_.memuse;
  app_.add_option("--type", memuse.type, "Blocks of this slab cache only, such as dentry or slab/dentry")->type_name("TYPE");
  app_.add_option(
          "--control-group", memuse.control_group,
          "Blocks that this control group's processes take only, such as /docker/4f9a,\nand those of groups below it")
      ->type_name("GROUP");
  app_.add_option("--frames", memuse.frames, "Calls of a stack that are shown: 8 by default")
      ->type_name("N")
      ->check(CLI::Range(1U, kMostFrames));
  app_.add_option("--match", memuse.match, "Calls that must be equal for two blocks to belong together: 2 by default")
      ->type_name("N")
      ->check(CLI::Range(1U, kMostFrames));
  app_.add_option_function<std::string>(
          "--older",
          [line = &line_](const std::string& text) {
            line->memuse.older_ns = static_cast<std::int64_t>(parse_duration(text).value_or(0));
          },
          "From that age on a block may be a leak: 10s by default")
      ->type_name("DURATION")
      ->check(check_interval);
  app_.add_option_function<std::string>(
          "--memory", [line = &line_](const std::string& text) { line->memuse.memory_bytes = parse_size(text).value_or(0); },
          "What watching may take of the kernel's memory: 64MiB by default,\nenough for some 400000 blocks")
      ->type_name("SIZE")
      ->check(check_watch_memory);
  app_.add_option("--groups", memuse.groups, "Groups that are shown as text, besides suspects: 20 by default, 0: all")
      ->type_name("N")
      ->check(check_number);
  app_.add_flag("--folded", memuse.is_folded, "Stacks as flame graphs are drawn from, with their bytes");
}

std::vector<CommandWords> command_words() {
  CLI::App app;
  CommandLine line;
  declare_commands(app, line);
  std::vector<CommandWords> words;
  for (const CLI::App* const command : app.get_subcommands([](const CLI::App*) { return true; })) {
    words.push_back({.command = {.name = command->get_name(), .help = first_line(command->get_description())},
                     .takes_type = command->get_option_no_throw("TYPE") != nullptr,
                     .takes_word = command->get_option_no_throw("WORD") != nullptr,
                     .options = options_of(*command)});
  }
  return words;
}

ParsedCommandLine parse_command_line(int argc, const char* const* argv) {
  if (argc > 1 && argv[1][0] != '-' && find_command(argv[1]) == nullptr) {
    std::vector<std::string> known;
    for (const Command* const command : commands()) known.emplace_back(command->name);
    return refuse("unknown command \"" + printable_bytes(argv[1]) + "\"" + did_you_mean(argv[1], known) +
                  " The commands are " + command_names(" and "));
  }
  CommandLine options;
  try {
    CLI::App app("Shows kernel memory of this machine or of a capture, as FreeBSD's vmstat and netstat do, and more.",
                 "memstatctl");
    declare(app, options);
    try {
      std::vector<const char*> arguments(argv, argv + argc);
      if (argc > 1) {
        if (const Command* const named = find_command(argv[1]); named != nullptr)
          arguments[1] = named->name;  // not its alias
      }
      app.parse(argc, arguments.data());
    } catch (const CLI::CallForHelp&) {
      return {.options = {}, .exit_status = print(app.help())};
    } catch (const CLI::CallForVersion& version) {
      return {.options = {}, .exit_status = print(version.what() + std::string("\n"))};
    }
    if (options.command == nullptr) return refuse("a command is needed: " + command_names(" or "));
    const std::string problem = contradiction(options);
    if (!problem.empty()) return refuse(problem);
    options.view.layout = options.json ? Layout::kJson : options.csv ? Layout::kCsv : Layout::kText;
    options.view.is_compact = options.json_layout == kCompact;
    options.view.is_human = options.human.value_or(true);
    return {.options = std::move(options), .exit_status = std::nullopt};
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& mistake) {
    return refuse(mistake.what());
  }
}

}  // namespace memstat::ctl
