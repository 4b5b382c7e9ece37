// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/commands/reports.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/amount_text.h"
#include "core/base/byte_size.h"
#include "core/base/clock.h"
#include "core/events/memuse/kernel_symbols.h"
#include "daemon/ctl/commands/named_type.h"
#include "daemon/ctl/commands/shared_options.h"
#include "daemon/ctl/output/progress.h"
#include "daemon/ctl/source/type_figures.h"

namespace memstat::ctl {
namespace {

using events::MemuseCounts;
using events::MemuseGroup;
using events::MemuseVerdict;

constexpr std::int64_t kUsualAgeNs = 10 * kOneSecond;
constexpr unsigned kMinFrames =
    8;  // collected even if fewer are displayed, because the verdict "cached" needs the call chain

double seconds_of(std::int64_t ns) { return static_cast<double>(ns) / 1e9; }

std::string frame_name(const MemuseFindings& findings, std::uint64_t return_address) {
  const std::string name = findings.name_of(return_address);
  if (!name.empty()) return printable(name);
  std::array<char, 24> text{};
  std::snprintf(text.data(), text.size(), "0x%llx", static_cast<unsigned long long>(return_address));
  return text.data();
}

/// The requested number of frames.
std::vector<std::string> frames_of(const MemuseFindings& findings, const MemuseGroup& group) {
  std::vector<std::string> names;
  for (const std::uint64_t frame : group.frames) {
    if (names.size() == findings.options.frames) break;
    names.push_back(frame_name(findings, frame));
  }
  return names;
}

std::vector<MemuseGroup> groups_of(const MemuseFindings& findings, std::size_t match) {
  return events::group_blocks(findings.table, match, findings.options.type, findings.name_of);
}

std::string count_text(std::uint64_t count, std::string_view what) {
  return std::to_string(count) + " " + std::string(what) + (count == 1 ? "" : "s");
}

/// Whether blocks that live only slightly longer than the age of old blocks would still look like leaks.
bool is_too_short(const events::MemuseTable& table) { return table.watched_ns < 2 * table.older_ns; }

std::string_view verdict_of(const MemuseFindings& findings, const MemuseGroup& group) {
  const bool is_suspect = group.verdict == MemuseVerdict::kSuspect;
  return is_suspect && is_too_short(findings.table) ? "too early to say" : to_string(group.verdict);
}

/// "suspect that continues: 1000 blocks, 31K, of dnotify_struct; 900 older than 10 s, the oldest 58 s; by python3 (1234)".
std::string headline(const MemuseFindings& findings, const MemuseGroup& group, bool is_human) {
  std::string line(verdict_of(findings, group));
  if (group.verdict == MemuseVerdict::kSuspect && !is_too_short(findings.table))
    line += group.is_growing ? " that continues" : " that stopped";
  line += ": " + count_text(group.blocks, "block") + ", " + figure_text(group.bytes, true, is_human);
  line += is_human ? "" : " bytes";
  line += ", of " + printable_bytes(group.type);
  if (group.types > 1) line += " and " + count_text(group.types - 1, "other type");
  line += "; " + std::to_string(group.old_blocks) + " older than " + duration_words(seconds_of(findings.table.older_ns));
  line += ", the oldest " + duration_words(seconds_of(group.oldest_ns));
  if (group.old_frees != 0) line += "; " + std::to_string(group.old_frees) + " of that age were freed";
  if (group.silent_frees != 0) line += "; " + std::to_string(group.silent_frees) + " were freed without an event";
  line += "; by " + printable_bytes(group.command) + " (" + std::to_string(group.process) + ")";
  if (group.processes > 1) line += " and " + std::to_string(group.processes - 1) + " more";
  if (!group.control_group.empty()) line += " in control group " + printable_bytes(group.control_group);
  return line + "\n";
}

std::string paragraph(const MemuseFindings& findings, const MemuseGroup& group, bool is_human) {
  std::string text = headline(findings, group, is_human);
  const std::vector<std::string> frames = frames_of(findings, group);
  for (const std::string& frame : frames) text += "    " + frame + "\n";
  if (frames.empty()) text += "    of unknown calls\n";
  if (group.stacks > 1) {
    text += "    and " + count_text(group.stacks - 1, "other stack") + " with the same first " +
            std::to_string(findings.options.match) + "\n";
  }
  return text + "\n";
}

/// The reasons why the figures are incomplete; "" if they are complete.
std::string losses_text(const MemuseCounts& counts) {
  std::string text;
  if (counts.lost_blocks != 0) {
    text +=
        "lost: " + count_text(counts.lost_blocks, "block") + " for lack of memory: increase --memory, or select a --type\n";
  }
  if (counts.lost_stacks != 0) {
    text += "lost: the stack of " + count_text(counts.lost_stacks, "block") + " for lack of memory: increase --memory\n";
  }
  if (counts.missed_events != 0) {
    text += "lost: " + count_text(counts.missed_events, "event") + " that occurred during another one on the same CPU\n";
  }
  return text;
}

/// The result in short.
std::string finding(const events::MemuseTable& table, std::uint64_t suspects) {
  if (table.watched_ns <= table.older_ns) {
    return "the time is too short to find leaks: no block is older than " + duration_words(seconds_of(table.older_ns));
  }
  if (is_too_short(table)) {
    return "the time is too short to find leaks: watch for " + duration_words(seconds_of(2 * table.older_ns)) + " or longer";
  }
  return suspects == 0 ? "nothing looks like a leak" : count_text(suspects, "suspected leak");
}

/// Resolves the user's type to the kernel's name. Reports an unknown cache before a minute of watching.
std::string resolve_type(std::string& type) {
  if (type.empty()) return {};
  const OpenedSource opened = open_source("live");
  if (opened.source == nullptr) return {};
  Sample sample = opened.source->read();
  std::erase_if(sample.types, [](const TypeRow& row) { return row.allocator_number != ALLOCATOR_SLAB; });
  if (sample.types.empty()) return {};
  const NamedType found = find_named_type(sample.types, type);
  if (found.types.empty()) return found.problem;
  type = found.types.front()->name;
  return {};
}

/// Returns "" or why it could not wait to the end.
std::string wait_for_events(events::MemuseWatch& watch, StopSignals& signals, std::int64_t window_ns) {
  constexpr std::int64_t kStepNs = 200'000'000;
  const std::int64_t start_ns = system_clock().monotonic_ns();
  const std::int64_t end_ns = start_ns + window_ns;
  Progress progress;
  for (std::int64_t now_ns = start_ns; now_ns < end_ns; now_ns = system_clock().monotonic_ns()) {
    if (!signals.wait_until(std::min(end_ns, now_ns + kStepNs))) break;
    const auto counts = watch.counts();
    if (!counts) return to_string(counts.error());
    progress.show("watching, " + duration_words(seconds_of(system_clock().monotonic_ns() - start_ns)) + " of " +
                  duration_words(seconds_of(window_ns)) + ": " + count_text(counts->blocks_in_use, "block") + " in use, " +
                  std::to_string(counts->lost_blocks + counts->lost_stacks) + " lost");
  }
  return {};
}

}  // namespace

std::string memuse_text(const MemuseFindings& findings, bool is_human) {
  const std::vector<MemuseGroup> groups = groups_of(findings, findings.options.match);
  std::uint64_t blocks = 0;
  std::uint64_t bytes = 0;
  std::uint64_t suspects = 0;
  for (const MemuseGroup& group : groups) {
    blocks += group.blocks;
    bytes += group.bytes;
    suspects += group.verdict == MemuseVerdict::kSuspect ? 1 : 0;
  }
  std::string text = "watched for " + duration_words(seconds_of(findings.table.watched_ns)) +
                     ": of what was allocated then " + count_text(blocks, "block") + " with " +
                     figure_text(bytes, true, is_human) + (is_human ? "" : " bytes") + " are in use; " +
                     finding(findings.table, suspects) + "\n\n";
  std::uint64_t others = 0;
  for (const MemuseGroup& group : groups) {
    if (group.verdict != MemuseVerdict::kSuspect && ++others > findings.options.groups && findings.options.groups != 0)
      continue;
    text += paragraph(findings, group, is_human);
  }
  if (findings.options.groups != 0 && others > findings.options.groups) {
    text += count_text(others - findings.options.groups, "smaller group") + " omitted: --groups 0 shows them\n";
  }
  text += "Earlier allocations are unknown.\n";
  return text + losses_text(findings.table.counts);
}

std::string memuse_json(const MemuseFindings& findings, bool is_compact) {
  const MemuseCounts& counts = findings.table.counts;
  JsonWriter json("1", is_compact);
  json.field("watched_seconds", seconds_of(findings.table.watched_ns));
  json.field("older_seconds", seconds_of(findings.table.older_ns)).field("match", findings.options.match);
  json.open_object("counts").field("allocations", counts.allocations).field("blocks_in_use", counts.blocks_in_use);
  json.field("other_frees", counts.other_frees).field("silent_frees", counts.silent_frees);
  json.field("lost_blocks", counts.lost_blocks).field("lost_stacks", counts.lost_stacks);
  json.field("missed_events", counts.missed_events).close();
  json.open_list("groups");
  for (const MemuseGroup& group : groups_of(findings, findings.options.match)) {
    json.open_object().field("verdict", verdict_of(findings, group)).field("growing", group.is_growing);
    json.field("type", printable_bytes(group.type));
    json.field("types", group.types).field("blocks", group.blocks).field("bytes", group.bytes);
    json.field("old_blocks", group.old_blocks).field("old_bytes", group.old_bytes);
    json.field("oldest_seconds", seconds_of(group.oldest_ns)).field("allocations", group.allocations);
    json.field("old_frees", group.old_frees).field("silent_frees", group.silent_frees);
    json.field("command", printable_bytes(group.command)).field("process", group.process);
    json.field("processes", group.processes).field("control_group", printable_bytes(group.control_group));
    json.field("stacks", group.stacks).list("frames", frames_of(findings, group)).close();
  }
  return json.finish();
}

std::string memuse_folded(const MemuseFindings& findings) {
  std::map<std::string, std::uint64_t> lines;  // stacks that differ only in offsets within functions are merged
  for (const MemuseGroup& group : groups_of(findings, findings.options.frames)) {
    std::vector<std::string> frames = frames_of(findings, group);
    if (frames.empty()) frames.emplace_back("not known");
    std::string line;
    for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) line += (line.empty() ? "" : ";") + *frame;
    lines[line] += group.bytes;
  }
  std::string text;
  for (const auto& [line, bytes] : lines) text += line + " " + std::to_string(bytes) + "\n";
  return text;
}

