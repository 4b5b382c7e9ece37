// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/snapshot/kernel_events.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "core/base/text.h"
#include "core/model/kernel_log.h"

namespace memstat {
namespace {

EventRow row_of(const LoggedEvent& event, std::int64_t boot_time_ns) {
  EventRow row{.time = {}, .since_boot = {}, .event = std::string(to_string(event.event)), .lines = {}};
  const double since_boot = static_cast<double>(event.time_us) / 1e6;
  if (event.has_time) row.since_boot = since_boot;
  if (event.has_time && boot_time_ns > 0) {
    const std::int64_t boot_time_ms = boot_time_ns / 1'000'000;
    row.time = static_cast<double>(boot_time_ms) / 1e3 + since_boot;
  }
  for (const LogField& field : fields_of(event)) {
    row.fields.push_back({std::string(field.name), std::string(field.value), field.is_number && parse_u64(field.value)});
  }
  row.lines.push_back(make_label_text(event.text));
  for (const std::string_view more : event.more) {
    if (!more.empty()) row.lines.push_back(make_label_text(more));
  }
  return row;
}

}  // namespace

EventsAnswer kernel_events(const Snapshot& snapshot) {
  EventsAnswer answer;
  const auto table = std::make_unique<LogTable>();
  for (const std::string& log : snapshot.logs) {
    if (log.empty() || read_log_table(log, *table)) continue;
    for (std::size_t i = 0; i < table->counts.size(); ++i) {
      if (table->has_count[i]) answer.counts.emplace_back(to_string(static_cast<LogEvent>(i)), table->counts[i]);
    }
    for (std::size_t i = 0; i < table->size; ++i) {
      answer.events.push_back(row_of(table->events[i], snapshot.boot_time_ns()));
    }
    // Those of one log stay in its order, also if it has no times.
    if (std::exchange(answer.has_log, true)) {
      std::stable_sort(answer.events.begin(), answer.events.end(), [](const EventRow& one, const EventRow& other) {
        return one.since_boot.value_or(0) < other.since_boot.value_or(0);
      });
    }
  }
  return answer;
}

}  // namespace memstat
