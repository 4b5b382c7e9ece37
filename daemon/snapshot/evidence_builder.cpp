// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/snapshot/evidence_builder.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <iterator>
#include <optional>
#include <utility>

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

double value_of(ValueFormat format, std::uint64_t bits) {
  switch (format) {
    case ValueFormat::kDouble: return std::bit_cast<double>(bits);
    case ValueFormat::kSigned: return static_cast<double>(static_cast<std::int64_t>(bits));
    case ValueFormat::kUnsigned: break;
  }
  return static_cast<double>(bits);
}

std::optional<double> first_value(const Snapshot& snapshot, const SystemMetric& metric) {
  const auto samples = snapshot.samples(metric);
  return samples.empty() ? std::nullopt : std::optional(value_of(metric.facts.format, samples[0].bits));
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
                                   Allocator::kCma,   Allocator::kZswap, Allocator::kPage,   Allocator::kJail};
  return std::find(std::begin(kAlways), std::end(kAlways), allocator) != std::end(kAlways);
}

/// The cache of caches, which every kernel has and lists last.
constexpr std::string_view kLastCache = "kmem_cache";

/// Small slab caches whose objects causes count, or whose presence matters.
bool is_counted(std::string_view cache) {
  return cache == "net_namespace" || cache == "mqueue_inode_cache" || cache == "eventpoll_epi" || cache == kLastCache;
}

/// lxcfs shows a container's total beside the zones of the host, which are as large as the total on a machine.
bool contradicts_zones(const Evidence& evidence) {
  constexpr double kMargin = 1.1;
  double managed = 0;
  for (const TypeEvidence& type : evidence.types) {
    if (type.allocator == Allocator::kPage) managed += type.held_bytes.value_or(0);
  }
  return evidence.total_bytes > 0 && managed > kMargin * evidence.total_bytes;
}

PartialView view_of(const Evidence& evidence) {
  PartialView view;
  for (const MetricEvidence& one : evidence.samples("memstat_partial_view")) view.add(one.labels[0]);
  if (evidence.system == EvidenceSystem::kLinux && contradicts_zones(evidence)) view.add(ViewReason::kLxcfs);
  return view;
}

}  // namespace

void CounterMemory::begin(std::int64_t now_ns) {
  if (window_ == 0) {
    old_ns_ = middle_ns_ = now_ns;
    window_ = 1;
    now_ns_ = now_ns;
  }
  ++poll_;
  last_ns_ = now_ns_;
  now_ns_ = now_ns;
  now_tenths_ = static_cast<std::uint32_t>(now_ns / 100'000'000);
  if (now_ns - middle_ns_ < kWindowNs) return;
  old_ns_ = middle_ns_;
  middle_ns_ = now_ns;
  ++window_;
}

void CounterMemory::resize(std::size_t size) {
  series_.resize(size);
  last_.resize(size);
  windows_.resize(size);
}

void CounterMemory::update(std::uint64_t number, double value, bool is_counter) {
  if (number >= windows_.size()) resize(number + 1 + number / 8);
  double& last = last_[number];
  std::uint32_t& window = windows_[number];
  if (window == window_ && last == value) return;
  Series& series = series_[number];
  const bool is_new = window == 0;
  if (is_new || window + 1 < window_) {  // new, or absent for longer than the memory reaches
    if (is_new) series.first = value;
    series.old = series.middle = last = value;
    series.high = series.high_before = 0;
  } else if (window < window_) {
    series.old = series.middle;
    series.middle = value;
    series.high_before = series.high;
    series.high = static_cast<float>(last);
  }
  series.high = std::max(series.high, static_cast<float>(value));
  if (is_new || last != value) series.moved = now_tenths_;
  window = window_;
  series.before = std::exchange(last, value);
  series.poll = poll_;
  if (is_counter && value < series.old) series.first = series.old = series.middle = series.before = value;  // reset
}

