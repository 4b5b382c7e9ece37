// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/source/api_answers.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <utility>

#include "daemon/ctl/output/cells.h"
#include "daemon/ctl/source/document.h"
#include "daemon/ctl/source/type_figures.h"

namespace memstat::ctl {
namespace {

TypeRow row_of_document(const Document& type) {
  TypeRow row;
  row.allocator = text_of(type, "allocator");
  row.allocator_number = allocator_number(row.allocator);
  row.name = text_of(type, "type");
  for (const Column* column : kColumns) {
    const auto amount = amount_of(type, column->key);
    if (!amount) continue;
    row.figures |= column->figure;
    row.*column->value = *amount;
  }
  if (const auto used = number_of(type, "limit_used"); used && *used >= 0) row.limit_used = used;
  if (const auto limit = amount_of(type, "tasks_limit"); limit && *limit != 0) {
    row.tasks = amount_of(type, "tasks");
    row.tasks_limit = *limit;
  }
  row.headroom = {.bytes = amount_of(type, "headroom_bytes"),
                  .set_by = text_of(type, "headroom_set_by"),
                  .uncertain = text_of(type, "headroom_uncertain"),
                  .until_high = amount_of(type, "headroom_until_high_bytes")};
  row.growth = number_of(type, "growth_bytes_per_second");
  row.is_container = is_true(type, "container");
  row.fails_routinely = is_true(type, "fails_routinely");
  row.also = texts_of(type, "also");
  return row;
}

/// Unix time; 0 if invalid.
std::int64_t time_of(const Document& document) {
  constexpr double kYear2261 = 9.2e9;
  const auto seconds = number_of(document, "time");
  if (!seconds || *seconds < 0 || *seconds > kYear2261) return 0;
  return static_cast<std::int64_t>(std::llround(*seconds * 1000)) * 1'000'000;
}

std::vector<Split> splits_of(const Document& document, const char* key) {
  constexpr std::size_t kMaxPlaces = 16384;  // maximum number of CPUs, as in captures
  std::vector<Split> splits;
  const Document* const list = list_of(document, key);
  if (list == nullptr) return splits;
  for (const Document& one : *list) {
    if (!one.is_object()) continue;
    const Document* const values = list_of(one, "values");
    if (values == nullptr || values->size() > kMaxPlaces) continue;
    Split split{.title = split_title(text_of(one, "metric")), .is_bytes = false, .values = {}};
    split.is_bytes = split.title.ends_with("bytes");
    for (const Document& value : *values) split.values.push_back(amount_of(value));
    splits.push_back(std::move(split));
  }
  return splits;
}

std::int64_t whole_of(const Document& object, const char* key) {
  constexpr double kMax = 9e18;
  const double number = number_of(object, key).value_or(0);
  return static_cast<std::int64_t>(std::llround(std::clamp(number, -kMax, kMax)));
}

bool take_growth_rows(const Document& document, const char* key, std::vector<GrowthRow>& rows) {
  const Document* const list = list_of(document, key);
  if (list == nullptr) return false;
  for (const Document& one : *list) {
    if (!one.is_object()) return false;
    GrowthRow row{.allocator = text_of(one, "allocator"),
                  .name = text_of(one, "type"),
                  .is_bytes = text_of(one, "of") == "bytes",
                  .is_cache = is_true(one, "cache"),
                  .now = whole_of(one, "now"),
                  .grew = whole_of(one, "grew"),
                  .per_second = number_of(one, "per_second").value_or(0),
                  .confidence = number_of(one, "confidence").value_or(0),
                  .rising = number_of(one, "rose").value_or(0),
                  .since_seconds = number_of(one, "since_seconds").value_or(0),
                  .limit_seconds = number_of(one, "limit_in_seconds"),
                  .memory_seconds = number_of(one, "memory_gone_in_seconds"),
                  .shape = text_of(one, "shape"),
                  .why = text_of(one, "why")};
    each_of(one, "with", Document::value_t::object, [&](const Document& other) {
      row.with.push_back({.allocator = text_of(other, "allocator"),
                          .name = text_of(other, "type"),
                          .is_bytes = text_of(other, "of") == "bytes",
                          .grew = whole_of(other, "grew")});
    });
    rows.push_back(std::move(row));
  }
  return true;
}

SourceHealth health_of(std::string_view state, bool is_refused) {
  if (state == "up") return SourceHealth::kWorks;
  if (state == "not present") return SourceHealth::kAbsent;
  if (state == "not permitted") return SourceHealth::kNotPermitted;
  if (state == "off") return SourceHealth::kOff;
  if (state == "replaced") return SourceHealth::kReplaced;
  if (state == "not read yet") return SourceHealth::kUnread;
  return is_refused ? SourceHealth::kNoPermission : SourceHealth::kFails;
}

SourceTrial trial_of(const Document& source, std::string_view opened_as, bool is_replay) {
  SourceTrial trial{.source = printable_bytes(text_of(source, "name")),
                    .origin = printable_bytes(text_of(source, "origin")),
                    .max_files = amount_of(source, "max_files").value_or(SourceDescriptor::kFilesVary),
                    .types = static_cast<std::size_t>(amount_of(source, "types").value_or(0)),
                    .needs = printable_bytes(text_of(source, "needs")),
                    .reason = printable_bytes(text_of(source, "error"))};
  if (trial.reason.starts_with(trial.source + ": ")) trial.reason.erase(0, trial.source.size() + 2);
  trial.health = health_of(text_of(source, "state"), !trial.needs.empty());
  if (trial.health == SourceHealth::kNotPermitted || trial.health == SourceHealth::kNoPermission) {
    trial.advice = is_replay ? "it was recorded without this; record it as root" : service_advice(trial.needs, opened_as);
  }
  return trial;
}

EventRow event_of_document(const Document& one) {
  EventRow row{.time = number_of(one, "time"),
               .since_boot = number_of(one, "seconds_since_boot"),
               .event = text_of(one, "event"),
               .lines = texts_of(one, "lines")};
  if (const auto fields = one.find("fields"); fields != one.end() && fields->is_object()) {
    for (const auto& [name, value] : fields->items()) {
      const auto number = amount_of(value);
      if (number) row.fields.push_back({name, std::to_string(*number), true});
      if (value.is_string()) row.fields.push_back({name, value.get<std::string>(), false});
    }
  }
  return row;
}

}  // namespace

std::string split_title(std::string_view metric) {
  for (const std::string_view prefix : {"memstat_cpu_", "memstat_node_", "memstat_type_", "memstat_"}) {
    if (!metric.starts_with(prefix)) continue;
    metric.remove_prefix(prefix.size());
    break;
  }
  if (metric.ends_with("_total")) metric.remove_suffix(std::string_view("_total").size());
  return std::string(metric);
}

bool parse_types_answer(std::string_view json, Sample& what) {
  const Document document = parsed_document(json);
  if (!document.is_object()) return false;
  const Document* const types = list_of(document, "types");
  if (types == nullptr) return false;
  what.time_ns = time_of(document);
  for (const Document& type : *types) {
    if (!type.is_object()) return false;
    what.types.push_back(row_of_document(type));
    if (what.types.back().allocator.empty() || !type.contains("type")) return false;
  }
  const Document* const unlisted = list_of(document, "unlisted");
  if (unlisted == nullptr) return true;
  for (const Document& one : *unlisted) {
    if (!one.is_object()) return false;
    const std::uint64_t left_out = amount_of(one, "types").value_or(0);
    const std::string allocator = text_of(one, "allocator");
    const auto listed = static_cast<std::uint64_t>(std::count_if(
        what.types.begin(), what.types.end(), [&](const TypeRow& type) { return type.allocator == allocator; }));
    if (left_out == 0) continue;
    what.notes.push_back("not in this answer: " + std::to_string(left_out) + " of " + std::to_string(listed + left_out) +
                         " " + printable(allocator) + " types, which this memstatd does not list");
  }
  return true;
}

bool parse_memory_answer(std::string_view json, Machine& machine, std::optional<MachineMemory>& memory) {
  const Document document = parsed_document(json);
  if (!document.is_object()) return false;
  const auto host = document.find("host");
  if (host == document.end() || !host->is_object()) return false;
  machine = {.host = text_of(*host, "name"),
             .os = text_of(*host, "os"),
             .release = text_of(*host, "release"),
             .machine = text_of(*host, "machine"),
             .replay = text_of(*host, "replay")};
  memory.reset();
  const auto total = amount_of(document, "total_bytes");
  const auto rest = document.find("unaccounted_bytes");
  if (!total || rest == document.end() || !rest->is_number_integer()) return true;
  const auto free = amount_of(document, "free_bytes");
  memory = {.total = *total,
            .free = free.value_or(0),
            .unaccounted = rest->get<std::int64_t>(),
            .available = amount_of(document, "available_bytes")};
  return true;
}

bool parse_type_answer(std::string_view json, Splits& splits) {
  const Document document = parsed_document(json);
  if (!document.is_object() || list_of(document, "cpus") == nullptr) return false;
  splits.cpus = splits_of(document, "cpus");
  splits.nodes = splits_of(document, "nodes");
  return true;
}

bool parse_history_answer(std::string_view json, const std::vector<TypeRow>& types, std::vector<AmountHistory>& histories) {
  const Document document = parsed_document(json);
  if (!document.is_object()) return false;
  const Document* const series = list_of(document, "series");
  if (series == nullptr) return false;
  std::map<std::pair<std::string, std::string>, AmountHistory> found;
  for (const Document& one : *series) {
    if (!one.is_object()) return false;
    const Document* const values = list_of(one, "values");
    if (values == nullptr) return false;
    AmountHistory& history = found[{text_of(one, "allocator"), text_of(one, "type")}];
    for (const Document& value : *values) history.push_back(amount_of(value));
  }
  histories.clear();
  for (const TypeRow& type : types) histories.push_back(found[{type.allocator, type.name}]);
  return true;
}

bool parse_growth_answer(std::string_view json, GrowthAnswer& answer) {
  const Document document = parsed_document(json);
  if (!document.is_object() || !number_of(document, "polls")) return false;
  answer.polls = static_cast<std::size_t>(amount_of(document, "polls").value_or(0));
  answer.seconds = number_of(document, "seconds").value_or(0);
  answer.is_enough = is_true(document, "enough");
  answer.moved = static_cast<std::size_t>(amount_of(document, "moved").value_or(0));
  return take_growth_rows(document, "growing", answer.growing) && take_growth_rows(document, "set_aside", answer.set_aside);
}

bool parse_events_answer(std::string_view json, EventsAnswer& answer) {
  const Document document = parsed_document(json);
  if (!document.is_object()) return false;
  const Document* const list = list_of(document, "events");
  answer.has_log = list != nullptr;
  if (list == nullptr) return true;
  for (const Document& one : *list) {
    if (!one.is_object()) return false;
    answer.events.push_back(event_of_document(one));
  }
  return true;
}

bool parse_sources_answer(std::string_view json, SelfTest& test) {
  const Document document = parsed_document(json);
  if (!document.is_object()) return false;
  const auto daemon = document.find("daemon");
  if (list_of(document, "sources") == nullptr || daemon == document.end() || !daemon->is_object()) return false;
  test.version = printable_bytes(text_of(*daemon, "version"));
  test.warning = printable_bytes(text_of(*daemon, "warning"));
  const std::string replay = printable_bytes(text_of(*daemon, "replay"));
  const std::string opened_as = printable_bytes(text_of(*daemon, "opened_as"));
  const std::string runs_as = printable_bytes(text_of(*daemon, "runs_as"));
  test.kernel = printable_bytes(text_of(*daemon, "kernel")) + (replay.empty() ? "" : ", replayed from " + replay);
  test.account = opened_as + (runs_as == opened_as ? "" : " when it opened the kernel's files, now " + runs_as);
  for (const std::string& line : texts_of(*daemon, "mounts")) test.mounts.push_back(printable_bytes(line));
  each_of(document, "sources", Document::value_t::object,
          [&](const Document& source) { test.trials.push_back(trial_of(source, opened_as, !replay.empty())); });
  return true;
}

std::string parse_error_answer(std::string_view json) {
  const Document document = parsed_document(json);
  return document.is_object() ? text_of(document, "error") : std::string();
}

}  // namespace memstat::ctl
