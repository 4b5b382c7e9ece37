// SPDX-License-Identifier: BSD-2-Clause
#include <array>

#include "core/base/byte_size.h"
#include "core/base/clock.h"
#include "core/c_api/handle.h"
#include "daemon/ctl/commands/kernel_list.h"
#include "daemon/ctl/commands/shared_options.h"
#include "daemon/ctl/output/progress.h"
#include "daemon/ctl/source/report_source.h"

namespace memstat::ctl {
namespace {

constexpr std::array<ReportColumn, 2> kRecordColumns{
    {{.key = "output", .title = "OUTPUT"}, {.key = "polls", .title = "POLLS", .unit = Unit::kNumber}}};

constexpr std::array kRecordOptions{
    argument("OUTPUT", {1, 1}, "A new directory, .tar or .tar.zst", store<&CommandLine::output>),
    valued(
        "--max-size", "SIZE", "Maximum size on disk; the oldest polls are deleted. 1GiB by default, 0: no limit",
        [](CommandLine& line, const std::string& text) { line.max_bytes = parse_byte_size(text).value_or(0); }, check_size),
    flag("--thin",
         "Into a directory, for weeks: all polls of the last hour, one a minute\nof the last day, and one an hour before "
         "that",
         store<&CommandLine::is_thinned>),
    valued("--label", "TEXT", "A label for each poll", store<&CommandLine::label>),
    flag("--who",
         "Also record memstatctl who with the first and the last poll: names of\nprocesses and users, but no command lines",
         store<&CommandLine::has_who>),
    interval_option("Time between two polls: 10s by default"),
    count_option("Number of polls; by default until ^C"),
    kJsonOption,
    kCsvOption};

/// Returns "" or why a recording cannot have this name.
std::string check_output(const std::string& path) {
  for (const std::string_view ending : {".gz", ".tgz", ".xz", ".bz2", ".zip", ".zst", ".tzst"}) {
    if (!path.ends_with(ending) || path.ends_with(".tar.zst")) continue;
    return printable_bytes(path) + ": a recording is a directory, .tar or .tar.zst";
  }
  return {};
}

/// The missing parts of the recording's first poll, for display.
std::vector<std::string> missing_of(const std::string& output) {
  const OpenedSource opened = open_source(output);
  if (opened.source == nullptr || !opened.source->select_poll(0).empty()) return {};
  return opened.source->read().missing;
}

/// Makes polls until there are enough, or until ^C. With --who the first and the last include all answers, so ^C adds
/// one more poll. Returns "" or why it ended early.
std::string record_polls(const CommandLine& options, const KernelList& list, StopSignals& signals, std::uint64_t& polls) {
  Progress progress;
  std::int64_t due_ns = system_clock().monotonic_ns();
  const auto poll = [&](bool with_answers) {
    const auto record = [&](memory_type_list& self) { return self.record_poll(options.label, with_answers); };
    if (run_query(list.get(), record) != 0) return false;
    progress.show("recorded " + std::to_string(++polls) + (options.count ? " of " + std::to_string(*options.count) : "") +
                  " polls");
    return true;
  };
  while ((!options.count || polls < *options.count) && signals.wait_until(due_ns)) {
    const bool is_last = options.count && polls + 1 == *options.count;
    if (!poll(options.has_who && (polls == 0 || is_last))) return list.failure().problem;
    due_ns = next_in_schedule(due_ns, options.interval_ns.value_or(10 * kOneSecond), system_clock().monotonic_ns());
  }
  const bool is_stopped = !options.count || polls < *options.count;
  if (options.has_who && is_stopped && polls > 0 && !poll(true)) return list.failure().problem;
  progress.finish();
  return {};
}

/// Records until all polls are made or ^C, then packs the archive.
Report run_record(const CommandLine& options) {
  if (std::string problem = check_output(options.output); !problem.empty()) return {.problem = problem};
  const KernelList list;
  StopSignals signals;
  const auto begin = [&](memory_type_list& self) {
    return self.begin_recording(options.output, options.max_bytes, options.is_thinned);
  };
  if (run_query(list.get(), begin) != 0) return list.failure();
  std::uint64_t polls = 0;
  std::string problem = record_polls(options, list, signals, polls);
  if (memstat_record_end(list.get()) != 0) problem += (problem.empty() ? "" : "; ") + list.failure().problem;
  if (polls == 0) return {.problem = problem.empty() ? "stopped before the first poll" : problem};
  const std::vector<std::string> missing = missing_of(options.output);
  if (options.view.layout == Layout::kText) {
    return {.output = "recorded " + std::to_string(polls) + (polls == 1 ? " poll" : " polls") + " to " +
                      printable_bytes(options.output) + (missing.empty() ? "\n" : ", without data that could not be read\n"),
            .problem = problem,
            .missing = missing};
  }
  ReportTable table("recordings", kRecordColumns);
  table.add({printable_bytes(options.output), polls});
  const bool is_json = options.view.layout == Layout::kJson;
  return {
      .output = is_json ? table.last_row(options.view) : table.print(options.view), .problem = problem, .missing = missing};
}

}  // namespace

const Command kRecordCommand{"record",
                             Group::kCaptures,
                             "Records this machine's kernel as a capture, poll by poll",
                             "memstatctl record bug.tar.zst --count 30\n"
                             "memstatctl record /var/tmp/night --interval 1m --max-size 300MiB --label night\n"
                             "memstatctl record --thin /var/tmp/weeks",
                             kRecordOptions,
                             run_record};

}  // namespace memstat::ctl
