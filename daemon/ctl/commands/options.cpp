// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/commands/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdio>
#include <exception>
#include <new>
#include <span>
#include <utility>

#include "daemon/ctl/commands/commands.h"
#include "daemon/ctl/commands/completion.h"
#include "daemon/ctl/output/output.h"
#include "daemon/ctl/source/http_answer.h"
#include "daemon/ctl/source/report_source.h"

namespace memstat::ctl {
namespace {

constexpr std::array<std::pair<const char*, Format>, 4> kFormats{{{"freebsd-15", Format::kFreeBsd15},
                                                                  {"freebsd-13", Format::kFreeBsd13},
                                                                  {"freebsd-12", Format::kFreeBsd12},
                                                                  {"freebsd-10", Format::kFreeBsd10}}};

constexpr const char* kFooter =
    "Exit status: 0 success, 1 failure, 2 wrong usage.\n"
    "Environment: MEMSTAT_CAPTURE names the capture to read when --from is not given.\n"
    "memstatctl COMMAND --help lists the options of a command.";

/// "" or what is wrong with the argument of --from, where no memstatd can be the source.
std::string check_from(const std::string& text) {
  if (text.empty()) return "must not be empty";
  if (is_url(text)) {
    return text + " is a URL; this command reads only a kernel or a capture: give live, CAPTURE or CAPTURE@POLL";
  }
  return {};
}

/// The same where it can.
std::string check_from_anywhere(const std::string& text) {
  if (text.empty()) return "must not be empty";
  if (!is_url(text)) return {};
  const std::string problem = parse_url(text).problem;
  return problem.empty() ? problem : "URL: " + problem;
}

/// "" or what is wrong with the argument of --format.
std::string check_format(const std::string& text) {
  const bool is_known =
      std::any_of(kFormats.begin(), kFormats.end(), [&](const auto& entry) { return text == entry.first; });
  return is_known ? std::string() : "unknown format " + text + ": give freebsd-15, freebsd-13, freebsd-12 or freebsd-10";
}

/// "" or what is wrong with the argument of --json.
std::string check_json(const std::string& text) {
  if (text == "pretty" || text == kCompact) return {};
  return "unknown layout of JSON \"" + text + "\": give --json, --json=pretty or --json=compact";
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
  return "\"" + text +
         "\" is not an address: give bytes from the start of physical memory, at most 2^64 - 1, as 0x1a2b or 6699";
}

/// "" or what is wrong with the number of a process.
std::string check_pid(const std::string& text) {
  constexpr std::uint64_t kMax = 0x7FFFFFFF;
  const auto number = parse_number(text);
  const bool is_decimal = text.find_first_not_of("0123456789") == std::string::npos;
  if (number && is_decimal && *number != 0 && *number <= kMax) return {};
  return "\"" + text + "\" is not the number of a process";
}

/// A number and one of these units; nothing for what is wrong, or too large for 63 bits.
std::optional<std::uint64_t> parse_with_unit(const std::string& text,
                                             std::span<const std::pair<std::string_view, std::uint64_t>> units) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto number = parse_number(std::string_view(text).substr(0, digits));
  for (const auto& [unit, factor] : units) {
    if (number && text.substr(digits) == unit && *number <= (~std::uint64_t{0} >> 1U) / factor) return *number * factor;
  }
  return std::nullopt;
}

/// "500ms", "10s", "2m", "1h", or seconds without a unit, in nanoseconds.
std::optional<std::uint64_t> parse_duration(const std::string& text) {
  constexpr std::uint64_t kSecond = 1'000'000'000;
  static constexpr std::array<std::pair<std::string_view, std::uint64_t>, 5> kUnits{
      {{"ms", kSecond / 1000}, {"s", kSecond}, {"", kSecond}, {"m", 60 * kSecond}, {"h", 3600 * kSecond}}};
  return parse_with_unit(text, kUnits);
}

/// "" or what is wrong with an interval.
std::string check_interval(const std::string& text) {
  constexpr std::uint64_t kLeast = 100'000'000;
  constexpr std::uint64_t kMost = 86'400'000'000'000;
  const auto duration = parse_duration(text);
  if (duration && *duration >= kLeast && *duration <= kMost) return {};
  return "\"" + text + "\" is not an interval: give 100ms to 24h, as 500ms, 10s, 2m or 1h";
}

/// "300MiB" or bytes.
std::optional<std::uint64_t> parse_size(const std::string& text) {
  static constexpr std::array<std::pair<std::string_view, std::uint64_t>, 4> kUnits{
      {{"", 1}, {"KiB", 1ULL << 10U}, {"MiB", 1ULL << 20U}, {"GiB", 1ULL << 30U}}};
  return parse_with_unit(text, kUnits);
}

/// "" or what is wrong with a size.
std::string check_size(const std::string& text) {
  if (parse_size(text)) return {};
  return "\"" + text + "\" is not a size: give bytes, or a number with KiB, MiB or GiB";
}

/// "" or what is wrong with the memory that memuse may take.
std::string check_watch_memory(const std::string& text) {
  const auto size = parse_size(text);
  if (size && *size >= 1ULL << 20U && *size <= 4ULL << 30U) return {};
  return "\"" + text + "\" is not a size for it: give 1MiB to 4GiB";
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
  if (std::string_view(options.command->name) == "diff" && options.states.size() != 2 && !options.seconds) {
    return "diff: give two captures or polls, BEFORE and AFTER, or --seconds N for this kernel now and later";
  }
  if (std::string_view(options.command->name) == "diff" && options.from &&
      (!options.states.empty() || (*options.from != "live" && !is_url(*options.from)))) {
    return "--from: with diff only a URL, or live, together with --seconds";
  }
  if (std::string_view(options.command->name) == "memuse") {
    if (options.memuse.older_ns >= std::int64_t{options.seconds.value_or(kMemuseSeconds)} * 1'000'000'000) {
      return "memuse: --older must be less than --seconds, or no block can become old";
    }
    if (options.json && options.memuse.is_folded) return "--folded: not together with --json";
  }
  if (options.json && options.csv) return "--csv: not together with --json";
  if (options.human.value_or(false) && options.format != Format::kFreeBsd15) {
    return "--human: works only with the format freebsd-15";
  }
  return {};
}

/// Gives the application its texts and a subcommand a row of the table.
void declare(CLI::App& app, CommandLine& options) {
  app.set_version_flag("--version", "memstatctl " MEMSTAT_VERSION);
  app.require_subcommand(0, 1);  // a missing one is reported after options that name an argument wrongly
  app.footer(kFooter);
  app.get_formatter()->label("SUBCOMMAND", "COMMAND");
  declare_commands(app, options);
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
    for (const std::string& name : option->get_lnames()) {
      words.push_back({.name = "--" + name,
                       .help = first_line(option->get_description()),
                       .takes_value = option->get_expected_min() > 0});
    }
  }
  return words;
}

}  // namespace

