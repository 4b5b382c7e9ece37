// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/commands/reports.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "daemon/ctl/commands/named_type.h"
#include "daemon/ctl/commands/shared_options.h"
#include "daemon/ctl/output/progress.h"
#include "daemon/ctl/source/type_figures.h"

namespace memstat::ctl {
namespace {

constexpr std::array<ReportColumn, 11> kDiffColumns{
    {{.key = "allocator", .title = "ALLOCATOR"},
     {.key = "type", .title = "TYPE", .least = 12},
     {.key = "bytes_before", .title = "BEFORE", .unit = Unit::kBytes, .rank = 2},
     {.key = "bytes_after", .title = "AFTER", .unit = Unit::kBytes, .rank = 1},
     {.key = "bytes_change", .title = "BYTES", .unit = Unit::kBytes, .has_sign = true},
     {.key = "objects_before", .title = "", .unit = Unit::kNumber},
     {.key = "objects_after", .title = "", .unit = Unit::kNumber},
     {.key = "objects_change", .title = "OBJECTS", .unit = Unit::kNumber, .has_sign = true},
     {.key = "failures_before", .title = "", .unit = Unit::kNumber},
     {.key = "failures_after", .title = "", .unit = Unit::kNumber},
     {.key = "failures_change", .title = "FAILURES", .unit = Unit::kNumber, .rank = 3, .has_sign = true}}};

/// A type in both states; null: it did not exist.
struct Pair {
  const TypeRow* before = nullptr;
  const TypeRow* after = nullptr;
};

bool has_either(const Pair& pair, const Column& column) {
  return (pair.before != nullptr && has(*pair.before, column)) || (pair.after != nullptr && has(*pair.after, column));
}

std::uint64_t amount_of(const TypeRow* type, const Column& column) {
  return type != nullptr && has(*type, column) ? figure_of(*type, column) : 0;
}

/// The increase of a figure; figures are below 2^63.
std::int64_t gain(const Pair& pair, const Column& column) {
  return static_cast<std::int64_t>(amount_of(pair.after, column) - amount_of(pair.before, column));
}

struct Change {
  TypeIdentity identity;
  Pair pair;
};

std::vector<Change> changes(std::span<const TypeRow> before, std::span<const TypeRow> after) {
  std::map<TypeIdentity, Pair> pairs;
  for (const TypeRow& type : before) pairs[identity_of(type)].before = &type;
  for (const TypeRow& type : after) pairs[identity_of(type)].after = &type;
  std::vector<Change> found;
  for (const auto& [name, pair] : pairs) {
    const bool is_other = gain(pair, kBytesInUse) != 0 || gain(pair, kObjectsInUse) != 0 || gain(pair, kFailures) != 0;
    if (is_other || pair.before == nullptr || pair.after == nullptr) found.push_back({.identity = name, .pair = pair});
  }
  const auto key = [](const Change& change) {
    return std::tuple(-gain(change.pair, kBytesInUse), -gain(change.pair, kObjectsInUse), change.identity);
  };
  std::sort(found.begin(), found.end(), [&](const Change& a, const Change& b) { return key(a) < key(b); });
  return found;
}

Cell state_cell(const TypeRow* type, const Column& column) {
  return type != nullptr && has(*type, column) ? Cell(figure_of(*type, column)) : Cell();
}

Cell change_cell(const Pair& pair, const Column& column) {
  return has_either(pair, column) ? Cell(gain(pair, column)) : Cell();
}

constexpr Option kState = argument(
    "STATE", {0, 2}, "Two states, before and after: each is live, CAPTURE, CAPTURE@POLL or a URL",
    [](CommandLine& line, const std::string& text) { line.states.push_back(meant_reference(text)); }, check_from_anywhere,
    "--for");
constexpr auto kDiffOptions =
    joined(std::array{kKernelOption, kFromServerOption, kVerboseOption, kState,
                      window_option("Changes of this kernel, or of --from, within this time"),
                      valued(
                          "--and", "TIME", "With --at: the second state is that at this time; the last by default",
                          [](CommandLine& line, const std::string& text) { line.later = moment_of(text); }, check_moment)},
           joined(kServerOptions, kReportOptions));

struct State {
  Sample sample;
  std::string os;
};

State state_of(const OpenedSource& opened) {
  State state;
  state.sample.problem = opened.problem;
  if (opened.source == nullptr) return state;
  state.sample = opened.source->read();
  state.os = opened.source->machine().os;
  return state;
}

/// Seconds to wait for a memstatd's next poll.
constexpr unsigned kMaxWaitForPoll = 120;

/// Polls a memstatd until it has a new poll. A replay that has ended never has one.
std::string wait_for_poll(const std::string& url, std::int64_t last_ns, Sample& sample) {
  const OpenedSource opened = open_source(url);
  for (unsigned waited = 0; sample.time_ns == last_ns && sample.problem.empty(); ++waited) {
    if (opened.source == nullptr) return opened.problem;
    if (waited == kMaxWaitForPoll) return url + " has not polled for " + std::to_string(waited) + " s";
    if (waited > 2 && !opened.source->machine().replay.empty()) break;
    wait_ns(kOneSecond, "waiting for the next poll of memstatd");
    sample = opened.source->read();
  }
  return {};
}

Report run_diff(const CommandLine& options) {
  const std::string from = options.from.value_or("live");
  const bool is_of_past = options.server.at.has_value();
  const bool is_over_time = options.states.empty() && !is_of_past;
  const State before = state_of(open_source(options.states.empty() ? from : options.states[0], options.server));
  if (before.sample.is_failed()) return {.problem = before.sample.problem};
  if (is_over_time) wait_ns(options.window_ns.value_or(kOneSecond), "waiting for the second state");
  ServerOptions later = options.server;
  later.at = options.later;
  State after = state_of(open_source(options.states.empty() ? from : options.states[1], later));
  if (is_over_time && is_url(from)) {
    std::string why = wait_for_poll(from, before.sample.time_ns, after.sample);
    if (!why.empty()) return {.problem = std::move(why)};
  }
  if (after.sample.is_failed()) return {.problem = after.sample.problem};
  if (!before.os.empty() && !after.os.empty() && before.os != after.os) {
    return {.problem = "these are two systems, " + printable_bytes(before.os) + " and " + printable_bytes(after.os) +
                       ", which have no memory type in common; give two states of one machine"};
  }
  ReportTable table = diff_table(before.sample.types, after.sample.types);
  const bool is_empty = table.empty();
  Report report = report_of(std::move(table), with_merged_names(options.view, after.sample.types));
  report.notes = after.sample.notes;
  report.missing = after.sample.missing.empty() ? before.sample.missing : after.sample.missing;
  report.missing.insert(report.missing.end(), after.sample.unscraped.begin(), after.sample.unscraped.end());
  if (is_empty) {
    const bool is_same_poll = is_over_time && before.sample.time_ns == after.sample.time_ns;
    report.notes.emplace_back(is_same_poll ? "this memstatd has not polled in that time: give a longer --for"
                                           : "nothing changed");
  }
  return report;
}

}  // namespace

ReportTable diff_table(std::span<const TypeRow> before, std::span<const TypeRow> after) {
  ReportTable table("changes", kDiffColumns, 2);
  for (const auto& [identity, pair] : changes(before, after)) {
    const TypeRow& type = pair.after != nullptr ? *pair.after : *pair.before;
    std::vector<Cell> row{type.allocator, type.name};
    for (const Column* const column : {&kBytesInUse, &kObjectsInUse, &kFailures}) {
      row.push_back(state_cell(pair.before, *column));
      row.push_back(state_cell(pair.after, *column));
      row.push_back(change_cell(pair, *column));
    }
    table.add(std::move(row));
  }
  return table;
}

const Command kDiffCommand{"diff",
                           Group::kGrowth,
                           "Growth between two captures, two polls, or now and later",
                           "memstatctl diff --for 10s\n"
                           "memstatctl diff bug.tar.zst@0 bug.tar.zst\n"
                           "memstatctl diff --from prometheus:http://127.0.0.1:9090 --host db1:8947 --at 3d --and 1d\n"
                           "memstatctl diff before.tar.zst http://127.0.0.1:8947 --limit 10",
                           kDiffOptions,
                           run_diff};

}  // namespace memstat::ctl
