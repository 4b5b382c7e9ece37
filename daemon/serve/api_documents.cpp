// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/serve/api_documents.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>
#include <vector>

#include "core/base/text.h"
#include "core/model/accounts.h"
#include "core/model/oom_metrics.h"
#include "core/source.h"
#include "daemon/serve/json.h"

namespace memstat {
namespace {

/// A figure of types and its name in the documents.
struct Member {
  Figure figure;
  std::string_view name;
  ValueFormat format = ValueFormat::kUnsigned;
};
/// What the list of types has; one type alone has every figure that it has.
constexpr std::array kMembers{
    Member{Field::kBytes, "bytes"},
    Member{Field::kHeldBytes, "held_bytes"},
    Member{Field::kCount, "objects"},
    Member{Field::kFree, "free_objects"},
    Member{Field::kCountLimit, "limit_objects"},
    Member{Field::kBytesLimit, "limit_bytes"},
    Member{TrackedFigure::kLimitUsed, "limit_used", ValueFormat::kDouble},
    Member{TrackedFigure::kLimitHits, "limit_hits"},
    Member{Field::kFailures, "failures"},
    Member{Field::kSleeps, "sleeps"},
    Member{TrackedFigure::kDeltaBytes, "delta_bytes", ValueFormat::kSigned},
    Member{TrackedFigure::kGrowth, "growth_bytes_per_second", ValueFormat::kDouble},
};

void write_bits(Json& json, std::uint64_t bits, ValueFormat format) {
  switch (format) {
    case ValueFormat::kUnsigned: json.value(bits); break;
    case ValueFormat::kSigned: json.value(static_cast<std::int64_t>(bits)); break;
    case ValueFormat::kDouble: json.value(std::bit_cast<double>(bits)); break;
  }
}

/// Unix time with milliseconds: what JavaScript's numbers keep exactly.
double seconds_of(std::int64_t ns) {
  const std::int64_t milliseconds = ns / 1'000'000;
  return static_cast<double>(milliseconds) / 1000;
}

void write_poll(Json& json, const Snapshot& snapshot) {
  json.member("generation", snapshot.generation()).member("time", seconds_of(snapshot.realtime_ns));
}

void append_unescaped(std::string& out, std::string_view text) {
  const std::size_t begin = out.size();
  out.resize(begin + unescaped_label_size(text));
  unescape_label_value(out.data() + begin, text);
}

std::string unescaped(std::string_view text) {
  std::string out;
  append_unescaped(out, text);
  return out;
}

/// `name` is room that is used again.
void write_identity(Json& json, const Snapshot& snapshot, std::size_t row, std::string& name) {
  const RowLabels labels = snapshot.rows()[row].labels(snapshot.label_bytes().data());
  json.member("allocator", labels.allocator());
  name.clear();
  append_unescaped(name, labels.escaped_type());
  json.member("type", std::string_view(name));
}

void write_row(Json& json, const Snapshot& snapshot, std::size_t row, std::string& name) {
  write_identity(json, snapshot, row, name);
  for (const Member& member : kMembers) {
    if (!snapshot.has(member.figure, row)) continue;
    json.key(member.name);
    write_bits(json, snapshot.value(member.figure, row), member.format);
  }
  const Allocator allocator = snapshot.rows()[row].allocator;
  if (snapshot.has(TrackedFigure::kLimitConfigured, row)) json.member("limit_configured", true);
  if (is_container(allocator, name)) json.member("container", true);
  if (fails_routinely(allocator, name)) json.member("fails_routinely", true);
}

/// Where the kernel counts a figure, from the descriptor of the source that owns it. The daemon's own figures have none.
void write_origin(Json& json, std::span<const SourceStatus> sources, Allocator allocator, std::size_t figure) {
  for (const SourceStatus& status : sources) {
    const SourceDescriptor* const source = find_source(status.name);
    if (source == nullptr || source->allocator != allocator) continue;
    for (const MetricOrigin& origin : source->origins) {
      if (origin.of != MetricOrigin::Of::kType || origin.number != figure) continue;
      json.member("source", source->name).member("origin", origin.origin);
      return;
    }
  }
}

/// The rows of a per-CPU or per-node table: one array of values a figure, by the number of CPU or node.
void write_values(Json& json, const std::uint64_t* values, std::uint32_t count) {
  json.key("values").open_array();
  for (std::uint32_t i = 0; i < count; ++i) {
    if (values[i] == UINT64_MAX) {
      json.null();
    } else {
      json.value(values[i]);
    }
  }
  json.close_array();
}

/// The figures by CPU, or by node, that a type has; `block` is null where it has none.
template <typename Field, typename Block, typename ValuesOf>
void write_table(Json& json, std::string_view key, MetricScope scope, const Block* block, std::uint32_t count,
                 ValuesOf values_of) {
  json.key(key).open_array();
  for (const MetricDescriptor& metric : metric_catalogue()) {
    if (block == nullptr || metric.scope != scope) continue;
    const auto field = static_cast<Field>(metric.figure);
    if (!block->figures.has(field)) continue;
    json.open_object().member("metric", metric.name).member("help", metric.help);
    write_values(json, values_of(*block, field), count);
    json.close_object();
  }
  json.close_array();
}

void write_cpus(Json& json, const Snapshot& snapshot, std::size_t row) {
  const std::uint32_t place = snapshot.rows()[row].cpu_block;
  const Snapshot::CpuBlock* const block = place == 0 ? nullptr : &snapshot.cpu_blocks()[place - 1];
  write_table<CpuField>(json, "cpus", MetricScope::kCpu, block, block == nullptr ? 0 : block->cpu_count,
                        [&](const Snapshot::CpuBlock& of, CpuField field) { return snapshot.cpu_values(of, field); });
}

void write_nodes(Json& json, const Snapshot& snapshot, std::size_t row) {
  const std::uint32_t place = snapshot.rows()[row].node_block;
  const Snapshot::NodeBlock* const block = place == 0 ? nullptr : &snapshot.node_blocks()[place - 1];
  write_table<NodeField>(json, "nodes", MetricScope::kNode, block, block == nullptr ? 0 : block->node_count,
                         [&](const Snapshot::NodeBlock& of, NodeField field) { return snapshot.node_values(of, field); });
}

}  // namespace

bool is_container(Allocator allocator, std::string_view type) {
  switch (allocator) {
    case Allocator::kPage:
    case Allocator::kMemcg:
    case Allocator::kProcess: return true;
    // What malloc and uma live in, and what is promised of memory and swap.
    case Allocator::kTable: return type == "kmem" || type == "kernel_address_space" || type == "swap_reservations";
    // What malloc's types live in, and items of other zones.
    case Allocator::kUma: return type.starts_with("malloc-") || type == "mbuf_packet";
    default: return false;
  }
}

bool fails_routinely(Allocator allocator, std::string_view type) {
  return allocator == Allocator::kUma && type.ends_with(" Bucket");
}

std::optional<std::size_t> row_of(const Snapshot& snapshot, std::string_view allocator, std::string_view type) {
  std::string escaped;
  append_escaped_label_value(escaped, type);
  for (std::size_t row = 0; row < snapshot.row_count(); ++row) {
    const RowLabels labels = snapshot.rows()[row].labels(snapshot.label_bytes().data());
    if (labels.escaped_type() == escaped && labels.allocator() == allocator) return row;
  }
  return std::nullopt;
}

std::string types_document(const Snapshot& snapshot, const ApiRequest& request) {
  constexpr std::size_t kUsualRowBytes = 320;
  Json json;
  json.reserve((snapshot.row_count() + 1) * kUsualRowBytes);
  json.open_object();
  write_poll(json, snapshot);
  std::string name;
  std::string escaped_type;
  if (request.type) append_escaped_label_value(escaped_type, *request.type);
  json.key("types").open_array();
  for (std::size_t row = 0; row < snapshot.row_count(); ++row) {
    if (request.allocator && to_string(snapshot.rows()[row].allocator) != *request.allocator) continue;
    const RowLabels labels = snapshot.rows()[row].labels(snapshot.label_bytes().data());
    if (request.type && labels.escaped_type() != escaped_type) continue;
    json.open_object();
    write_row(json, snapshot, row, name);
    json.close_object();
  }
  json.close_array().key("unlisted").open_array();
  for (std::size_t i = 0; i < kAllocatorCount; ++i) {
    const auto allocator = static_cast<Allocator>(i);
    if (!snapshot.has(AllocatorFigure::kUnlistedBytes, allocator)) continue;
    const std::uint64_t bytes = snapshot.value(AllocatorFigure::kUnlistedBytes, allocator);
    if (bytes == 0) continue;
    json.open_object().member("allocator", to_string(allocator)).member("bytes", bytes).close_object();
  }
  json.close_array().close_object();
  return json.take();
}

std::string type_document(const Snapshot& snapshot, std::size_t row, std::span<const SourceStatus> sources) {
  const Snapshot::Row& entry = snapshot.rows()[row];
  Json json;
  std::string name;
  json.open_object();
  write_poll(json, snapshot);
  write_row(json, snapshot, row, name);
  if (entry.first_seen_ns != 0) json.member("first_seen", seconds_of(entry.first_seen_ns));
  for (const Snapshot::Detail& detail : snapshot.details()) {
    if (detail.row != row) continue;
    std::string_view text = snapshot.labels_at(detail.labels, {}).text;
    text.remove_prefix(entry.label_size + std::string_view(",detail=\"").size());
    text.remove_suffix(1);
    json.member("detail", std::string_view(unescaped(text)));
  }
  json.key("figures").open_array();
  for (const MetricDescriptor& metric : metric_catalogue()) {
    if (metric.scope != MetricScope::kType || !snapshot.has(Figure::from_number(metric.figure), row)) continue;
    json.open_object().member("metric", metric.name).member("help", metric.help).member("kind", to_string(metric.kind));
    if (!metric.unit.empty()) json.member("unit", metric.unit);
    json.key("value");
    write_bits(json, snapshot.value(Figure::from_number(metric.figure), row), metric.format);
    write_origin(json, sources, entry.allocator, metric.figure);
    json.close_object();
  }
  json.close_array();
  write_cpus(json, snapshot, row);
  write_nodes(json, snapshot, row);
  json.close_object();
  return json.take();
}

std::string history_document(const Snapshot& snapshot, const History& history, const ApiRequest& request) {
  const History::Overview overview = history.overview(request.seconds, request.points);
  const std::size_t points = overview.times_ns.size();
  Json json;
  json.open_object();
  write_poll(json, snapshot);
  json.key("times").open_array();
  for (const std::int64_t time_ns : overview.times_ns) json.value(seconds_of(time_ns));
  json.close_array().key("series").open_array();
  std::string name;
  for (std::size_t row = 0; row < snapshot.row_count(); ++row) {
    const Snapshot::Row& entry = snapshot.rows()[row];
    if (entry.number >= overview.failures.size()) continue;
    if (request.allocator && to_string(entry.allocator) != *request.allocator) continue;
    json.open_object();
    write_identity(json, snapshot, row, name);
    json.key("values").open_array();
    for (std::size_t i = 0; i < points; ++i) {
      const std::uint64_t value = overview.amounts[entry.number * points + i];
      if (value == 0) {
        json.null();
      } else {
        json.value(value - 1);
      }
    }
    json.close_array();
    if (snapshot.has(Field::kFailures, row)) json.member("failures", overview.failures[entry.number]);
    if (snapshot.has(TrackedFigure::kLimitHits, row)) json.member("limit_hits", overview.limit_hits[entry.number]);
    json.close_object();
  }
  json.close_array().close_object();
  return json.take();
}

std::string type_history_document(const Snapshot& snapshot, std::size_t row, const History& history) {
  const std::uint32_t number = snapshot.rows()[row].number;
  Json json;
  std::string name;
  json.open_object();
  write_poll(json, snapshot);
  write_identity(json, snapshot, row, name);
  json.member("figure", snapshot.has(Field::kBytes, row) ? "bytes" : "objects");
  const auto write = [&](std::string_view key, HistoryFigure figure, bool changes_only) {
    json.key(key).open_array();
    std::optional<std::uint64_t> before;
    for (const HistoryPoint& point : history.points(number, figure)) {
      if (!changes_only || before != point.value) {
        json.open_array().value(seconds_of(point.time_ns)).value(point.value).close_array();
      }
      before = point.value;
    }
    json.close_array();
  };
  write("points", HistoryFigure::kAmount, false);
  write("failures", HistoryFigure::kFailures, true);
  write("limit_hits", HistoryFigure::kLimitHits, true);
  json.close_object();
  return json.take();
}

std::string sources_document(const Snapshot& snapshot, std::span<const SourceStatus> sources, const SelfMetrics& metrics,
                             const History* history, std::string_view version) {
  Json json;
  json.open_object();
  write_poll(json, snapshot);
  json.key("sources").open_array();
  for (const SourceStatus& status : sources) {
    json.open_object();
    json.member("name", std::string_view(status.name)).member("origin", std::string_view(status.origin));
    json.member("state", to_string(status.state)).member("types", status.types);
    if (!status.error.empty()) json.member("error", std::string_view(status.error));
    if (status.read_seconds > 0) json.member("read_seconds", status.read_seconds).member("read_bytes", status.read_bytes);
    if (const SourceDescriptor* const source = find_source(status.name); source != nullptr) {
      if (source->allocator != Allocator::kUnknown) json.member("allocator", to_string(source->allocator));
      if (!source->notes.empty()) json.member("notes", source->notes);
    }
    json.close_object();
  }
  json.close_array();
  json.key("daemon").open_object().member("version", version);
  if (history != nullptr) json.member("history_bytes", history->is_on() ? history->bytes() : 0);
  json.key("metrics").open_object();
  const std::string page = metrics.text();
  for (std::string_view left = page; !left.empty();) {
    const std::string_view line = left.substr(0, left.find('\n'));
    left.remove_prefix(std::min(left.size(), line.size() + 1));
    const std::size_t blank = line.find(' ');
    if (line.starts_with('#') || line.find('{') != std::string_view::npos || blank == std::string_view::npos) continue;
    if (const auto value = parse_decimal(line.substr(blank + 1))) json.member(line.substr(0, blank), *value);
  }
  json.close_object().close_object().close_object();
  return json.take();
}

std::string memory_document(const Snapshot& snapshot, const HostInfo& host) {
  Json json;
  json.open_object();
  write_poll(json, snapshot);
  json.key("host").open_object();
  const std::pair<std::string_view, std::string_view> texts[] = {
      {"name", host.name}, {"os", host.os}, {"release", host.release}, {"machine", host.machine}, {"replay", host.replay}};
  for (const auto& [key, text] : texts) {
    if (!text.empty()) json.member(key, text);
  }
  if (snapshot.boot_time_ns() != 0) json.member("boot", seconds_of(snapshot.boot_time_ns()));
  json.close_object();
  const auto total = snapshot.samples(kTotalBytes);
  const auto unaccounted = snapshot.samples(kUnaccountedBytes);
  const auto available = snapshot.samples(kAvailableBytes);
  std::uint64_t sum = 0;
  json.key("parts").open_array();
  for (const Snapshot::MachineSample& part : snapshot.samples(kAccountedBytes)) {
    sum += part.bits;
    snapshot.labels_at(part.labels, kAccountedBytes.label_names()).for_each([&](std::string_view, std::string_view name) {
      json.open_object().member("part", std::string_view(unescaped(name))).member("bytes", part.bits).close_object();
    });
  }
  json.close_array();
  if (!total.empty()) {
    json.member("total_bytes", total[0].bits);
    if (!unaccounted.empty()) {
      // As the account was made: total = parts + unaccounted + free.
      const auto rest = static_cast<std::int64_t>(unaccounted[0].bits);
      json.member("unaccounted_bytes", rest);
      json.member("free_bytes", static_cast<std::int64_t>(total[0].bits - sum - static_cast<std::uint64_t>(rest)));
    }
  }
  if (!available.empty()) json.member("available_bytes", available[0].bits);
  if (const auto kills = snapshot.samples(kOomKills); !kills.empty()) json.member("oom_kills", kills[0].bits);
  json.close_object();
  return json.take();
}

}  // namespace memstat