void declare_commands(CLI::App& app, CommandLine& options) {
  for (const Command& command : commands()) {
    CLI::App* const subcommand = app.add_subcommand(command.name, command.help)->group("Commands");
    subcommand->callback([&options, &command] { options.command = &command; });
    OptionAdder add(*subcommand, options);
    command.add_options(add);
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
          "--from", [line = &line_](const std::string& text) { line->from = text; },
          "This machine's kernel; a capture (a directory, .tar or .tar.zst) and\nwhich poll of it, from 0, the last by "
          "default; or a running memstatd,\nas http://HOST:PORT")
      ->type_name("live|CAPTURE[@POLL]|URL")
      ->check(check_from_anywhere);
}

void OptionAdder::from_dump() {
  kernel();
  app_.add_option("--from", line_.dump, "The crash dump of a kernel; MEMSTAT_CAPTURE by default")
      ->type_name("DUMP")
      ->check(check_from);
}

void OptionAdder::from_daemon() {
  app_.add_option_function<std::string>(
          "--from", [line = &line_](const std::string& text) { line->from = text; },
          "The running memstatd to look at; http://127.0.0.1:8947 by default, if one answers there")
      ->type_name("URL")
      ->check([](const std::string& text) {
        return is_url(text) ? check_from_anywhere(text) : text + " is not a URL: give http://HOST:PORT";
      });
}

void OptionAdder::limit(const char* help) {
  constexpr std::uint64_t kMost = 1'000'000;
  app_.add_option("--limit", line_.limit, help)->type_name("N")->check(CLI::Range(std::uint64_t{1}, kMost));
}

void OptionAdder::json(const char* help) {
  app_.add_flag("--json{pretty}", line_.json_layout, std::string(help) + ";\n=compact: on one line")
      ->check(check_json)
      ->each([line = &line_](const std::string&) { line->json = true; });
}

void OptionAdder::csv() {
  app_.add_flag("--csv", line_.csv, "Comma-separated values, whole numbers; empty where the kernel has no value");
}

void OptionAdder::shell() {
  app_.add_option("SHELL", line_.shell, "bash, zsh or fish")
      ->type_name("")
      ->required()
      ->check(CLI::IsMember(std::vector<std::string>(kShells.begin(), kShells.end())));
}