Report memuse_report(const CommandLine& options) {
  MemuseFindings findings{.table = {}, .options = options.memuse, .name_of = {}};
  std::string problem = resolve_type(findings.options.type);
  if (!problem.empty()) return {.problem = std::move(problem)};
  StopSignals signals;
  const std::int64_t window_ns = options.window_ns.value_or(kStacksWindowNs);
  const auto watch =
      events::open_memuse_watch({.frames = std::max({options.memuse.frames, options.memuse.match, kMinFrames}),
                                 .older_ns = options.memuse.older_ns.value_or(std::min(kUsualAgeNs, window_ns / 2)),
                                 .memory_bytes = options.memuse.memory_bytes,
                                 .type = findings.options.type,
                                 .control_group = findings.options.control_group});
  if (!watch) return {.problem = to_string(watch.error())};
  problem = wait_for_events(**watch, signals, window_ns);
  if (!problem.empty()) return {.problem = std::move(problem)};
  auto table = (*watch)->finish();
  if (!table) return {.problem = to_string(table.error())};
  findings.table = std::move(*table);
  const auto symbols = events::read_kernel_symbols();
  findings.name_of = [&](std::uint64_t address) { return symbols ? symbols->name_of_caller(address) : std::string(); };
  Report report{.output = options.view.layout == Layout::kJson ? memuse_json(findings, options.view.is_compact)
                          : options.memuse.is_folded           ? memuse_folded(findings)
                                                               : memuse_text(findings, options.view.is_human)};
  if (!symbols) report.problem = "calls are shown as addresses: " + to_string(symbols.error());
  if (symbols && symbols->empty()) {
    report.problem = "calls are shown as addresses: the kernel hides their names (sysctl kernel.kptr_restrict), or has none";
  }
  return report;
}