Count CounterMemory::count(std::uint64_t number) const {
  const double value = last_[number];
  const Series& series = series_[number];
  return {.total = value,
          .since_start = value - series.first,
          .recent = value - series.old,
          .last = series.poll == poll_ ? value - series.before : 0,
          .still = (now_tenths_ - series.moved) / 10.0,
          .highest = std::max({value, static_cast<double>(series.high), static_cast<double>(series.high_before)})};
}

void CounterMemory::forget(std::uint64_t number) {
  if (number < windows_.size()) windows_[number] = 0;
}

void CounterMemory::shrink() {
  std::size_t size = windows_.size();
  while (size != 0 && windows_[size - 1] == 0) --size;
  resize(size);
  series_.shrink_to_fit();
  last_.shrink_to_fit();
  windows_.shrink_to_fit();
}

void CounterMemory::keep(std::span<const std::uint32_t> numbers) {
  CounterMemory kept;
  for (const std::uint32_t number : numbers) {
    kept.series_.push_back(series_[number]);
    kept.last_.push_back(last_[number]);
    kept.windows_.push_back(windows_[number]);
  }
  series_ = std::move(kept.series_);
  last_ = std::move(kept.last_);
  windows_ = std::move(kept.windows_);
}

void EvidenceBuilder::forget(std::uint32_t number) {
  const MutexLock lock(mutex_);
  for (CounterMemory& memory : types_) memory.forget(number);
}

void EvidenceBuilder::clear() {
  const MutexLock lock(mutex_);
  for (CounterMemory& memory : types_) memory.clear();
  samples_.clear();
  sample_numbers_.clear();
  numbers_.clear();
  shapes_.clear();
  polls_ = 0;
}

void EvidenceBuilder::shrink() {
  const MutexLock lock(mutex_);
  for (CounterMemory& memory : types_) memory.shrink();
  forget_absent_samples();
  has_peak_capacity_ = true;
}

std::shared_ptr<const PollEvidence> EvidenceBuilder::current() const {
  const MutexLock lock(mutex_);
  return current_;
}

void EvidenceBuilder::find_metrics() {
  for (std::uint32_t name = 0; name < metrics_of_causes().size(); ++name) {
    for (std::uint32_t number = 0; number < system_metrics().size(); ++number) {
      const MetricFacts& facts = system_metrics()[number]->facts;
      if (facts.name != metrics_of_causes()[name]) continue;
      wanted_.push_back(
          {.name = name, .number = number, .is_counter = facts.kind == MetricKind::kCounter, .format = facts.format});
    }
  }
}

/// Numbers the samples of causes, in the order of `wanted_`.
void EvidenceBuilder::number_samples(const Snapshot& snapshot) {
  shapes_.clear();  // set last, because memory may run out before
  numbers_.clear();
  for (const Wanted& metric : wanted_) {
    const auto names = system_metrics()[metric.number]->label_names();
    for (const Snapshot::MachineSample& sample : snapshot.samples(metric.number)) {
      const std::string_view labels = snapshot.labels_at(sample.labels, names).text;
      const std::uint64_t hash = std::hash<std::string_view>{}(labels)*0x9e3779b97f4a7c15U + metric.name;
      numbers_.push_back(
          sample_numbers_.try_emplace(hash, static_cast<std::uint32_t>(sample_numbers_.size())).first->second);
    }
  }
  ++shape_;
  shapes_.assign(snapshot.shapes().begin(), snapshot.shapes().end());
  constexpr std::size_t kMaxForgotten = 4096;  // labels that users choose: control groups come and go
  if (sample_numbers_.size() > 2 * numbers_.size() + kMaxForgotten) forget_absent_samples();
}

/// Forgets the samples that the last update did not have.
void EvidenceBuilder::forget_absent_samples() {
  std::vector<std::uint32_t> kept;
  std::unordered_map<std::uint32_t, std::uint32_t> places;
  for (std::uint32_t& number : numbers_) {
    const auto [place, is_new] = places.try_emplace(number, static_cast<std::uint32_t>(kept.size()));
    if (is_new) kept.push_back(number);
    number = place->second;
  }
  samples_.keep(kept);
  std::unordered_map<std::uint64_t, std::uint32_t> numbers;
  for (const auto& [hash, number] : sample_numbers_) {
    if (const auto place = places.find(number); place != places.end()) numbers.emplace(hash, place->second);
  }
  sample_numbers_ = std::move(numbers);
  numbers_.shrink_to_fit();
}

