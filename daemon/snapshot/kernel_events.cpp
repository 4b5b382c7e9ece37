// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/snapshot/kernel_events.h"

#include <memory>

#include "core/base/text.h"
#include "core/model/kernel_log.h"

namespace memstat {
namespace {

/// Writes a member. Other programs' numbers lose digits above 2^53, but no field is that large.
void write_log_field(JsonWriter& json, const LogField& field) {
  const auto number = field.is_number ? parse_u64(field.value) : std::nullopt;
  if (number) {
    json.field(field.name, *number);
  } else {
    json.field(field.name, field.value);
  }
}

}  // namespace

void write_kernel_events(JsonWriter& json, const Snapshot& snapshot) {
  const auto table = std::make_unique<LogTable>();
  if (snapshot.kernel_log.empty() || read_log_table(snapshot.kernel_log, *table)) return;
  json.open_object("counts");
  for (std::size_t i = 0; i < table->counts.size(); ++i) {
    if (table->has_count[i]) json.field(to_string(static_cast<LogEvent>(i)), table->counts[i]);
  }
  json.close().open_list("events");
  for (std::size_t i = 0; i < table->size; ++i) {
    const LoggedEvent& event = table->events[i];
    json.open_object();
    const double since_boot = static_cast<double>(event.time_us) / 1e6;
    if (event.has_time && snapshot.boot_time_ns() > 0) {
      const std::int64_t boot_ms = snapshot.boot_time_ns() / 1'000'000;
      json.field("time", static_cast<double>(boot_ms) / 1e3 + since_boot);
    }
    if (event.has_time) json.field("seconds_since_boot", since_boot);
    json.field("event", to_string(event.event)).open_object("fields");
    for (const LogField& field : fields_of(event)) write_log_field(json, field);
    json.close().open_list("lines").member(make_label_text(event.text));
    for (const std::string_view more : event.more) {
      if (!more.empty()) json.member(make_label_text(more));
    }
    json.close().close();
  }
  json.close();
}

}  // namespace memstat
