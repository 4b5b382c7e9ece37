// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/snapshot/evidence_builder.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <iterator>
#include <optional>

#include "core/base/text.h"
#include "core/model/accounts.h"
#include "core/model/kernel_log.h"
#include "daemon/snapshot/growth_report.h"

namespace memstat {
namespace {

/// Types with a smaller share of memory are evidence only if they have a limit or failures.
constexpr double kSmallShare = 5e-4;
/// The time over which to search for growth.
constexpr std::int64_t kGrowthSeconds = 7200;

std::optional<double> figure_of(const Snapshot& snapshot, Figure figure, std::size_t row) {
  if (!snapshot.has(figure, row)) return std::nullopt;
  return static_cast<double>(snapshot.value(figure, row));
}

double value_of(const SystemMetric& metric, std::uint64_t bits) {
  switch (metric.facts.format) {
    case ValueFormat::kDouble: return std::bit_cast<double>(bits);
    case ValueFormat::kSigned: return static_cast<double>(static_cast<std::int64_t>(bits));
    case ValueFormat::kUnsigned: break;
  }
  return static_cast<double>(bits);
}

std::optional<double> first_value(const Snapshot& snapshot, const SystemMetric& metric) {
  const auto samples = snapshot.samples(metric);
  return samples.empty() ? std::nullopt : std::optional(value_of(metric, samples[0].bits));
}

/// Appends the text with label escapes removed. Requires room. The view lives as long as `texts`.
std::string_view keep_text(std::string& texts, std::string_view escaped) {
  const std::size_t begin = texts.size();
  if (escaped.find('\\') == std::string_view::npos) {
    texts.append(escaped);
  } else {
    texts.resize(begin + unescaped_label_size(escaped));
    unescape_label_value(texts.data() + begin, escaped);
  }
  return std::string_view(texts).substr(begin);
}

/// Whether causes examine types of this allocator regardless of size.
bool is_always_evidence(Allocator allocator) {
  constexpr Allocator kAlways[] = {Allocator::kTable, Allocator::kMemcg, Allocator::kSocket, Allocator::kHugetlb,
                                   Allocator::kCma,   Allocator::kZswap, Allocator::kPage};
  return std::find(std::begin(kAlways), std::end(kAlways), allocator) != std::end(kAlways);
}

/// Small slab caches whose objects causes count.
bool is_counted(std::string_view cache) {
  return cache == "net_namespace" || cache == "mqueue_inode_cache" || cache == "eventpoll_epi";
}

}  // namespace

void CounterMemory::begin(std::int64_t now_ns) {
  if (window_ == 0) {
    old_ns_ = middle_ns_ = now_ns;
    window_ = 1;
    now_ns_ = now_ns;
  }
  last_ns_ = now_ns_;
  now_ns_ = now_ns;
  now_tenths_ = static_cast<std::uint32_t>(now_ns / 100'000'000);
  if (now_ns - middle_ns_ < kWindowNs) return;
  old_ns_ = middle_ns_;
  middle_ns_ = now_ns;
  ++window_;
}

Count CounterMemory::change(std::uint64_t number, double value, bool is_counter) {
  if (number >= series_.size()) series_.resize(number + 1 + number / 8);
  Series& series = series_[number];
  if (series.window == 0 || series.window + 1 < window_) {  // new, or absent for longer than the memory reaches
    if (series.window == 0) series.first = value;
    series.old = series.middle = series.last = value;
  } else if (series.window < window_) {
    series.old = series.middle;
    series.middle = value;
  }
  if (series.window == 0 || series.last != value) series.moved = now_tenths_;
  series.window = window_;
  Count count{.total = value,
              .since_start = value - series.first,
              .recent = value - series.old,
              .last = value - series.last,
              .still = (now_tenths_ - series.moved) / 10.0};
  series.last = value;
  if (is_counter && count.recent < 0) {  // reset
    series.first = series.old = series.middle = value;
    count.since_start = count.recent = count.last = 0;
  }
  return count;
}

void CounterMemory::forget(std::uint64_t number) {
  if (number < series_.size()) series_[number] = {};
}

void CounterMemory::shrink() {
  while (!series_.empty() && series_.back().window == 0) series_.pop_back();
  series_.shrink_to_fit();
}

void CounterMemory::keep(std::span<const std::uint32_t> numbers) {
  std::vector<Series> kept;
  kept.reserve(numbers.size());
  for (const std::uint32_t number : numbers) kept.push_back(series_[number]);
  series_ = std::move(kept);
}

void EvidenceBuilder::forget(std::uint32_t number) {
  for (std::uint64_t i = 0; i < kCountsOfType; ++i) types_.forget(number * kCountsOfType + i);
}

void EvidenceBuilder::clear() {
  types_.clear();
  samples_.clear();
  sample_numbers_.clear();
  last_order_.clear();
  polls_ = 0;
}

void EvidenceBuilder::shrink() {
  types_.shrink();
  forget_absent_samples();
  rooms_ = {};
}

std::shared_ptr<const PollEvidence> EvidenceBuilder::current() const {
  const MutexLock lock(mutex_);
  return current_;
}

/// A PollEvidence that no reader holds.
std::shared_ptr<PollEvidence> EvidenceBuilder::free_evidence() {
  for (std::shared_ptr<PollEvidence>& room : rooms_) {
    if (room == nullptr) room = std::make_shared<PollEvidence>();
    if (room.use_count() == 1) return room;
  }
  return std::make_shared<PollEvidence>();
}

std::uint64_t EvidenceBuilder::number_of_sample(std::size_t metric, std::string_view labels) {
  const std::uint64_t hash = std::hash<std::string_view>{}(labels)*0x9e3779b97f4a7c15U + metric;
  const std::size_t at = cursor_++;
  if (at < last_order_.size() && last_order_[at].first == hash) return last_order_[at].second;
  const auto number = sample_numbers_.try_emplace(hash, static_cast<std::uint32_t>(sample_numbers_.size())).first->second;
  if (at >= last_order_.size()) last_order_.resize(at + 1);
  last_order_[at] = {hash, number};
  return number;
}

/// Forgets the samples that the last update did not have.
void EvidenceBuilder::forget_absent_samples() {
  last_order_.resize(std::min(last_order_.size(), cursor_));
  last_order_.shrink_to_fit();
  std::vector<std::uint32_t> kept;
  std::unordered_map<std::uint64_t, std::uint32_t> numbers;
  for (auto& [hash, number] : last_order_) {
    const auto [entry, is_new] = numbers.try_emplace(hash, static_cast<std::uint32_t>(kept.size()));
    if (is_new) kept.push_back(number);
    number = entry->second;
  }
  samples_.keep(kept);
  sample_numbers_ = std::move(numbers);
}

void EvidenceBuilder::add_samples(const Snapshot& snapshot, std::size_t wanted, PollEvidence& out) {
  const std::size_t number = metric_numbers_[wanted];
  const auto samples = snapshot.samples(number);
  if (samples.empty()) return;
  const SystemMetric& metric = *system_metrics()[number];
  const bool is_counter = metric.facts.kind == MetricKind::kCounter;
  for (const Snapshot::MachineSample& sample : samples) {
    MetricEvidence one{.metric = metrics_of_causes()[wanted], .value = value_of(metric, sample.bits)};
    const NamedLabels labels = snapshot.labels_at(sample.labels, metric.label_names());
    std::size_t place = 0;
    labels.for_each([&](std::string_view, std::string_view value) { one.labels[place++] = keep_text(out.texts, value); });
    one.change = samples_.change(number_of_sample(wanted, labels.text), one.value, is_counter);
    out.evidence.metrics.push_back(one);
  }
}

void EvidenceBuilder::add_type(const Snapshot& snapshot, std::size_t row, PollEvidence& out) {
  const Snapshot::Row& entry = snapshot.rows()[row];
  const auto figure = [&](Figure which) { return figure_of(snapshot, which, row); };
  const std::uint64_t number = entry.number * kCountsOfType;
  const auto bytes = figure(Field::kBytes);
  const auto held = figure(Field::kHeldBytes);
  const auto failures = figure(Field::kFailures);
  const auto sleeps = figure(Field::kSleeps);
  // Tracked for all types, so that a type that becomes evidence later has a history.
  const Count failed = failures ? types_.change(number, *failures, true) : Count();
  const Count slept = sleeps ? types_.change(number + 1, *sleeps, true) : Count();
  const Count moved = bytes ? types_.change(number + 2, *bytes, false) : Count();
  const auto entries = entry.allocator == Allocator::kTable ? figure(Field::kCount) : std::nullopt;
  const Count added = entries ? types_.change(number + 3, *entries, false) : Count();
  if (entry.allocator == Allocator::kSlab) out.evidence.slab_held_bytes += held.value_or(bytes.value_or(0));
  const bool is_large = std::max(bytes.value_or(0), held.value_or(0)) >= kSmallShare * out.evidence.total_bytes;
  const bool has_limit = snapshot.has(TrackedFigure::kLimitUsed, row);
  const std::string_view name = entry.labels(snapshot.label_bytes().data()).escaped_type();
  const bool is_evidence = is_always_evidence(entry.allocator) || (entry.allocator == Allocator::kSlab && is_counted(name));
  if (!is_large && !has_limit && failed.total + slept.total <= 0 && !is_evidence) return;
  TypeEvidence type;
  type.allocator = entry.allocator;
  type.bytes = bytes;
  type.held_bytes = held;
  type.name = keep_text(out.texts, name);
  type.objects = figure(Field::kCount);
  type.free_objects = figure(Field::kFree);
  type.object_bytes = figure(Field::kRSize);
  if (!type.object_bytes) type.object_bytes = figure(Field::kSize);
  type.limit_objects = figure(Field::kCountLimit);
  type.limit_bytes = figure(Field::kBytesLimit);
  if (has_limit) type.limit_used = std::bit_cast<double>(snapshot.value(TrackedFigure::kLimitUsed, row));
  type.sleepers = figure(Field::kSleepers).value_or(0);
  type.is_limit_configured = snapshot.has(TrackedFigure::kLimitConfigured, row);
  type.failures = failed;
  type.sleeps = slept;
  type.bytes_change = moved;
  type.objects_change = added;
  out.evidence.types.push_back(type);
}

void EvidenceBuilder::update(const Snapshot& snapshot, const Beside& beside, std::int64_t now_ns) {
  if (metric_numbers_.empty()) {
    for (const std::string_view name : metrics_of_causes()) {
      std::size_t number = 0;
      while (number < system_metrics().size() && system_metrics()[number]->facts.name != name) ++number;
      metric_numbers_.push_back(number);
    }
  }
  const std::shared_ptr<PollEvidence> out = free_evidence();
  Evidence& evidence = out->evidence;
  if (polls_++ == 0) first_ns_ = now_ns;
  types_.begin(now_ns);
  samples_.begin(now_ns);
  evidence.system = beside.system;
  evidence.polls = polls_;
  evidence.watched_seconds = static_cast<double>(now_ns - first_ns_) / 1e9;
  evidence.recent_seconds = samples_.recent_seconds();
  evidence.poll_seconds = samples_.poll_seconds();
  const std::int64_t boot_ns = snapshot.boot_time_ns();
  evidence.uptime_seconds = boot_ns == 0 ? 0 : static_cast<double>(snapshot.realtime_ns - boot_ns) / 1e9;
  evidence.total_bytes = first_value(snapshot, kTotalBytes).value_or(0);
  evidence.available_bytes = first_value(snapshot, kAvailableBytes);
  evidence.slab_held_bytes = 0;
  evidence.types.clear();
  evidence.metrics.clear();
  evidence.growing.assign(beside.growing.begin(), beside.growing.end());
  evidence.growth_polls = 0;
  evidence.sources.assign(beside.sources.begin(), beside.sources.end());
  out->texts.clear();
  std::size_t room = snapshot.label_bytes().size();
  for (const std::size_t number : metric_numbers_) {
    for (const Snapshot::MachineSample& sample : snapshot.samples(number)) room += sample.labels.size;
  }
  out->texts.reserve(room);  // reserve first, so that views into it stay valid
  for (std::size_t row = 0; row < snapshot.row_count(); ++row) add_type(snapshot, row, *out);
  if (beside.is_filtered) evidence.slab_held_bytes = 0;
  cursor_ = 0;
  for (std::size_t wanted = 0; wanted < metric_numbers_.size(); ++wanted) add_samples(snapshot, wanted, *out);
  constexpr std::size_t kMaxForgotten = 4096;  // labels that users choose: control groups come and go
  if (sample_numbers_.size() > 2 * cursor_ + kMaxForgotten) forget_absent_samples();
  const MutexLock lock(mutex_);
  current_ = out;
}

void add_growth(const Snapshot& snapshot, const History& history, Evidence& evidence) {
  evidence.growing.clear();
  if (!history.is_on()) return;
  const GrowthReport report = growth_report(snapshot, history, kGrowthSeconds);
  evidence.growth_polls = report.is_enough() ? report.polls : 0;
  evidence.growth_seconds = report.seconds;
  if (!report.is_enough()) return;
  for (const Growth& row : report.ranking.growing) {
    const GrowthSeries& series = report.series[row.series];
    GrowthEvidence growth{.allocator = series.allocator,
                          .name = series.name,
                          .is_bytes = series.is_bytes,
                          .is_cache = series.is_cache,
                          .now = series.points.back().amount,
                          .gain = row.gain,
                          .per_second = row.per_second,
                          .seconds = series.points.back().seconds - row.test.since,
                          .limit_seconds = seconds_to_limit(report, row),
                          .memory_seconds = seconds_to_exhaustion(report, row)};
    for (const std::size_t other : row.together) {
      growth.together.push_back(report.series[other].allocator + "/" + report.series[other].name);
    }
    evidence.growing.push_back(std::move(growth));
  }
}

namespace {

KillEvidence kill_of(const LoggedEvent& event) {
  KillEvidence kill;
  for (LogField& field : fields_of(event)) {
    const std::uint64_t number = field.is_number ? parse_u64(field.value).value_or(0) : 0;
    if (field.name == "scope") kill.is_of_group = field.value == "group";
    if (field.name == "pid") kill.pid = number;
    if (field.name == "anonymous_bytes") kill.program_bytes = static_cast<double>(number);
    if (field.name == "command") kill.command = make_label_text(field.value);
    if (field.name == "constraint" || field.name == "reason") kill.constraint = make_label_text(field.value);
    if (field.name == "group") kill.limit_group = make_label_text(field.value);
    if (field.name == "victim_group") kill.group = make_label_text(field.value);
  }
  return kill;
}

/// The control group, cache or device that the line is about.
std::string subject_of(const LoggedEvent& event) {
  for (const LogField& field : fields_of(event)) {
    for (const std::string_view name : {"group", "cache", "device", "port", "table"}) {
      if (field.name == name) return make_label_text(field.value);
    }
  }
  return {};
}

}  // namespace

void add_log(const Snapshot& snapshot, Evidence& evidence) {
  evidence.kills.clear();
  evidence.logged.clear();
  const auto table = std::make_unique<LogTable>();
  if (snapshot.kernel_log.empty() || read_log_table(snapshot.kernel_log, *table)) return;
  for (std::size_t i = 0; i < table->size; ++i) {
    const LoggedEvent& event = table->events[i];
    const bool is_timed = evidence.uptime_seconds > 0;
    const double ago = std::max(evidence.uptime_seconds - static_cast<double>(event.time_us) / 1e6, 0.0);
    if (is_timed && (!event.has_time || ago > kLogSeconds)) continue;
    if (event.event == LogEvent::kOomKill) {
      evidence.kills.push_back(kill_of(event));
      if (is_timed) evidence.kills.back().seconds_ago = ago;
    }
    if (!is_timed) continue;
    std::erase_if(evidence.logged, [&](const LoggedEvidence& one) { return one.event == to_string(event.event); });
    evidence.logged.push_back({.event = to_string(event.event), .seconds_ago = ago, .subject = subject_of(event)});
  }
}

namespace {

void write_finding(JsonWriter& json, const Finding& finding) {
  json.open_object();
  json.field("cause", finding.cause).field("severity", to_string(finding.severity));
  json.field("certainty", to_string(finding.certainty)).field("confidence", confidence_of(finding.certainty));
  json.field("headline", finding.headline).open_list("about");
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
}

}  // namespace memstat
