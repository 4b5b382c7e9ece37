// SPDX-License-Identifier: BSD-2-Clause
// The polls of a capture in sequence, or a list of them.
#include <array>
#include <cstdint>
#include <string_view>

#include "core/base/clock.h"
#include "daemon/ctl/commands/kernel_list.h"
#include "daemon/ctl/commands/reports.h"
#include "daemon/ctl/commands/shared_options.h"
#include "daemon/ctl/output/progress.h"

namespace memstat::ctl {
namespace {

constexpr std::array<ReportColumn, 5> kPollColumns{
    {{.key = "poll", .title = "POLL", .unit = Unit::kNumber},
     {.key = "time", .title = "TIME"},
     {.key = "label", .title = "LABEL", .least = 8},
     {.key = "sources", .title = "SOURCES", .unit = Unit::kNumber},
     {.key = "failed_reads", .title = "FAILED READS", .unit = Unit::kNumber}}};

std::string check_speed(const std::string& text) {
  const std::optional<double> speed = parse_decimal(text);
  return speed && *speed >= 0.001 && *speed <= 1e6 ? "" : "\"" + text + "\" is not a speed: give 0.001 to 1000000";
}

constexpr auto kReplayOptions = joined(
    std::array{
        argument("CAPTURE", {1, 1}, "CAPTURE, or CAPTURE@POLL to begin there", store<&CommandLine::capture>, check_from),
        valued(
            "--speed", "X", "1: at the capture's own intervals, 2: twice as fast; by default without waiting",
            [](CommandLine& line, const std::string& text) { line.speed = parse_decimal(text); }, check_speed),
        flag("--list", "List the polls: number, time, label, readable sources, failed reads", store<&CommandLine::is_list>,
             nullptr, "--speed")},
    kReportOptions);

/// The number of sources that can be read at the selected poll.
std::uint64_t readable_sources(memory_type_list* list, std::string_view os) {
  std::uint64_t count = 0;
  for (std::size_t n = 0; n < memstat_source_get_count(); ++n) {
    if (os == memstat_source_get_os(n) && memstat_source_query(list, memstat_source_get_name(n), 0) == 0) ++count;
  }
  return count;
}

Report list_of_polls(const CommandLine& options) {
  const KernelList list;
  memstat_kernel kernel{};
  if (memstat_mtl_set_capture(list.get(), options.capture.c_str()) != 0) return list.failure();
  if (memstat_get_kernel(list.get(), &kernel) != 0) return list.failure();
  ReportTable table("polls", kPollColumns);
  StopSignals signals;
  Progress progress;
  const std::size_t count = memstat_capture_get_count(list.get());
  for (std::size_t number = first_poll_of(options.capture); number < count && !signals.has_arrived(); ++number) {
    memstat_poll poll;
    if (memstat_capture_get_poll(list.get(), number, &poll) != 0 || memstat_capture_select(list.get(), number) != 0) {
      return list.failure();
    }
    table.add({std::uint64_t{number}, time_text(poll.realtime_ns, true), cell_of_text(printable_bytes(poll.label)),
               readable_sources(list.get(), kernel.os), static_cast<std::uint64_t>(poll.failed_reads)});
    progress.show("read " + std::to_string(number + 1) + " of " + std::to_string(count) + " polls");
  }
  progress.finish();
  Report report = report_of(std::move(table), options.view);
  report.notes = list.notes();
  return report;
}

/// Adds a prefix to each line.
std::string with_prefix(std::string_view text, const std::string& prefix) {
  std::string out;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n') + 1);
    out.append(prefix).append(line);
    text.remove_prefix(line.size());
  }
  return out;
}

/// A poll as printed by `types`, after its number, time and label.
Report poll_report(const ReportView& view, std::size_t number, const Sample& sample, bool is_first) {
  ReportTable table = types_table(sample.types);
  const std::string time = time_text(sample.time_ns, true);
  table.add_head("poll", std::uint64_t{number});
  table.add_head("time", time);
  table.add_head("label", printable_bytes(sample.label));
  Report report = report_of(std::move(table), view);
  if (view.layout == Layout::kCsv) {
    const std::size_t header = report.output.find('\n') + 1;
    const std::string rows =
        with_prefix(std::string_view(report.output).substr(header), std::to_string(number) + "," + time + ",");
    report.output = (is_first ? "poll,time," + report.output.substr(0, header) : "") + rows;
  } else if (view.layout == Layout::kText) {
    const std::string label = sample.label.empty() ? "" : "  " + printable_bytes(sample.label);
    report.output =
        (is_first ? "" : "\n") + std::string("poll ") + std::to_string(number) + "  " + time + label + "\n" + report.output;
  }
  return report;
}

Report run_replay(const CommandLine& options) {
  const OpenedSource opened = open_source(options.capture);
  if (opened.source == nullptr) return {.problem = opened.problem};
  const std::size_t count = opened.source->poll_count();
  if (count == 0) return {.problem = printable_bytes(options.capture) + " is not a capture"};
  if (options.is_list) return list_of_polls(options);
  StopSignals signals;
  const std::int64_t start_ns = system_clock().monotonic_ns();
  std::int64_t first_ns = 0;
  Report last;
  const std::size_t first = first_poll_of(options.capture);
  for (std::size_t number = first; number < count; ++number) {
    (void)opened.source->select_poll(number);  // below poll_count()
    const Sample sample = opened.source->read();
    if (sample.is_failed()) return {.problem = sample.problem};
    if (number == first) first_ns = sample.monotonic_ns;
    const double after_ns = options.speed ? static_cast<double>(sample.monotonic_ns - first_ns) / *options.speed : 0;
    if (!signals.wait_until(start_ns + static_cast<std::int64_t>(after_ns))) break;
    last = poll_report(options.view, number, sample, number == first);
    if (!last.problem.empty()) return last;
    if (print(last.output) != kExitDone) return {.status = kExitFailed};
    last.notes = sample.notes;
    last.missing = sample.missing;
  }
  last.output.clear();
  return last;
}

}  // namespace

const Command kReplayCommand{"replay",
                             Group::kCaptures,
                             "Replays the polls of a capture, or lists them",
                             "memstatctl replay bug.tar.zst --list\n"
                             "memstatctl replay bug.tar.zst@2 --speed 10",
                             kReplayOptions,
                             run_replay};

}  // namespace memstat::ctl