/// Of all types, so that a type that becomes evidence later has a history.
void EvidenceBuilder::update_types(const Snapshot& snapshot) {
  for (std::size_t row = 0; row < snapshot.row_count(); ++row) {
    const Snapshot::Row& entry = snapshot.rows()[row];
    const auto update = [&](CountOfType which, Field field, bool is_counter) MEMSTAT_REQUIRES(mutex_) {
      if (const auto value = figure_of(snapshot, field, row)) types_[which].update(entry.number, *value, is_counter);
    };
    update(kFailed, Field::kFailures, true);
    update(kSlept, Field::kSleeps, true);
    update(kMoved, Field::kBytes, false);
    if (entry.allocator == Allocator::kTable) update(kAdded, Field::kCount, false);
  }
}

void EvidenceBuilder::update(const Snapshot& snapshot, const EvidenceInput& beside, std::int64_t now_ns) {
  if (wanted_.empty()) find_metrics();
  const MutexLock lock(mutex_);
  if (polls_++ == 0) first_ns_ = now_ns;
  for (CounterMemory& memory : types_) memory.begin(now_ns);
  samples_.begin(now_ns);
  update_types(snapshot);
  const bool is_same = std::equal(shapes_.begin(), shapes_.end(), snapshot.shapes().begin(), snapshot.shapes().end());
  if (!is_same) number_samples(snapshot);
  auto number = numbers_.begin();
  for (const Wanted& metric : wanted_) {
    for (const Snapshot::MachineSample& sample : snapshot.samples(metric.number))
      samples_.update(*number++, value_of(metric.format, sample.bits), metric.is_counter);
  }
  beside_.system = beside.system;
  beside_.page_bytes = beside.page_bytes;
  beside_.polls = polls_;
  beside_.watched_seconds = static_cast<double>(now_ns - first_ns_) / 1e9;
  beside_.recent_seconds = samples_.recent_seconds();
  beside_.poll_seconds = samples_.poll_seconds();
  if (beside.growth != nullptr) {
    beside_.growing.assign(beside.growth->growing.begin(), beside.growth->growing.end());
    beside_.growth_polls = beside.growth->growth_polls;
    beside_.growth_seconds = beside.growth->growth_seconds;
  }
  beside_.holders.assign(beside.holders.begin(), beside.holders.end());
  beside_.limits = beside.limits;
  beside_.why_unasked = beside.why_unasked;
  beside_.sources.assign(beside.sources.begin(), beside.sources.end());
  is_filtered_ = beside.is_filtered;
  // A reader may have the evidence of the poll before. Without memory for the new one there is none.
  const bool is_reused = !std::exchange(has_peak_capacity_, false) && current_.use_count() == 1;
  std::shared_ptr<PollEvidence> built = std::move(current_);
  if (!is_reused) built = std::make_shared<PollEvidence>();
  build(snapshot, *built);
  if (beside.complete) beside.complete(built->evidence);
  current_ = std::move(built);
}

/// Names the samples, with their labels.
void EvidenceBuilder::name_samples(const Snapshot& snapshot, PollEvidence& out) const {
  std::vector<MetricEvidence>& metrics = out.evidence.metrics;
  out.shape = 0;  // set last, because memory may run out before
  metrics.clear();
  out.labels.clear();
  std::size_t room = 0;
  for (const Wanted& wanted : wanted_) {
    for (const Snapshot::MachineSample& sample : snapshot.samples(wanted.number)) room += sample.labels.size;
  }
  out.labels.reserve(room);  // reserve first, so that views into it stay valid
  for (const Wanted& wanted : wanted_) {
    const auto names = system_metrics()[wanted.number]->label_names();
    for (const Snapshot::MachineSample& sample : snapshot.samples(wanted.number)) {
      MetricEvidence& one = metrics.emplace_back(MetricEvidence{.metric = metrics_of_causes()[wanted.name]});
      std::size_t place = 0;
      snapshot.labels_at(sample.labels, names).for_each([&](std::string_view, std::string_view value) {
        one.labels[place++] = keep_text(out.labels, value);
      });
    }
  }
  out.evidence.index.make(metrics);
  out.shape = shape_;
}

