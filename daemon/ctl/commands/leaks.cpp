// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/commands/reports.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>

#include "core/diagnosis/growth.h"
#include "core/diagnosis/words.h"
#include "daemon/ctl/commands/named_type.h"
#include "daemon/ctl/commands/shared_options.h"
#include "daemon/ctl/output/progress.h"
#include "daemon/ctl/source/type_figures.h"

namespace memstat::ctl {
namespace {

/// Maximum number of lines about rows that have grown but do not leak.
constexpr std::size_t kMaxAside = 5;

constexpr std::array<ReportColumn, 12> kLeaksColumns{
    {{.key = "allocator", .title = "ALLOCATOR"},
     {.key = "type", .title = "TYPE", .least = 12},
     {.key = "of", .title = "OF", .rank = 6},
     {.key = "now", .title = "NOW", .unit = Unit::kNumber, .rank = 2},
     {.key = "grew", .title = "GREW", .unit = Unit::kNumber, .rank = 3, .has_sign = true},
     {.key = "per_second", .title = "PER SECOND", .unit = Unit::kNumber, .has_sign = true},
     {.key = "", .title = "CONFIDENCE", .unit = Unit::kNumber},
     {.key = "confidence_ratio", .title = ""},
     {.key = "rose_ratio", .title = "ROSE", .unit = Unit::kRatio, .rank = 4},
     {.key = "limit_in_seconds", .title = "LIMIT IN", .unit = Unit::kSeconds, .rank = 1},
     {.key = "memory_gone_in_seconds", .title = "MEMORY GONE IN", .unit = Unit::kSeconds, .rank = 1},
     {.key = "with", .title = "WITH", .rank = 5}}};

/// Rows that have grown but do not leak, with the reasons.
std::string aside_text(const GrowthAnswer& answer, bool is_human) {
  if (answer.set_aside.empty()) return {};
  std::string text = "larger than before, but not a leak:\n";
  const std::size_t shown = std::min(kMaxAside, answer.set_aside.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const GrowthRow& row = answer.set_aside[i];
    const auto grew = static_cast<std::uint64_t>(std::max<std::int64_t>(0, row.grew));
    text += "  " + row.allocator + " " + printable(row.name) + " +" + figure_text(grew, row.is_bytes, is_human) + ": it " +
            printable(row.why) + "\n";
  }
  if (answer.set_aside.size() > shown) text += "  and " + std::to_string(answer.set_aside.size() - shown) + " more\n";
  return text;
}

/// Reads all polls of a capture or a live kernel. A memstatd that remembers them needs no reads.
GrowthAnswer answer_of(ReportSource& source, const LeakOptions& options, Report& report) {
  if (source.remembers()) {
    report.missing = source.read().missing;
    return source.growth(options.remembered_seconds);
  }
  PollWalk walk(source, options.walk);
  Progress progress;
  while (walk.next()) {
    report = report_on(walk.sample());
    progress.show("read " + std::to_string(walk.states()) + " of " + std::to_string(walk.expected()) + " polls");
  }
  progress.finish();
  if (walk.problem().empty()) return source.growth(static_cast<std::int64_t>(std::ceil(walk.seconds())));
  GrowthAnswer failed;
  failed.problem = walk.problem();
  return failed;
}

constexpr auto kLeaksOptions = joined(
    std::array{kKernelOption, kFromServerOption, kVerboseOption,
               valued("--for,--since,--seconds", "DURATION",
                      "How long to watch a live kernel, 1m by default, or how far back to look: 2h in a\n"
                      "memstatd or a server and all of a capture by default",
                      set_window, check_window),
               interval_option("Time between two reads of a live kernel: a thirtieth of that, at least 100ms"),
               flag("--hosts", "Of a server: what grows on some hosts, or on one kernel release, and not on the others",
                    store<&CommandLine::is_of_fleet>),
               kGroupByOption},
    joined(kServerOptions, kTypeReportOptions));

Report run_leaks(const CommandLine& options) {
  LeakOptions leaks{.walk = {.first = first_poll_of(options.from), .interval_ns = 0, .count = {}}, .view = options.view};
  if (options.window_ns) leaks.remembered_seconds = std::max<std::int64_t>(1, *options.window_ns / kOneSecond);
  if (options.is_of_fleet) return fleet_leaks_report(options, static_cast<double>(leaks.remembered_seconds));
  const OpenedSource opened = open_source(options.from, options.server);
  if (opened.source == nullptr) return {.problem = opened.problem};
  if (opened.source->poll_count() != 0) {
    const auto seconds = options.window_ns ? std::optional(leaks.remembered_seconds) : std::nullopt;
    leaks.walk.first = std::max(leaks.walk.first, opened.source->first_poll_since(seconds));
  } else {
    const std::int64_t window_ns = options.window_ns.value_or(60 * kOneSecond);
    leaks.walk.interval_ns = options.interval_ns.value_or(std::max(window_ns / 30, kOneSecond / 10));
    leaks.walk.count = static_cast<std::uint64_t>(window_ns / leaks.walk.interval_ns + 1);
  }
  return leaks_report(*opened.source, leaks);
}

}  // namespace

std::string polls_to_go(const GrowthAnswer& answer) {
  const std::size_t more = kMinGrowthPoints - std::min(answer.polls, kMinGrowthPoints - 1);
  const double each = answer.polls > 1 ? answer.seconds / static_cast<double>(answer.polls - 1) : 0;
  return std::to_string(kMinGrowthPoints) + " are needed, " + std::to_string(more) + " more" +
         (each > 0 ? ", which take " + duration_words(each * static_cast<double>(more)) : "");
}

ReportTable leaks_table(const GrowthAnswer& answer) {
  ReportTable table("growing", kLeaksColumns, 2);
  table.add_head("polls", std::uint64_t{answer.polls});
  table.add_head("seconds", answer.seconds);
  table.add_head("enough", answer.is_enough);
  for (const GrowthRow& row : answer.growing) {
    table.add({row.allocator, row.name, std::string(row.is_bytes ? "bytes" : "objects"),
               UnitAmount{static_cast<double>(row.now), row.is_bytes},
               UnitAmount{static_cast<double>(row.grew), row.is_bytes}, UnitAmount{row.per_second, row.is_bytes},
               percent_cell(row.confidence), row.confidence, row.rising, cell_of(row.limit_seconds),
               cell_of(row.memory_seconds),
               cell_of_text(separated(row.with, ", ", [](const GrowthRow::Other& other) { return other.name; }))});
  }
  return table;
}

Report leaks_report(ReportSource& source, const LeakOptions& options) {
  Report report;
  const GrowthAnswer answer = answer_of(source, options, report);
  report.problem = answer.problem;
  if (!report.problem.empty()) return report;
  const std::string window = std::to_string(answer.polls) + (answer.polls == 1 ? " poll in " : " polls in ") +
                             duration_words(std::round(answer.seconds));
  if (!answer.is_enough) {
    report.problem = "the window is too short to distinguish growth from chance: " + window + "; " + polls_to_go(answer);
  }
  const bool is_text = options.view.layout == Layout::kText;
  if (!answer.is_enough && options.view.layout != Layout::kJson) return report;
  ReportTable table = leaks_table(answer);
  const std::string aside = is_text ? aside_text(answer, options.view.is_human) : std::string();
  const bool is_blind = std::any_of(report.missing.begin(), report.missing.end(),
                                    [](const std::string& line) { return line.find("slab") != std::string::npos; });
  const std::string without = is_blind ? "; slab caches could not be read" : "";
  if (table.empty() && is_text) {
    report.output = std::string(report.missing.empty() ? "nothing grows steadily in "
                                                       : "nothing that could be read grows steadily in ") +
                    window + without + "\n" + aside;
    return report;
  }
  const bool has_patterns = !options.view.patterns.empty();
  Report made =
      report_of(std::move(table), has_patterns ? with_merged_names(options.view, source.read().types) : options.view);
  report.output = is_text ? "what grows steadily in " + window + without + ":\n" + made.output + aside : made.output;
  if (report.problem.empty()) report.problem = made.problem;
  return report;
}

const Command kLeaksCommand{"leaks",
                            Group::kGrowth,
                            "Types that grow steadily: how fast, how certain, and when they reach a limit",
                            "memstatctl leaks --for 1m\n"
                            "memstatctl leaks --from bug.tar.zst --json\n"
                            "memstatctl leaks --from prometheus:http://127.0.0.1:9090 --host db1:8947 --since 7d\n"
                            "memstatctl leaks --from prometheus:http://127.0.0.1:9090 --hosts --since 3d --group-by release",
                            kLeaksOptions,
                            run_leaks};

}  // namespace memstat::ctl
