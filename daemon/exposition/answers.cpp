// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/exposition/answers.h"

#include "core/base/text.h"
#include "core/diagnosis/growth_ranking.h"

namespace memstat {
namespace {

void write_amount(JsonWriter& json, std::string_view allocator, std::string_view name, bool is_bytes) {
  json.field("allocator", allocator).field("type", name).field("of", is_bytes ? "bytes" : "objects");
}

void write_row(JsonWriter& json, const GrowthRow& row) {
  write_amount(json, row.allocator, row.name, row.is_bytes);
  json.field("now", row.now).field("grew", row.grew).field("shape", row.shape);
  if (row.is_cache) json.field("cache", true);
  if (row.with.empty()) return;
  json.open_list("with");
  for (const GrowthRow::Other& other : row.with) {
    json.open_object();
    write_amount(json, other.allocator, other.name, other.is_bytes);
    json.field("grew", other.grew).close();
  }
  json.close();
}

}  // namespace

void write_growth(JsonWriter& json, const GrowthAnswer& answer) {
  json.field("polls", answer.polls).field("polls_needed", kMinGrowthPoints).field("seconds", answer.seconds);
  json.field("enough", answer.is_enough).field("moved", answer.moved).open_list("growing");
  for (const GrowthRow& row : answer.growing) {
    json.open_object();
    write_row(json, row);
    json.field("per_second", row.per_second).field("confidence", row.confidence).field("rose", row.rising);
    if (row.since_seconds > 0) json.field("since_seconds", row.since_seconds);
    if (row.limit_seconds) json.field("limit_in_seconds", *row.limit_seconds);
    if (row.memory_seconds) json.field("memory_gone_in_seconds", *row.memory_seconds);
    json.close();
  }
  json.close().open_list("set_aside");
  for (const GrowthRow& row : answer.set_aside) {
    json.open_object();
    write_row(json, row);
    json.field("why", row.why).close();
  }
  json.close();
}

void write_kernel_events(JsonWriter& json, const EventsAnswer& answer) {
  if (!answer.has_log) return;
  json.open_object("counts");
  for (const auto& [event, count] : answer.counts) json.field(event, count);
  json.close().open_list("events");
  for (const EventRow& row : answer.events) {
    json.open_object();
    if (row.time) json.field("time", *row.time);
    if (row.since_boot) json.field("seconds_since_boot", *row.since_boot);
    json.field("event", row.event).open_object("fields");
    // Other programs' numbers lose digits above 2^53, but no field is that large.
    for (const EventRow::Field& field : row.fields) {
      if (field.is_number) {
        json.field(field.name, parse_u64(field.value).value_or(0));
      } else {
        json.field(field.name, field.value);
      }
    }
    json.close().list("lines", row.lines).close();
  }
  json.close();
}

namespace {

void write_finding(JsonWriter& json, const Finding& finding) {
  json.open_object();
  json.field("cause", finding.cause).field("severity", to_string(finding.severity));
  json.field("certainty", to_string(finding.certainty)).field("confidence", confidence_of(finding.certainty));
  json.field("headline", finding.headline);
  if (!finding.killed.empty()) json.field("killed", finding.killed);
  if (!finding.killer.empty()) json.field("killer", finding.killer);
  json.open_list("about");
  for (const Finding::About& one : finding.about) {
    json.open_object().field("allocator", one.allocator).field("type", one.type).close();
  }
  json.close().open_list("who");
  for (const Finding::Who& one : finding.who) json.open_object().field("kind", one.kind).field("name", one.name).close();
  json.close().open_list("evidence");
  for (const Fact& fact : finding.facts) {
    json.open_object().field("text", fact.text).field("source", fact.source);
    if (fact.value) json.field("value", *fact.value);
    if (fact.limit) json.field("limit", *fact.limit);
    if (fact.window_seconds > 0) json.field("window_seconds", fact.window_seconds);
    json.close();
  }
  json.close().list("explains", finding.explains).field("effect", finding.effect);
  json.field("seconds_left", finding.seconds_left).list("next", finding.next).field("runbook", finding.runbook).close();
}

}  // namespace

void write_diagnosis(JsonWriter& json, const Diagnosis& diagnosis) {
  json.open_list("findings");
  for (const Finding& finding : diagnosis.findings) write_finding(json, finding);
  json.close().list("ruled_out", diagnosis.ruled_out).open_list("not_checked");
  for (const NotChecked& one : diagnosis.not_checked)
    json.open_object().field("cause", one.cause).field("why", one.why).close();
  json.close().field("watched_seconds", diagnosis.watched_seconds).field("polls", diagnosis.polls);
  if (diagnosis.view.is_whole()) return;
  json.open_object("view").field("lacks", diagnosis.view.names());
  json.field("words", diagnosis.view.words()).field("permit", diagnosis.view.permit()).close();
}

}  // namespace memstat