void EvidenceBuilder::add_samples(const Snapshot& snapshot, PollEvidence& out) const {
  if (out.shape != shape_) name_samples(snapshot, out);
  auto number = numbers_.begin();
  auto one = out.evidence.metrics.begin();
  for (const Wanted& wanted : wanted_) {
    for (const Snapshot::MachineSample& sample : snapshot.samples(wanted.number)) {
      one->value = value_of(wanted.format, sample.bits);
      one->change = samples_.count(*number++);
      ++one;
    }
  }
}

void EvidenceBuilder::add_type(const Snapshot& snapshot, std::size_t row, PollEvidence& out) const {
  const Snapshot::Row& entry = snapshot.rows()[row];
  const auto figure = [&](Figure which) { return figure_of(snapshot, which, row); };
  const auto count = [&](CountOfType which, bool has_count)
                         MEMSTAT_REQUIRES(mutex_) { return has_count ? types_[which].count(entry.number) : Count(); };
  const std::optional<double> used = figure(Field::kBytes);
  const std::optional<double> held = figure(Field::kHeldBytes);
  if (entry.allocator == Allocator::kSlab) out.evidence.slab_held_bytes += held.value_or(used.value_or(0));
  const bool is_large = std::max(used.value_or(0), held.value_or(0)) >= kSmallShare * out.evidence.total_bytes;
  const bool has_limit = snapshot.has(TrackedFigure::kLimitUsed, row);
  const std::string_view name = entry.labels(snapshot.label_bytes().data()).escaped_type();
  const auto is_refused = [&] { return figure(Field::kFailures).value_or(0) + figure(Field::kSleeps).value_or(0) > 0; };
  // Of most types, nothing more is needed.
  if (!is_large && !has_limit && !is_always_evidence(entry.allocator) && !is_refused() &&
      !(entry.allocator == Allocator::kSlab && is_counted(name)))
    return;
  TypeEvidence& type = out.evidence.types.emplace_back();
  type.allocator = entry.allocator;
  type.name = keep_text(out.names, name);
  type.bytes = used;
  type.held_bytes = held;
  type.objects = figure(Field::kCount);
  type.failures = count(kFailed, snapshot.has(Field::kFailures, row));
  type.sleeps = count(kSlept, snapshot.has(Field::kSleeps, row));
  type.bytes_change = count(kMoved, type.bytes.has_value());
  type.objects_change = count(kAdded, entry.allocator == Allocator::kTable && type.objects);
  type.free_objects = figure(Field::kFree);
  type.object_bytes = figure(Field::kRSize);
  if (!type.object_bytes) type.object_bytes = figure(Field::kSize);
  type.limit_objects = figure(Field::kCountLimit);
  type.limit_bytes = figure(Field::kBytesLimit);
  if (has_limit) type.limit_used = std::bit_cast<double>(snapshot.value(TrackedFigure::kLimitUsed, row));
  type.sleepers = figure(Field::kSleepers).value_or(0);
  type.is_limit_configured = snapshot.has(TrackedFigure::kLimitConfigured, row);
}

