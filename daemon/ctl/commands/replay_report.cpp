// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/commands/replay_report.h"

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/base/clock.h"
#include "daemon/ctl/commands/poll_walk.h"
#include "daemon/ctl/commands/stop_signals.h"
#include "daemon/ctl/commands/types_report.h"
#include "daemon/ctl/output/cells.h"
#include "daemon/ctl/output/failure.h"
#include "daemon/ctl/output/json_writer.h"
#include "daemon/ctl/output/progress.h"
#include "daemon/ctl/source/report_source.h"
#include "daemon/ctl/source/type_figures.h"

namespace memstat::ctl {
namespace {

/// How many sources of the capture's kernel can be read at the selected poll.
std::size_t readable_sources(memory_type_list* list, std::string_view os) {
  std::size_t count = 0;
  for (std::size_t n = 0; n < memstat_source_get_count(); ++n) {
    if (os == memstat_source_get_os(n) && memstat_source_query(list, memstat_source_get_name(n), 0) == 0) ++count;
  }
  return count;
}

std::string json_of_poll(std::size_t number, const Sample& sample) {
  JsonWriter json("1");
  json.field("poll", number).field("time", time_text(sample.time_ns, true)).field("label", printable_bytes(sample.label));
  json.open_list("types");
  for (const TypeRow& type : sample.types) {
    json.open_object().field("allocator", type.allocator).field("type", type.name);
    for (const Column& column :
         {kBytesInUse, kObjectsInUse, kBytesHeld, kFreeObjects, kFailures, kObjectLimit, kByteLimit}) {
      if (has(type, column)) json.field(column.key, figure_of(type, column));
    }
    json.close();
  }
  return json.finish();
}

/// The lines with this before each.
std::string with_prefix(std::string_view text, const std::string& prefix) {
  std::string out;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n') + 1);
    out.append(prefix).append(line);
    text.remove_prefix(line.size());
  }
  return out;
}

std::string text_of_poll(const ReplayOptions& options, std::size_t number, const Sample& sample, bool is_first) {
  if (options.is_json) {
    const std::string text = json_of_poll(number, sample);
    return options.is_compact ? compact_json(text) : text;
  }
  if (options.is_csv) {
    const std::string table = types_csv(sample.types);
    const std::size_t header = table.find('\n') + 1;
    const std::string prefix = std::to_string(number) + "," + time_text(sample.time_ns, true) + ",";
    return (is_first ? "POLL,TIME," + table.substr(0, header) : "") + with_prefix(table.substr(header), prefix);
  }
  const std::string label = sample.label.empty() ? "" : "  " + printable_bytes(sample.label);
  return (is_first ? "" : "\n") + std::string("poll ") + std::to_string(number) + "  " + time_text(sample.time_ns, true) +
         label + "\n" + types_text(sample.types, options.is_human);
}

Report list_of_polls(memory_type_list* list, const ReplayOptions& options, std::size_t first) {
  memstat_kernel kernel{};
  if (memstat_get_kernel(list, &kernel) != 0) return {.output = {}, .problem = failure_of(list, {})};
  std::vector<TableRow> rows(1, {"POLL", "TIME", "LABEL", "SOURCES", "ERRORS"});
  JsonWriter json("1");
  json.open_list("polls");
  StopSignals signals;
  Progress progress;
  const std::size_t count = memstat_capture_get_count(list);
  for (std::size_t number = first; number < count && !signals.has_come(); ++number) {
    memstat_poll poll;
    if (memstat_capture_get_poll(list, number, &poll) != 0 || memstat_capture_select(list, number) != 0) {
      return {.output = {}, .problem = failure_of(list, {})};
    }
    const std::size_t sources = readable_sources(list, kernel.os);
    const std::string label = printable_bytes(poll.label);
    rows.push_back({std::to_string(number), time_text(poll.realtime_ns, true), label.empty() ? "-" : label,
                    std::to_string(sources), std::to_string(poll.failed_reads)});
    json.open_object().field("poll", number).field("time", time_text(poll.realtime_ns, true)).field("label", label);
    json.field("sources", sources).field("errors", poll.failed_reads).close();
    progress.show("read " + std::to_string(number + 1) + " of " + std::to_string(count) + " polls");
  }
  progress.finish();
  return {.output = options.is_json ? json.finish() : options.is_csv ? table_csv(rows) : table_text(rows, 3), .problem = {}};
}

}  // namespace

Report replay(memory_type_list* list, const ReplayOptions& options) {
  if (memstat_mtl_set_capture(list, options.capture.c_str()) != 0) return {.output = {}, .problem = failure_of(list, {})};
  const std::size_t count = memstat_capture_get_count(list);
  if (count == 0) return {.output = {}, .problem = printable_bytes(options.capture) + " is no capture"};
  const std::size_t first = first_poll_of(options.capture);
  if (options.is_list) return list_of_polls(list, options, first);
  StopSignals signals;
  const OpenedSource opened = open_source(options.capture);
  if (opened.source == nullptr) return {.output = {}, .problem = opened.problem};
  const std::int64_t start_ns = system_clock().monotonic_ns();
  std::int64_t first_ns = 0;
  for (std::size_t number = first; number < count; ++number) {
    (void)opened.source->select_poll(number);  // below poll_count()
    const Sample sample = opened.source->read();
    if (sample.is_failed()) return {.output = {}, .problem = sample.problem};
    if (number == first) first_ns = sample.monotonic_ns;
    const double after_ns = options.speed ? static_cast<double>(sample.monotonic_ns - first_ns) / *options.speed : 0;
    if (!signals.wait_until(start_ns + static_cast<std::int64_t>(after_ns))) break;
    if (print(text_of_poll(options, number, sample, number == first)) != kExitDone) {
      return {.output = {}, .problem = "nothing reads the report"};
    }
  }
  return {};
}

}  // namespace memstat::ctl
