// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/serve/api_documents.h"

#include <algorithm>
#include <array>
#include <bit>
#include <initializer_list>
#include <utility>
#include <vector>

#include "core/base/json_writer.h"
#include "core/model/accounts.h"
#include "core/model/page_metrics.h"
#include "core/model/type_rules.h"
#include "core/source.h"
#include "daemon/explain/explain.h"
#include "daemon/exposition/answers.h"
#include "daemon/snapshot/row_extras.h"

namespace memstat {
namespace {

/// A figure of types and its name in the documents.
struct Member {
  Figure figure;
  std::string_view name;
  ValueFormat format = ValueFormat::kUnsigned;
};
/// Members of the list of types. The document of a single type has all its figures.
constexpr std::array kMembers{
    Member{Field::kBytes, "bytes"},
    Member{Field::kHeldBytes, "held_bytes"},
    Member{Field::kCount, "objects"},
    Member{Field::kFree, "free_objects"},
    Member{Field::kSize, "object_size_bytes"},
    Member{Field::kCountLimit, "limit_objects"},
    Member{Field::kBytesLimit, "limit_bytes"},
    Member{TrackedFigure::kLimitUsed, "limit_used", ValueFormat::kDouble},
    Member{TrackedFigure::kLimitHits, "limit_hits"},
    Member{Field::kFailures, "failures"},
    Member{Field::kSleeps, "sleeps"},
    Member{TrackedFigure::kDeltaBytes, "delta_bytes", ValueFormat::kSigned},
    Member{TrackedFigure::kGrowth, "growth_bytes_per_second", ValueFormat::kDouble},
};

void write_bits(JsonWriter& json, std::string_view key, std::uint64_t bits, ValueFormat format) {
  switch (format) {
    case ValueFormat::kUnsigned: json.field(key, bits); break;
    case ValueFormat::kSigned: json.field(key, static_cast<std::int64_t>(bits)); break;
    case ValueFormat::kDouble: json.field(key, std::bit_cast<double>(bits)); break;
  }
}

/// Writes those that are not empty.
void write_texts(JsonWriter& json, std::initializer_list<std::pair<std::string_view, std::string_view>> texts) {
  for (const auto& [key, text] : texts) {
    if (!text.empty()) json.field(key, text);
  }
}

/// Unix time with milliseconds, which JavaScript's numbers represent exactly.
double seconds_of(std::int64_t ns) {
  const std::int64_t milliseconds = ns / 1'000'000;
  return static_cast<double>(milliseconds) / 1000;
}

void write_poll(JsonWriter& json, const Snapshot& snapshot) {
  json.field("generation", snapshot.generation()).field("time", seconds_of(snapshot.realtime_ns));
}

/// `name` is a reusable buffer.
void write_identity(JsonWriter& json, const Snapshot& snapshot, std::size_t row, std::string& name) {
  const RowLabels labels = snapshot.rows()[row].labels(snapshot.label_bytes().data());
  json.field("allocator", labels.allocator());
  name.resize(unescaped_label_size(labels.escaped_type()));
  unescape_label_value(name.data(), labels.escaped_type());
  json.field("type", name);
}

void write_row(JsonWriter& json, const Snapshot& snapshot, std::size_t row, std::string& name) {
  write_identity(json, snapshot, row, name);
  for (const Member& member : kMembers) {
    if (!snapshot.has(member.figure, row)) continue;
    write_bits(json, member.name, snapshot.value(member.figure, row), member.format);
  }
  const Allocator allocator = snapshot.rows()[row].allocator;
  if (snapshot.has(TrackedFigure::kLimitConfigured, row)) json.field("limit_configured", true);
  if (is_container(allocator, name)) json.field("container", true);
  if (fails_routinely(allocator, name)) json.field("fails_routinely", true);
}

/// Writes the other names of a merged slab cache.
void write_merged(JsonWriter& json, const MergedNames& merged, std::size_t row) {
  if (const auto names = merged.of(row); !names.empty()) json.list("also", names);
}

void write_group(JsonWriter& json, const GroupFacts::Facts& facts) {
  if (facts.tasks && facts.tasks_limit.value_or(0) != 0) {
    json.field("tasks", *facts.tasks).field("tasks_limit", *facts.tasks_limit);
  }
  write_headroom(json, facts.headroom);
}

/// The origin of a figure of types in a source; nullptr if it has none.
const MetricOrigin* origin_in(const SourceDescriptor& source, std::size_t figure) {
  const auto found = std::find_if(source.origins.begin(), source.origins.end(), [figure](const MetricOrigin& origin) {
    return origin.of == MetricOrigin::Of::kType && origin.number == figure;
  });
  return found == source.origins.end() ? nullptr : &*found;
}

/// Writes where the kernel counts a figure, from the descriptor of the source that owns it; of two owners, the one that is
/// up. The daemon's own figures have no origin.
void write_origin(JsonWriter& json, std::span<const SourceStatus> sources, Allocator allocator, std::size_t figure) {
  const SourceDescriptor* owner = nullptr;
  for (const SourceStatus& status : sources) {
    const SourceDescriptor* const source = find_source(status.name);
    if (source == nullptr || source->allocator != allocator || origin_in(*source, figure) == nullptr) continue;
    if (owner == nullptr || status.state == SourceState::kUp) owner = source;
    if (status.state == SourceState::kUp) break;
  }
  if (owner != nullptr) json.field("source", owner->name).field("origin", origin_in(*owner, figure)->origin);
}

/// Writes a per-CPU or per-node row: an array of values indexed by CPU or node.
void write_values(JsonWriter& json, const std::uint64_t* values, std::uint32_t count) {
  json.open_list("values");
  for (std::uint32_t i = 0; i < count; ++i) {
    json.member(values[i] == UINT64_MAX ? std::nullopt : std::optional(values[i]));
  }
  json.close();
}

/// Writes a type's figures by CPU or node. `place` is the number of its block, from 1; 0: it has none.
template <typename Block>
void write_table(JsonWriter& json, std::string_view key, MetricScope scope, const Snapshot& snapshot,
                 const std::vector<Block>& blocks, std::uint32_t place) {
  json.open_list(key);
  for (const MetricDescriptor& metric : metric_catalogue()) {
    if (place == 0 || metric.scope != scope) continue;
    const Block& block = blocks[place - 1];
    const auto field = static_cast<typename Block::FieldType>(metric.figure);
    if (!block.figures.has(field)) continue;
    json.open_object().field("metric", metric.name).field("help", metric.help);
    if (!metric.unit.empty()) json.field("unit", metric.unit);
    write_values(json, snapshot.values(block, field), block.count);
    json.close();
  }
  json.close();
}

/// The runbook for the type's current trouble, or else for its growth.
std::string_view runbook_of(const Snapshot& snapshot, std::size_t row) {
  constexpr double kNear = 0.8;
  const auto value = [&](Figure figure) { return snapshot.has(figure, row) ? snapshot.value(figure, row) : 0; };
  if (value(Field::kFailures) != 0) return "MemstatAllocationFailures";
  if (std::bit_cast<double>(value(TrackedFigure::kLimitUsed)) >= kNear) return "MemstatNearLimit";
  return "MemstatLeakSuspected";
}

/// Processes that the kernel killed within the last hour, as far as the history reaches.
std::optional<std::uint64_t> recent_kills(const History* history) {
  constexpr std::int64_t kHour = 3600;
  if (history == nullptr || !history->is_on()) return std::nullopt;
  const History::Samples samples = history->samples(kHour, 2);
  const auto named = std::find(samples.names.begin(), samples.names.end(), kKillsSeries);
  if (named == samples.names.end()) return std::nullopt;
  const auto kills = samples.of(static_cast<std::size_t>(named - samples.names.begin()));
  return kills.empty() || kills.front() == 0 || kills.back() < kills.front() ? 0 : kills.back() - kills.front();
}

}  // namespace

std::string types_document(const Snapshot& snapshot, const ApiRequest& request) {
  constexpr std::size_t kUsualRowBytes = 320;
  JsonWriter json;
  json.reserve((snapshot.row_count() + 1) * kUsualRowBytes);
  write_poll(json, snapshot);
  std::string name;
  const MergedNames merged(snapshot);
  const GroupFacts groups(snapshot);
  std::string escaped_type;
  if (request.type) append_escaped_label_value(escaped_type, *request.type);
  json.open_list("types");
  for (std::size_t row = 0; row < snapshot.row_count(); ++row) {
    if (request.allocator && to_string(snapshot.rows()[row].allocator) != *request.allocator) continue;
    const RowLabels labels = snapshot.rows()[row].labels(snapshot.label_bytes().data());
    if (request.type && labels.escaped_type() != escaped_type) continue;
    json.open_object();
    write_row(json, snapshot, row, name);
    write_merged(json, merged, row);
    write_group(json, groups.of(row));
    json.close();
  }
  json.close().open_list("unlisted");
  for (std::size_t i = 0; i < kAllocatorCount; ++i) {
    const auto allocator = static_cast<Allocator>(i);
    const auto& [types, bytes] = snapshot.unlisted[i];
    if (types == 0) continue;
    json.open_object().field("allocator", to_string(allocator)).field("types", types);
    if (bytes) json.field("bytes", *bytes);
    json.close();
  }
  return json.finish();
}

std::string type_document(const Snapshot& snapshot, std::size_t row, std::span<const SourceStatus> sources) {
  const Snapshot::Row& entry = snapshot.rows()[row];
  JsonWriter json;
  std::string name;
  write_poll(json, snapshot);
  write_row(json, snapshot, row, name);
  write_merged(json, MergedNames(snapshot), row);
  const GroupFacts groups(snapshot);
  write_group(json, groups.of(row));
  if (entry.first_seen_ns != 0) json.field("first_seen", seconds_of(entry.first_seen_ns));
  for (const Snapshot::Detail& detail : snapshot.details()) {
    if (detail.row == row) json.field("detail", snapshot.detail_text(detail));
  }
  for (const Explanation& explanation : explain(std::string(to_string(entry.allocator)) + "/" + name)) {
    if (explanation.kind != "type") continue;
    json.field("what", explanation.what);
    if (!explanation.growth.empty()) json.field("when_it_grows", explanation.growth);
    break;
  }
  json.field("runbook", runbook_of(snapshot, row));
  json.open_list("figures");
  for (const MetricDescriptor& metric : metric_catalogue()) {
    if (metric.scope != MetricScope::kType || !snapshot.has(Figure::from_number(metric.figure), row)) continue;
    json.open_object().field("metric", metric.name).field("help", metric.help).field("kind", to_string(metric.kind));
    if (!metric.unit.empty()) json.field("unit", metric.unit);
    write_bits(json, "value", snapshot.value(Figure::from_number(metric.figure), row), metric.format);
    write_origin(json, sources, entry.allocator, metric.figure);
    json.close();
  }
  json.close();
  write_table(json, "cpus", MetricScope::kCpu, snapshot, snapshot.cpu_blocks(), entry.cpu_block);
  write_table(json, "nodes", MetricScope::kNode, snapshot, snapshot.node_blocks(), entry.node_block);
  return json.finish();
}

std::string history_document(const Snapshot& snapshot, const History& history, const ApiRequest& request) {
  const History::Overview overview = history.overview(request.seconds, request.points);
  const std::size_t points = overview.times_ns.size();
  JsonWriter json;
  write_poll(json, snapshot);
  json.open_list("times");
  for (const std::int64_t time_ns : overview.times_ns) json.member(seconds_of(time_ns));
  json.close().open_list("series");
  std::string name;
  for (std::size_t row = 0; row < snapshot.row_count(); ++row) {
    const Snapshot::Row& entry = snapshot.rows()[row];
    if (entry.number >= overview.failures.size()) continue;
    if (request.allocator && to_string(entry.allocator) != *request.allocator) continue;
    json.open_object();
    write_identity(json, snapshot, row, name);
    json.open_list("values");
    for (std::size_t i = 0; i < points; ++i) {
      const std::uint64_t value = overview.amounts[entry.number * points + i];
      json.member(value == 0 ? std::nullopt : std::optional(value - 1));
    }
    json.close();
    if (snapshot.has(Field::kFailures, row)) json.field("failures", overview.failures[entry.number]);
    if (snapshot.has(TrackedFigure::kLimitHits, row)) json.field("limit_hits", overview.limit_hits[entry.number]);
    json.close();
  }
  return json.finish();
}

std::string growth_document(const Snapshot& snapshot, const History& history, const ApiRequest& request) {
  JsonWriter json;
  write_poll(json, snapshot);
  write_growth(json, growth_answer(growth_report(snapshot, history, request.seconds)));
  return json.finish();
}

std::string findings_document(const Snapshot& snapshot, const Diagnosis& diagnosis) {
  JsonWriter json;
  write_poll(json, snapshot);
  write_diagnosis(json, diagnosis);
  return json.finish();
}

std::string incidents_document(const Snapshot& snapshot, const IncidentList& list) {
  JsonWriter json;
  write_poll(json, snapshot);
  write_texts(json, {{"directory", list.directory}, {"problem", list.problem}});
  json.open_list("incidents");
  for (const Incident& one : list.incidents) {
    json.open_object();
    write_incident(json, one);
    json.close();
  }
  return json.finish();
}

std::string type_history_document(const Snapshot& snapshot, std::size_t row, const History& history) {
  const std::uint32_t number = snapshot.rows()[row].number;
  JsonWriter json;
  std::string name;
  write_poll(json, snapshot);
  write_identity(json, snapshot, row, name);
  json.field("figure", snapshot.has(Field::kBytes, row) ? "bytes" : "objects");
  const auto write = [&](std::string_view key, HistoryFigure figure, bool changes_only) {
    json.open_list(key);
    std::optional<std::uint64_t> before;
    for (const HistoryPoint& point : history.points(number, figure)) {
      if (!changes_only || before != point.value) {
        json.open_list().member(seconds_of(point.time_ns)).member(point.value).close();
      }
      before = point.value;
    }
    json.close();
  };
  write("points", HistoryFigure::kAmount, false);
  write("failures", HistoryFigure::kFailures, true);
  write("limit_hits", HistoryFigure::kLimitHits, true);
  return json.finish();
}

std::string sources_document(const Snapshot& snapshot, std::span<const SourceStatus> sources, const SelfMetrics& metrics,
                             const History* history, std::string_view version, const HostInfo& host) {
  JsonWriter json;
  write_poll(json, snapshot);
  json.open_list("sources");
  for (const SourceStatus& status : sources) {
    json.open_object();
    json.field("name", status.name).field("origin", status.origin);
    json.field("state", to_string(status.state)).field("types", status.types);
    if (!status.needs.empty()) json.field("needs", status.needs);
    if (!status.error.empty()) json.field("error", status.error);
    if (!status.note.empty()) json.field("left_out", status.note);
    if (status.read_seconds > 0) json.field("read_seconds", status.read_seconds).field("read_bytes", status.read_bytes);
    if (const SourceDescriptor* const source = find_source(status.name); source != nullptr) {
      if (source->allocator != Allocator::kUnknown) json.field("allocator", to_string(source->allocator));
      if (!source->notes.empty()) json.field("notes", source->notes);
      if (source->max_files != SourceDescriptor::kFilesVary) json.field("max_files", source->max_files);
    }
    json.close();
  }
  json.close();
  json.open_object("daemon").field("version", version);
  write_texts(
      json, {{"warning", host.warning}, {"opened_as", host.opened_as}, {"runs_as", host.runs_as}, {"replay", host.replay}});
  if (!host.os.empty()) json.field("kernel", host.os + " " + host.release);
  if (!host.mounts.empty()) json.list("mounts", host.mounts);
  if (history != nullptr) json.field("history_bytes", history->is_on() ? history->bytes() : 0);
  json.open_object("metrics");
  for (const SelfMetrics::Value& own : metrics.values()) json.field(own.name, own.value);
  return json.finish();
}

std::string events_document(const Snapshot& snapshot) {
  JsonWriter json;
  write_poll(json, snapshot);
  write_kernel_events(json, kernel_events(snapshot));
  return json.finish();
}

std::string memory_document(const Snapshot& snapshot, const HostInfo& host, const History* history) {
  JsonWriter json;
  write_poll(json, snapshot);
  json.open_object("host");
  write_texts(
      json,
      {{"name", host.name}, {"os", host.os}, {"release", host.release}, {"machine", host.machine}, {"replay", host.replay}});
  if (snapshot.boot_time_ns() != 0) json.field("boot", seconds_of(snapshot.boot_time_ns()));
  json.close();
  const auto total = snapshot.samples(kTotalBytes);
  const auto unaccounted = snapshot.samples(kUnaccountedBytes);
  const auto available = snapshot.samples(kAvailableBytes);
  std::uint64_t sum = 0;
  json.open_list("parts");
  for (const Snapshot::MachineSample& part : snapshot.samples(kAccountedBytes)) {
    sum += part.bits;
    snapshot.labels_at(part.labels, kAccountedBytes.label_names()).for_each([&](std::string_view, std::string_view name) {
      json.open_object().field("part", unescaped_label(name)).field("bytes", part.bits).close();
    });
  }
  json.close();
  if (!total.empty()) {
    json.field("total_bytes", total[0].bits);
    if (!unaccounted.empty()) {
      // The account satisfies total = parts + unaccounted + free.
      const auto rest = static_cast<std::int64_t>(unaccounted[0].bits);
      json.field("unaccounted_bytes", rest);
      json.field("free_bytes", static_cast<std::int64_t>(total[0].bits - sum - static_cast<std::uint64_t>(rest)));
    }
  }
  if (!available.empty()) json.field("available_bytes", available[0].bits);
  if (const auto headroom = snapshot.samples(kHeadroomBytes); !headroom.empty()) {
    json.field("headroom_bytes", headroom[0].bits);
  }
  if (const auto kills = snapshot.samples(kOomKills); !kills.empty()) json.field("oom_kills", kills[0].bits);
  if (const auto kills = recent_kills(history)) json.field("recent_oom_kills", *kills);
  return json.finish();
}

}  // namespace memstat
