// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/commands/watch_report.h"

#include <array>
#include <cmath>
#include <cstddef>

#include "daemon/ctl/commands/named_type.h"
#include "daemon/ctl/output/cells.h"
#include "daemon/ctl/output/humanize.h"
#include "daemon/ctl/output/json_writer.h"
#include "daemon/ctl/output/output.h"

namespace memstat::ctl {
namespace {

constexpr std::array<const char*, 6> kWatchTitles{"TIME", "BYTES", "OBJECTS", "CHANGE", "PER SECOND", "FAILURES"};
constexpr std::array<std::size_t, 6> kWatchWidths{8, 12, 12, 12, 12, 10};

std::string amount_or_dash(const std::optional<std::uint64_t>& amount, bool is_human) {
  if (!amount) return "-";
  return is_human ? humanize(*amount, Base::k1024, true) : std::to_string(*amount);
}

std::string change_text(std::int64_t amount, bool is_human) {
  const auto size = amount < 0 ? 0 - static_cast<std::uint64_t>(amount) : static_cast<std::uint64_t>(amount);
  return (amount < 0 ? "-" : amount > 0 ? "+" : "") + amount_or_dash(size, is_human);
}

/// What is counted: bytes, or objects where the kernel counts no bytes.
std::optional<std::uint64_t> watched_amount(const WatchedState& state) { return state.bytes ? state.bytes : state.objects; }

std::string watch_cells(const std::array<std::string, 6>& cells, bool is_csv) {
  if (is_csv) return table_csv({TableRow(cells.begin(), cells.end())});
  std::string line = to_left(cells[0], kWatchWidths[0]);
  for (std::size_t i = 1; i < cells.size(); ++i) line += "  " + to_right(cells[i], kWatchWidths[i]);
  return line + "\n";
}

}  // namespace

std::string watch_line(const WatchOptions& options, const std::string& type, std::int64_t realtime_ns,
                       const WatchedState& state, const std::optional<WatchedState>& before) {
  std::optional<std::int64_t> change;
  std::optional<std::int64_t> per_second;
  if (before && before->bytes.has_value() == state.bytes.has_value() && watched_amount(*before) && watched_amount(state)) {
    change = static_cast<std::int64_t>(*watched_amount(state) - *watched_amount(*before));
    const double seconds = state.seconds - before->seconds;
    if (seconds > 0) per_second = std::llround(static_cast<double>(*change) / seconds);
  }
  if (options.is_json) {
    JsonWriter json("1");
    json.field("time", time_text(realtime_ns, true)).field("type", type);
    if (state.bytes) json.field("bytes", *state.bytes);
    if (state.objects) json.field("objects", *state.objects);
    if (change) json.field("change", *change);
    if (per_second) json.field("per_second", *per_second);
    if (state.failures) json.field("failures", *state.failures);
    const std::string text = json.finish();
    return options.is_compact ? compact_json(text) : text;
  }
  const bool is_human = options.is_human && !options.is_csv;
  const bool is_bytes = state.bytes.has_value();
  return watch_cells(
      {time_text(realtime_ns, options.is_csv), amount_or_dash(state.bytes, is_human), amount_or_dash(state.objects, false),
       change ? change_text(*change, is_human && is_bytes) : "-",
       per_second ? change_text(*per_second, is_human && is_bytes) : "-", amount_or_dash(state.failures, false)},
      options.is_csv);
}

std::string watch(ReportSource& source, const WatchOptions& options) {
  PollWalk walk(source, options.walk);
  std::optional<WatchedState> before;
  std::string name;
  while (walk.next()) {
    const NamedType named = find_named_type(walk.sample().types, options.type);
    if (named.types.empty() && name.empty()) return named.problem;
    if (name.empty()) {
      name = full_name(*named.types.front());
      const std::array<std::string, 6> titles{kWatchTitles[0], kWatchTitles[1], kWatchTitles[2],
                                              kWatchTitles[3], kWatchTitles[4], kWatchTitles[5]};
      if (!options.is_json && print(watch_cells(titles, options.is_csv)) != kExitDone) return {};
    }
    // A type that has vanished has nothing to show; it may come back.
    const WatchedState state{.seconds = walk.seconds(),
                             .bytes = sum_of(named.types, kBytesInUse),
                             .objects = sum_of(named.types, kObjectsInUse),
                             .failures = sum_of(named.types, kFailures)};
    if (print(watch_line(options, name, walk.sample().time_ns, state, before)) != kExitDone)
      return "nothing reads the report";
    before = state;
  }
  return walk.problem();
}

}  // namespace memstat::ctl