void EvidenceBuilder::build(const Snapshot& snapshot, PollEvidence& out) {
  Evidence& evidence = out.evidence;
  {
    std::vector<MetricEvidence> metrics = std::move(evidence.metrics);
    MetricIndex index = std::move(evidence.index);
    evidence = beside_;
    evidence.metrics = std::move(metrics);
    evidence.index = std::move(index);
  }
  const std::int64_t boot_ns = snapshot.boot_time_ns();
  evidence.uptime_seconds = boot_ns == 0 ? 0 : static_cast<double>(snapshot.realtime_ns - boot_ns) / 1e9;
  evidence.total_bytes = first_value(snapshot, kTotalBytes).value_or(0);
  evidence.available_bytes = first_value(snapshot, kAvailableBytes);
  out.names.clear();
  out.names.reserve(snapshot.label_bytes().size());  // reserve first, so that views into it stay valid
  for (std::size_t row = 0; row < snapshot.row_count(); ++row) add_type(snapshot, row, out);
  // People paste a few rows of slabinfo.
  if (is_filtered_ || evidence.type(Allocator::kSlab, kLastCache) == nullptr) evidence.slab_held_bytes = 0;
  add_samples(snapshot, out);
  evidence.view = view_of(evidence);
  add_logs(snapshot, evidence);
  if (!evidence.view.lacks(ViewPart::kMemory)) return;
  evidence.total_bytes = 0;  // of a container, so that nothing is a share of it
  evidence.available_bytes.reset();
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
                          .all_now = row.now,
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

/// Adds a field about the score, the nodes or the other processes.
void add_decision(const LogField& field, double number, double page_bytes, KillEvidence& kill, TaskEvidence& other) {
  const auto adjustment = [&] { return static_cast<double>(parse_i64(field.value).value_or(0)); };
  if (field.name == "score") kill.score = number;
  if (field.name == "oom_score_adj") kill.oom_score_adj = adjustment();
  if (field.name == "chosen") kill.had_asked = true;
  constexpr std::uint64_t kMaxOrder = 20;  // more than any kernel has
  if (const auto order = field.name == "order" ? parse_u64(field.value) : std::nullopt; order && *order <= kMaxOrder)
    kill.piece_bytes = *order == 0 ? 0 : page_bytes * static_cast<double>(1ULL << *order);
  if (field.name == "gfp_mask") kill.is_of_fault = field.value == "0x0";
  if (field.name == "cpuset") kill.cpuset = make_label_text(field.value);
  if (field.name == "allowed_nodes" && kill.nodes.empty()) kill.nodes = field.value;
  if (field.name == "policy_nodes") kill.nodes = make_label_text(field.value);
  if (field.name == "other_pid") other.pid = parse_u64(field.value).value_or(0);
  if (field.name == "other_command") other.command = make_label_text(field.value);
  if (field.name == "other_resident_pages") other.resident_bytes = number * page_bytes;
  if (field.name == "other_swap_pages") other.swap_bytes = number * page_bytes;
  if (field.name == "other_oom_score_adj") other.oom_score_adj = adjustment();
}

KillEvidence kill_of(const LoggedEvent& event, double page_bytes) {
  KillEvidence kill;
  TaskEvidence other;
  for (LogField& field : fields_of(event)) {
    const std::uint64_t number = field.is_number ? parse_u64(field.value).value_or(0) : 0;
    if (field.name == "scope") kill.is_of_group = field.value == "group";
    if (field.name == "pid") kill.pid = number;
    if (field.name == "anonymous_bytes") kill.program_bytes = static_cast<double>(number);
    if (field.name == "shared_bytes") kill.shared_bytes = static_cast<double>(number);
    if (field.name == "command") kill.command = make_label_text(field.value);
    if (field.name == "constraint" || field.name == "reason") kill.constraint = make_label_text(field.value);
    if (field.name == "group") kill.limit_group = make_label_text(field.value);
    if (field.name == "victim_group") kill.group = make_label_text(field.value);
    if (field.name == "requested_by") kill.requested_by = make_label_text(field.value);
    if (field.name == "gfp") kill.gfp = make_label_text(field.value);
    if (field.name == "order") kill.is_requested = field.value == "-1";
    if (field.name == "group_limit_bytes") kill.limit_bytes = static_cast<double>(number);
    add_decision(field, static_cast<double>(number), page_bytes, kill, other);
  }
  if (other.pid != 0) kill.other = std::move(other);
  return kill;
}

ProgramKillEvidence program_kill_of(const LoggedEvent& event) {
  ProgramKillEvidence kill;
  for (const LogField& field : fields_of(event)) {
    const std::uint64_t number = field.is_number ? parse_u64(field.value).value_or(0) : 0;
    if (field.name == "program") kill.program = make_label_text(field.value);
    if (field.name == "command") kill.command = make_label_text(field.value);
    if (field.name == "group") kill.group = make_label_text(field.value);
    if (field.name == "pod") kill.pod = make_label_text(field.value);
    if (field.name == "reason") kill.reason = make_label_text(field.value);
    if (field.name == "pid") kill.pid = number;
    if (field.name == "processes") kill.processes = static_cast<double>(number);
    if (field.name == "bytes") kill.bytes = static_cast<double>(number);
  }
  return kill;
}

/// The control group, cache or device that the line is about.
std::string subject_of(const std::vector<LogField>& fields) {
  for (const LogField& field : fields) {
    for (const std::string_view name :
         {"group", "cache", "device", "port", "table", "zone", "waiter", "socket", "command"}) {
      if (field.name == name) return make_label_text(field.value);
    }
  }
  return {};
}

}  // namespace