void OptionAdder::states() {
  constexpr unsigned kMaxSeconds = 1'000'000;
  CLI::Option* const states =
      app_.add_option("STATE", line_.states, "Before and after: live, CAPTURE, CAPTURE@POLL or a URL, each");
  states->type_name("")->check(check_from_anywhere)->expected(2);
  app_.add_option("--seconds", line_.seconds, "Of this kernel, or of --from: what changes within that time")
      ->type_name("N")
      ->check(CLI::Range(1U, kMaxSeconds))
      ->excludes(states);
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

void OptionAdder::human(const char* help) {
  CLI::Option* const human = app_.add_flag_callback(
      "--human", [line = &line_] { line->human = true; }, help);
  app_.add_flag_callback(
          "--no-human", [line = &line_] { line->human = false; }, "Whole numbers")
      ->excludes(human);
}

void OptionAdder::pids() {
  app_.add_option_function<std::vector<std::string>>(
          "PID",
          [line = &line_](const std::vector<std::string>& arguments) {
            for (const std::string& text : arguments) {
              line->pids.push_back(static_cast<int>(parse_number(text).value_or(0)));
            }
          },
          "Their numbers; memstatctl itself if none is given")
      ->type_name("")
      ->check(check_pid);
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
  app_.add_option("PATH", line_.paths, "Files, and directories with all files below them")->type_name("")->required();
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
  app_.add_option("WORD", line_.word, "A metric, a type, an alert, a value such as held_bytes, or a source")
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
  app_.add_option("--count", line_.count, help)
      ->type_name("N")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 62U));
}

void OptionAdder::seconds(const char* help) {
  constexpr unsigned kMaxSeconds = 1'000'000;
  app_.add_option("--seconds", line_.seconds, help)->type_name("N")->check(CLI::Range(1U, kMaxSeconds));
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
  constexpr unsigned kMaxSeconds = 1'000'000;
  CLI::Option* const list = app_.add_flag("--list", counters.is_list, "The events that can be counted here");
  CLI::Option* const cpu = app_.add_option("--cpu", counters.cpu, "Whatever runs on this CPU")->type_name("N");
  cpu->check(CLI::Range(0, kMaxCpus));
  CLI::Option* const pid = app_.add_option_function<std::string>(
      "--pid",
      [line = &line_](const std::string& text) { line->counters.pid = static_cast<int>(parse_number(text).value_or(0)); },
      "This process, with all its threads and those that it begins");
  pid->type_name("PID")->check(check_pid)->excludes(cpu)->excludes(list);
  app_.add_option("--events", counters.events, "Separated by commas; without it what memory costs")->type_name("E,...");
  app_.add_option("--seconds", counters.seconds, "How long: 1 without it, or until COMMAND ends")
      ->type_name("N")
      ->check(CLI::Range(1U, kMaxSeconds));
  app_.add_flag("--user-only", counters.is_user_only,
                "Not in the kernel: needs no privilege where perf_event_paranoid is 2");
  app_.add_option("COMMAND", counters.command, "A program and its arguments, behind --")
      ->type_name("")
      ->excludes(cpu)
      ->excludes(pid)
      ->excludes(list);
}

void OptionAdder::memuse() {
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
      ->check(CLI::Range(std::uint64_t{0}, std::uint64_t{1} << 62U));
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
                     .options = options_of(*command)});
  }
  return words;
}

ParsedCommandLine parse_command_line(int argc, const char* const* argv) {
  if (argc > 1 && argv[1][0] != '-' && find_command(argv[1]) == nullptr) {
    return refuse("unknown command \"" + std::string(argv[1]) + "\"; the commands are " + command_names(" and "));
  }
  CommandLine options;
  try {
    CLI::App app("Shows kernel memory of this machine or of a capture, as FreeBSD's vmstat and netstat do, and more.",
                 "memstatctl");
    declare(app, options);
    try {
      app.parse(argc, argv);
    } catch (const CLI::CallForHelp&) {
      return {.options = {}, .exit_status = print(app.help())};
    } catch (const CLI::CallForVersion& version) {
      return {.options = {}, .exit_status = print(version.what() + std::string("\n"))};
    }
    if (options.command == nullptr) return refuse("a command is needed: " + command_names(" or "));
    const std::string problem = contradiction(options);
    if (!problem.empty()) return refuse(problem);
    return {.options = std::move(options), .exit_status = std::nullopt};
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& mistake) {
    return refuse(mistake.what());
  }
}

}  // namespace memstat::ctl
