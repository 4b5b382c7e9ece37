// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/commands/leaks_report.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "daemon/ctl/output/json_writer.h"
#include "daemon/ctl/output/progress.h"
#include "daemon/ctl/source/type_figures.h"

namespace memstat::ctl {
namespace {

/// Whether the memory of the type is that of others, told once more.
bool holds_others(const TypeRow& type) {
  return type.is_container || type.allocator_number == ALLOCATOR_MEMCG || type.allocator_number == ALLOCATOR_PAGE ||
         type.allocator_number == ALLOCATOR_PROCESS;
}

std::string rounded(double value) { return std::to_string(std::llround(value)); }

std::string whole_percent(double share) {
  // What is nearly certain is not said to be.
  return share >= 0.995 && share < 1 ? ">99%" : percent(share);
}

std::string pace_text(const Suspect& suspect, bool is_human) {
  const double pace = suspect.trend.per_second;
  if (!is_human) return rounded(pace);
  return "+" + amount_text(static_cast<std::uint64_t>(std::max(0LL, std::llround(pace))), suspect.is_bytes, true);
}

std::string time_left(const std::optional<double>& seconds, bool is_human) {
  if (!seconds) return "-";
  return is_human ? duration_text(*seconds) : rounded(*seconds);
}

}  // namespace

void LeakFinder::add(const Sample& sample, double seconds) {
  ++samples_;
  seconds_ = seconds;
  if (sample.memory) available_ = sample.memory->available.value_or(sample.memory->free);
  for (const TypeRow& type : sample.types) {
    if (holds_others(type)) continue;
    Series& series = series_[identity_of(type)];
    const bool is_later = series.objects.empty() || series.objects.back().seconds < seconds;
    if (!is_later) continue;
    if (has(type, kBytesInUse)) series.bytes.push_back({.seconds = seconds, .amount = static_cast<double>(type.bytes)});
    series.objects.push_back({.seconds = seconds, .amount = static_cast<double>(type.objects)});
    series.last = type;
  }
}

std::vector<Suspect> LeakFinder::suspects() const {
  std::vector<Suspect> found;
  for (const auto& [identity, series] : series_) {
    const TypeRow& type = series.last;
    const bool is_bytes = !series.bytes.empty();
    if (!is_bytes && !has(type, kObjectsInUse)) continue;
    const std::vector<TrendPoint>& points = is_bytes ? series.bytes : series.objects;
    // A type that came or went within the window has too little to say, and one that is no larger needs no work.
    if (points.size() != samples_ || points.back().amount <= points.front().amount) continue;
    const auto trend = trend_of(points);
    if (!trend || !trend->is_growth()) continue;
    Suspect suspect{.allocator = type.allocator,
                    .name = type.name,
                    .is_bytes = is_bytes,
                    .now = is_bytes ? type.bytes : type.objects,
                    .trend = *trend};
    if (const NearestLimit limit = nearest_limit(type); limit.column != nullptr && limit.used) {
      const double left = static_cast<double>(figure_of(type, *limit.column)) - static_cast<double>(limit.counted);
      const auto pace = limit.column->is_bytes ? trend : trend_of(series.objects);
      if (pace && pace->per_second > 0) suspect.limit_seconds = std::max(0.0, left) / pace->per_second;
    }
    if (is_bytes && available_) suspect.memory_seconds = static_cast<double>(*available_) / trend->per_second;
    found.push_back(std::move(suspect));
  }
  const auto key = [](const Suspect& suspect) {
    return std::tuple(!suspect.is_bytes, -suspect.trend.per_second, suspect.allocator, suspect.name);
  };
  std::sort(found.begin(), found.end(), [&](const Suspect& a, const Suspect& b) { return key(a) < key(b); });
  return found;
}

std::string duration_text(double seconds) {
  constexpr double kLongest = 100.0 * 365 * 86400;
  if (!(seconds < kLongest)) return ">100y";
  const auto whole = static_cast<std::uint64_t>(std::max(0.0, seconds));
  struct Unit {
    std::uint64_t seconds;
    const char* name;
  };
  static constexpr Unit kUnits[] = {{365 * 86400, "y"}, {86400, "d"}, {3600, "h"}, {60, "m"}, {1, "s"}};
  for (std::size_t i = 0; i + 1 < std::size(kUnits); ++i) {
    if (whole < kUnits[i].seconds) continue;
    const std::uint64_t rest = whole % kUnits[i].seconds / kUnits[i + 1].seconds;
    std::string text = std::to_string(whole / kUnits[i].seconds) + kUnits[i].name;
    if (rest != 0) text += " " + std::to_string(rest) + kUnits[i + 1].name;
    return text;
  }
  return std::to_string(whole) + "s";
}

std::vector<TableRow> leaks_rows(const std::vector<Suspect>& suspects, bool is_human) {
  std::vector<TableRow> rows(
      1, {"ALLOCATOR", "TYPE", "NOW", "GREW", "PER SECOND", "OF", "CONFIDENCE", "ROSE", "LIMIT IN", "MEMORY GONE IN"});
  for (const Suspect& suspect : suspects) {
    const auto gain = static_cast<std::uint64_t>(std::llround(suspect.trend.gain));
    rows.push_back({suspect.allocator, printable(suspect.name), amount_text(suspect.now, suspect.is_bytes, is_human),
                    (is_human ? "+" : "") + amount_text(gain, suspect.is_bytes, is_human), pace_text(suspect, is_human),
                    suspect.is_bytes ? "bytes" : "objects", whole_percent(suspect.trend.confidence),
                    percent(suspect.trend.rising), time_left(suspect.limit_seconds, is_human),
                    time_left(suspect.memory_seconds, is_human)});
  }
  return rows;
}

std::string leaks_json(const LeakFinder& finder) {
  JsonWriter json("1");
  json.field("polls", finder.samples()).field("seconds", finder.seconds()).field("enough", finder.is_enough());
  json.open_list("suspects");
  for (const Suspect& suspect : finder.is_enough() ? finder.suspects() : std::vector<Suspect>()) {
    json.open_object().field("allocator", suspect.allocator).field("type", suspect.name);
    json.field("of", suspect.is_bytes ? "bytes" : "objects").field("now", suspect.now);
    json.field("grew", std::llround(suspect.trend.gain)).field("per_second", suspect.trend.per_second);
    json.field("confidence", suspect.trend.confidence).field("rose", suspect.trend.rising);
    if (suspect.limit_seconds) json.field("limit_in_seconds", *suspect.limit_seconds);
    if (suspect.memory_seconds) json.field("memory_gone_in_seconds", *suspect.memory_seconds);
    json.close();
  }
  return json.finish();
}

Report leaks_report(ReportSource& source, const LeakOptions& options) {
  LeakFinder finder;
  PollWalk walk(source, options.walk);
  Progress progress;
  while (walk.next()) {
    finder.add(walk.sample(), walk.seconds());
    progress.show("read " + std::to_string(walk.states()) + " of " + std::to_string(walk.expected()) + " polls");
  }
  progress.finish();
  if (!walk.problem().empty()) return {.output = {}, .problem = walk.problem()};
  Report report;
  const std::string window = std::to_string(finder.samples()) + (finder.samples() == 1 ? " poll in " : " polls in ") +
                             duration_text(finder.seconds());
  if (!finder.is_enough()) {
    report.problem = "the window is too short to tell growth from chance: " + window + ", and " +
                     std::to_string(kLeastTrendPoints) + " are needed";
    if (options.is_json) report.output = leaks_json(finder);
    return report;
  }
  if (options.is_json) {
    report.output = leaks_json(finder);
    return report;
  }
  const std::vector<Suspect> suspects = finder.suspects();
  if (options.is_csv) {
    report.output = table_csv(leaks_rows(suspects, false));
    return report;
  }
  report.output = suspects.empty()
                      ? "nothing grows steadily in " + window + "\n"
                      : "what grows steadily in " + window + ":\n" + table_text(leaks_rows(suspects, options.is_human), 2);
  return report;
}

}  // namespace memstat::ctl