namespace {

std::string check_frames(const std::string& text) {
  constexpr std::uint64_t kMaxFrames = 32;
  return parse_number(text).value_or(0) - 1 < kMaxFrames ? "" : "\"" + text + "\" is not a number of calls: give 1 to 32";
}

constexpr std::array kStacksOptions{
    window_option("How long to watch: 1m by default; ^C ends it earlier"),
    valued("--type", "TYPE", "Only blocks of this slab cache, such as dentry or slab/dentry",
           store<&CommandLine::memuse, &MemuseOptions::type>),
    valued("--control-group", "GROUP",
           "Only blocks allocated by processes of this control group, such as\n/docker/4f9a, and of groups below it",
           store<&CommandLine::memuse, &MemuseOptions::control_group>),
    valued("--frames", "N", "Number of calls shown for each stack: 8 by default",
           store<&CommandLine::memuse, &MemuseOptions::frames>, check_frames),
    valued("--match", "N", "Number of equal calls for two blocks to be in one group: 2 by default",
           store<&CommandLine::memuse, &MemuseOptions::match>, check_frames),
    valued(
        "--older", "DURATION", "Age from which a block may be a leak: 10s by default, or half\nof a shorter --for",
        [](CommandLine& line, const std::string& text) { line.memuse.older_ns = duration_of(text); }, check_interval),
    valued(
        "--memory", "SIZE", "Maximum kernel memory for watching: 64MiB by default,\nenough for about 400000 blocks",
        [](CommandLine& line, const std::string& text) { line.memuse.memory_bytes = *parse_byte_size(text); },
        check_watch_memory),
    valued("--groups", "N", "Maximum number of groups in text, besides suspects: 20 by default, 0: all",
           store<&CommandLine::memuse, &MemuseOptions::groups>, check_number),
    flag("--folded", "Stacks with their bytes, as input for flame graphs",
         store<&CommandLine::memuse, &MemuseOptions::is_folded>),
    kJsonOption,
    kHumanOption,
    kNoHumanOption};

}  // namespace

const Command kStacksCommand{"stacks",
                             Group::kGrowth,
                             "Linux allocations in use, by call stack, and suspected leaks",
                             "memstatctl stacks --for 30s\n"
                             "memstatctl stacks --type dentry --for 2m --older 30s\n"
                             "memstatctl stacks --for 10s --folded | flamegraph.pl > stacks.svg",
                             kStacksOptions,
                             memuse_report,
                             "memuse"};

}  // namespace memstat::ctl