/// Adds the events of the logs that the snapshot has, which are parsed again only when they changed.
void EvidenceBuilder::add_logs(const Snapshot& snapshot, Evidence& evidence) {
  const bool is_timed = evidence.uptime_seconds > 0;
  if (snapshot.logs != parsed_logs_.texts || is_timed != parsed_logs_.is_timed)
    parse_logs(snapshot, is_timed, evidence.page_bytes);
  evidence.kills = parsed_logs_.kills;
  evidence.program_kills = parsed_logs_.program_kills;
  evidence.logged = parsed_logs_.logged;
  const auto ago = [&](double seconds) { return std::max(evidence.uptime_seconds - seconds, 0.0); };
  for (KillEvidence& kill : evidence.kills) {
    if (kill.seconds_ago) kill.seconds_ago = ago(*kill.seconds_ago);
  }
  for (ProgramKillEvidence& kill : evidence.program_kills) {
    if (kill.seconds_ago) kill.seconds_ago = ago(*kill.seconds_ago);
  }
  for (LoggedEvidence& line : evidence.logged) {
    if (line.has_time) line.seconds_ago = ago(line.seconds_ago);
  }
}

void EvidenceBuilder::parse_logs(const Snapshot& snapshot, bool is_timed, double page_bytes) {
  parsed_logs_ = ParsedLogs();
  for (const std::string& log : snapshot.logs) {
    if (log.empty()) continue;
    if (log_ == nullptr) log_ = std::make_unique<LogTable>();
    if (read_log_table(log, *log_)) continue;
    for (std::size_t i = 0; i < log_->size; ++i) add_event(log_->events[i], is_timed, page_bytes);
  }
  parsed_logs_.is_timed = is_timed;
  parsed_logs_.texts = snapshot.logs;  // last, because memory may run out before
}

void EvidenceBuilder::add_event(const LoggedEvent& event, bool is_timed, double page_bytes) {
  const double at = static_cast<double>(event.time_us) / 1e6;
  if (event.event == LogEvent::kProgramKill) {
    parsed_logs_.program_kills.push_back(program_kill_of(event));
    if (is_timed) parsed_logs_.program_kills.back().seconds_ago = at;
    return;
  }
  if (event.event == LogEvent::kOomKill && (!is_timed || event.has_time)) {
    parsed_logs_.kills.push_back(kill_of(event, page_bytes));
    if (is_timed) parsed_logs_.kills.back().seconds_ago = at;
  }
  const bool has_time = is_timed && event.has_time;
  const std::vector<LogField> fields = fields_of(event);
  const bool is_of_group = std::any_of(
      fields.begin(), fields.end(), [](const LogField& field) { return field.name == "scope" && field.value == "group"; });
  std::erase_if(parsed_logs_.logged, [&](const LoggedEvidence& one) { return one.event == to_string(event.event); });
  parsed_logs_.logged.push_back({.event = to_string(event.event),
                                 .seconds_ago = has_time ? at : 0,
                                 .subject = subject_of(fields),
                                 .line = make_label_text(event.text),
                                 .has_time = has_time,
                                 .is_of_group = is_of_group});
}

}  // namespace memstat
