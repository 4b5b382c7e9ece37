// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/options.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <new>

#include "config/command_line_help.h"
#include "core/base/text.h"
#include "daemon/selftest/installation.h"

namespace memstat {
namespace {

constexpr const char* kExamples =
    "Examples:\n"
    "  memstatd\n"
    "  memstatd --config /etc/memstatd.yaml --listen 127.0.0.1:9000\n"
    "  memstatd --once\n"
    "  memstatd --replay bug.tar.zst --replay-loop";

/// Makes a check, which returns "" or an error, from one of our parsers.
template <typename Parse>
auto check(Parse parse) {
  return [parse](const std::string& text) {
    const auto result = parse(text);
    return result ? std::string() : result.error().detail;
  };
}

/// Adds an option whose text becomes the value of `place`.
template <typename Parse, typename Place>
CLI::Option* add_parsed(CLI::App& app, const std::string& name, Place& place, Parse parse, const std::string& type,
                        const std::string& help) {
  const auto set = [&place, parse](const std::string& text) { place = *parse(text); };
  return app.add_option_function<std::string>(name, set, help)->type_name(type)->check(check(parse));
}

// An unset variable in a script must not silently select the default: `--replay ""` would serve the live kernel.
std::string not_empty(const std::string& text) { return text.empty() ? "must not be empty" : ""; }

std::string check_speed(const std::string& text) {
  char* end = nullptr;
  const double speed = std::strtod(text.c_str(), &end);
  return end != nullptr && *end == '\0' && std::isfinite(speed) && speed > 0 ? "" : "must be a number above 0";
}

std::string check_polls(const std::string& text) {
  const auto count = parse_u64(text);
  return count && *count != 0 ? "" : quoted(text) + " is not a number of polls; write 1 or more";
}

void add_options(CLI::App& app, CommandLine& options, std::vector<std::string>& listen) {
  app.add_option("--config", options.config_file, "Configuration file; without it every key keeps its default")
      ->type_name("FILE")
      ->check(not_empty);
  app.add_flag("--check-config", options.check_config, "Check the configuration and exit: 0 good, 2 bad");
  app.add_option("--listen", listen, "Address to listen on, repeatable; port 0 picks a free port and the log names it")
      ->type_name("ADDR:PORT|unix:PATH")
      ->check(check(parse_listen_address));
  add_parsed(app, "--interval", options.interval, parse_poll_interval, "DURATION", "Time between two polls, such as 10s");
  CLI::Option* once = app.add_flag("--once", options.once,
                                   "Print the page with every metric after one poll (or the last one of a replay) and exit");
  const auto set_format = [&options](const std::string& text) { options.format = *parse_exposition_format(text); };
  app.add_option_function<std::string>("--format", set_format, "What --once prints: " + format_names())
      ->type_name("FORMAT")
      ->needs(once)
      ->check([](const std::string& text) {
        return parse_exposition_format(text) ? std::string() : "must be " + format_names();
      });
  add_parsed(app, "--tier", options.tier, parse_tier, "TIER",
             "Metrics of each type: minimal, default or full (--once prints full by default)");
  CLI::Option* replay = app.add_option("--replay", options.replay, "Show a recorded kernel: a directory, .tar or .tar.zst")
                            ->type_name("CAPTURE")
                            ->check(not_empty);
  app.add_flag("--demo", options.is_demo, "Show a machine in trouble: a recorded FreeBSD whose zones are full")
      ->excludes(replay);
  app.add_option("--replay-speed", options.replay_speed, "Speed of the replay: 2 is twice as fast as it was recorded")
      ->type_name("X")
      ->needs(replay)
      ->check(check_speed);
  add_parsed(app, "--replay-max", options.replay_max, parse_size, "SIZE",
             "Largest size of a replayed archive when unpacked; default 512MiB")
      ->needs(replay);
  app.add_flag("--replay-loop", options.replay_loop, "Start again after the last poll, with all counts at 0")->needs(replay);
  app.add_option("--polls", options.polls,
                 "Stop after N polls. A replay then keeps the last one; on the live kernel memstatd exits")
      ->type_name("N")
      ->check(check_polls);
  app.add_option("--record", options.record, "Record what the kernel reports: a new directory, .tar or .tar.zst")
      ->type_name("CAPTURE")
      ->check(not_empty)
      ->check(check(parse_record_path));
  app.add_option("--textfile", options.textfile, "Write the text page to this file after each poll, for node_exporter")
      ->type_name("PATH")
      ->check(not_empty);
  app.add_flag("--list-metrics", options.list_metrics, "Print the metrics, tab-separated, and exit");
  app.add_flag("--list-sources", options.list_sources, "Print the sources, tab-separated, and exit");
  app.add_flag("--selftest", options.selftest, "Try every source, print what works and what is missing, and exit");
  app.add_flag("--no-sandbox", options.no_sandbox, "Do not restrict files and system calls after start");
  add_parsed(app, "--log-level", options.log_level, parse_log_level, "LEVEL", "trace, debug, info, warning or error");
  for (CLI::Option* const option :
       app.get_options([](const CLI::Option* one) { return one->get_items_expected_max() == 0; })) {
    option->disable_flag_override();
  }
}

/// Returns the exit status: 1, after a message on standard error, if the text cannot be written.
int print_text(const std::string& text) {
  if (std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0) return 0;
  std::fprintf(stderr, "memstatd: cannot write to standard output: %s\n", std::strerror(errno));
  return 1;
}

int refuse(const std::string& what) {
  std::fprintf(stderr, "memstatd: %s\nmemstatd --help lists the options.\n", what.c_str());
  return 2;
}

/// Returns false, after a message on standard error, if an address is given twice.
bool take_addresses(const std::vector<std::string>& texts, CommandLine& options) {
  for (const std::string& text : texts) {
    const Endpoint address = *parse_listen_address(text);
    const bool is_known = std::find(options.listen.begin(), options.listen.end(), address) != options.listen.end();
    if (is_known && (address.port != 0 || address.is_unix())) {
      std::fprintf(stderr, "memstatd: --listen: %s is given twice; give it once\n", shortened(text).c_str());
      return false;
    }
    options.listen.push_back(address);
  }
  return true;
}

/// The moment of the trouble is the last poll, so the ones before it take no time.
void select_demo(CommandLine& options) {
  constexpr double kAtOnce = 1e9;
  options.replay = demo_capture();
  options.replay_speed = kAtOnce;
  if (!options.log_level) options.log_level = LogLevel::kWarning;  // the address is printed, not logged
}

}  // namespace

ParsedCommandLine parse_command_line(int argc, const char* const* argv, const std::string& version) {
  ParsedCommandLine parsed;
  std::vector<std::string> listen;
  CLI::App app(
      "Shows where the kernel's memory went, which allocations failed, and what is about to hit its limit.\n"
      "By default it serves http://127.0.0.1:8947/metrics for Prometheus.",
      "memstatd");
  app.formatter(std::make_shared<HelpFormatter>());
  app.set_help_flag("-h,--help", "Print this help and exit");
  app.set_version_flag("--version", "memstatd " + version, "Print the version and exit");
  app.footer(kExamples);
  add_options(app, parsed.options, listen);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    parsed.exit_status = print_text(app.help());
    return parsed;
  } catch (const CLI::CallForVersion& called) {
    parsed.exit_status = print_text(called.what() + std::string("\n"));
    return parsed;
  } catch (const CLI::ParseError& mistake) {
    parsed.exit_status = refuse(usage_error(app, mistake));
    return parsed;
  } catch (const std::bad_alloc&) {  // not an error in the command line
    throw;
  } catch (const std::exception& exception) {
    parsed.exit_status = refuse(exception.what());
    return parsed;
  }
  if (!take_addresses(listen, parsed.options)) parsed.exit_status = 2;
  if (parsed.options.is_demo) select_demo(parsed.options);
  return parsed;
}

void apply(const CommandLine& options, Config& config) {
  if (!options.listen.empty()) config.listen = options.listen;
  if (options.interval) config.poll.interval = *options.interval;
  if (options.tier) config.tier = *options.tier;
  if (options.log_level) config.log.level = *options.log_level;
  if (!options.record.empty()) config.capture.record = options.record;
  if (!options.textfile.empty()) config.textfile = options.textfile;
  if (options.no_sandbox) config.sandbox = false;
}

}  // namespace memstat
