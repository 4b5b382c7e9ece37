// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/poll/poller.h"

#include <algorithm>
#include <cerrno>
#include <exception>
#include <optional>
#include <utility>

#include "core/base/mutex.h"
#include "core/kernel/boot_time.h"
#include "core/kernel/merged_slabs.h"
#include "core/model/accounts.h"
#include "core/model/page_metrics.h"
#include "daemon/poll/source_settings.h"
#include "daemon/snapshot/growth_report.h"

namespace memstat {

/// Retry interval for sources that this kernel lacks or does not permit: a module may be loaded, a pool of huge pages
/// created, a sysctl set.
constexpr std::chrono::nanoseconds kAbsentInterval = std::chrono::seconds(60);

/// The clocks are not read at the same instant, so their difference varies slightly.
constexpr std::chrono::nanoseconds kClockJitter = std::chrono::milliseconds(1);

/// The result of reading a source in this poll.
struct Poller::Outcome {
  enum class Kind : std::uint8_t { kNone, kSucceeded, kFailed, kAbsent, kNotPermitted };
  Kind kind = Kind::kNone;
  SourceReport report = {};
  ErrorCode code = ErrorCode::kUndefined;  // error code of a failure
};

struct Poller::Entry {
  Entry(const SourceDescriptor& source, std::size_t place)
      : descriptor(&source), index(place), reader(std::make_shared<SourceReader>(source)) {
    status.name = source.name;
    status.origin = source.origin;
  }

  [[nodiscard]] bool is_off() const { return memstat::is_off(*descriptor, config); }
  [[nodiscard]] bool is_ordered() const { return read != kNoRead; }
  /// Its reading interval; 0: at every poll.
  [[nodiscard]] std::chrono::nanoseconds interval() const { return config.interval.value_or(descriptor->interval); }

  /// Whether the source that replaces this one is up. It was committed earlier in this poll.
  [[nodiscard]] bool is_replaced() const { return replacement != nullptr && replacement->status.state == SourceState::kUp; }

  /// Whether `error` is a missing privilege that the source never had. With `enabled: on` it is a failure instead.
  [[nodiscard]] bool is_refusal(const Error& error) const {
    const bool was_open_refused = !open_failure || *open_failure == ErrorCode::kPermission;
    return error.code == ErrorCode::kPermission && !descriptor->needs.empty() && config.enabled == Switch::kAuto &&
           !was_up && was_open_refused;
  }
  /// Whether another source has figures of the same types, so that this one may not be needed.
  [[nodiscard]] bool has_giver() const { return giver != nullptr && giver->is_promising(); }
  /// Whether this source reported at its last read that the other one has everything.
  [[nodiscard]] bool is_needless() const {
    return status.state == SourceState::kReplaced && has_giver() && !has_fresh_options;
  }
  /// Whether it is up, or opened but not read yet.
  [[nodiscard]] bool is_promising() const {
    return status.state == SourceState::kUp || (status.state == SourceState::kUnknown && is_open && refusal.empty());
  }
  /// Whether no types are lost without it: it only adds values, or the roster that it replaces has them.
  [[nodiscard]] bool is_optional() const {
    return !descriptor->is_roster && (replaced == nullptr || replaced->is_promising());
  }

  const SourceDescriptor* descriptor;
  const Entry* replacement = nullptr;    // the source that replaces this one
  const Entry* replaced = nullptr;       // the roster that this one replaces
  const Entry* giver = nullptr;          // the source that replaces the roster of these types, and may provide its figures
  const std::size_t index;               // in the entries and in the published statuses
  std::shared_ptr<SourceReader> reader;  // shared with a read that may hang in it
  SourceConfig config;
  static constexpr std::size_t kNoRead = ~std::size_t{0};
  std::size_t read = kNoRead;  // index in this poll's reads
  std::int64_t next_due_ns = INT64_MIN;
  std::int64_t last_read_ns = INT64_MIN;         // successful reads only
  Outcome outcome;                               // not yet reported to the metrics
  bool was_up = false;                           // its absence is then a failure
  bool is_open = false;                          // opening succeeded
  std::string refusal;                           // the error if is_refusal(); "" if none
  std::optional<ErrorCode> open_failure;         // the error of open(), which reads still return
  bool was_absent_at_start = false;              // failing to find it later, without privileges, is then not a failure
  std::vector<SourceOptionValue> fresh_options;  // set on the reader once no read is running
  bool has_fresh_options = false;
  SourceStatus status;  // private copy; publish() makes it visible
};

Poller::Poller(std::shared_ptr<KernelView> view, const Clock& clock, SelfMetrics& metrics, SnapshotPool& pool,
               const Config& config, Options options)
    : view_(std::make_shared<OncePerPollView>(std::move(view), options.everything || options.unlimited
                                                                   ? OncePerPollView::Reads::kEverything
                                                                   : OncePerPollView::Reads::kWhatMayHaveChanged)),
      clock_(clock),
      metrics_(metrics),
      pool_(pool),
      options_(std::move(options)),
      reader_(view_),
      holders_(options_.holders, view_->os(), options_.why_no_holders) {
  for (const SourceDescriptor* source : in_reading_order(options_.sources)) {
    if (source->os != view_->os()) continue;
    auto entry = std::make_unique<Entry>(*source, entries_.size());
    for (const std::unique_ptr<Entry>& before : entries_) {
      const std::string_view replaced = before->descriptor->replaces;
      if (replaced.empty() || before->descriptor->allocator != source->allocator) continue;
      if (!source->is_roster && source->replaces.empty()) entry->giver = before.get();
      if (replaced != source->name) continue;
      entry->replacement = before.get();
      before->replaced = entry.get();
    }
    entries_.push_back(std::move(entry));
  }
  for (const std::unique_ptr<Entry>& entry : entries_) {
    statuses_.push_back(entry->status);
    readers_.push_back(entry->reader.get());
  }
  config_ = config;
  forget_everything();
  configure(config);
}

Poller::~Poller() = default;

void Poller::forget_everything() {
  list_ = std::make_unique<MemoryTypeList>();
  tracker_ = std::make_unique<DeltaTracker>(tracker_options());
  builder_ = std::make_unique<SnapshotBuilder>();
  history_.clear();
  evidence_.clear();
  growth_ = {};
  findings_.clear();
  active_.clear();
  holders_.clear();
  for (const std::unique_ptr<Entry>& entry : entries_) {
    entry->next_due_ns = entry->last_read_ns = INT64_MIN;  // a replay's time restarts, too
    entry->was_up = false;
    if (entry->status.state == SourceState::kUp) entry->reader->staging.statistics().clear();
  }
}

DeltaTracker::Options Poller::tracker_options() const {
  const auto any_matches = [](const std::vector<NamePattern>& patterns, std::string_view text) {
    return patterns.empty() ||
           std::any_of(patterns.begin(), patterns.end(), [&](const NamePattern& p) { return p.matches(text); });
  };
  DeltaTracker::Options options;
  options.growth_window_ns = config_.growth_window.count();
  options.limit_of = [limits = config_.limits](const MemoryType& type) {
    for (const LimitConfig& limit : limits) {
      if (limit.allocator.matches(to_string(type.allocator())) && limit.type.matches(type.name())) {
        return ConfiguredLimit{.objects = limit.objects.value_or(0), .bytes = limit.bytes.value_or(0)};
      }
    }
    return ConfiguredLimit{};
  };
  options.is_filtered = [filters = config_.filters](const MemoryType& type) {
    return !filters.admit(to_string(type.allocator()), type.name());
  };
  options.wants_cpus = [per_cpu = config_.per_cpu, all = options_.everything, any_matches,
                        filters = config_.filters](const MemoryType& type) {
    if (!filters.admit(to_string(type.allocator()), type.name())) return false;
    if (all) return true;
    if (per_cpu.allocators.empty() && per_cpu.types.empty()) return false;
    return any_matches(per_cpu.allocators, to_string(type.allocator())) && any_matches(per_cpu.types, type.name());
  };
  return options;
}

void Poller::configure(const Config& config) {
  config_ = config;
  tracker_->reconfigure(tracker_options());
  // A single page needs no history.
  history_.configure(options_.everything && options_.renders ? 0 : config_.history_bytes);
  metrics_.poll_interval(std::chrono::duration<double>(config_.poll.interval).count());
  const bool is_limited = !options_.everything && !options_.unlimited;
  Selection::Options bounds;
  if (is_limited) bounds = {.min_bytes = config_.min_bytes, .series_limit = config_.series_limit};
  for (const std::unique_ptr<Entry>& entry : entries_) {
    entry->config = config_of(*entry->descriptor, config_);
    if (options_.is_replay) entry->config.is_on_by_mode = entry->descriptor->is_traced;
    entry->fresh_options = option_values(*entry->descriptor, entry->config, config_);
    entry->has_fresh_options = true;
    entry->next_due_ns = INT64_MIN;
    if (is_limited && entry->descriptor->is_roster) {
      bounds.allocators[static_cast<std::size_t>(entry->descriptor->allocator)] = {
          .top = option_number(*entry->descriptor, entry->config, "top", 0),
          .min_bytes = option_number(*entry->descriptor, entry->config, "min_bytes", 0)};
    }
    if (entry->is_off()) {
      entry->refusal.clear();
      metrics_.source_absent(entry->descriptor->name);
      set_state(*entry, SourceState::kOff, "");
    } else if (entry->status.state == SourceState::kOff) {
      set_state(*entry, SourceState::kUnknown, "");
    }
  }
  selection_.configure(bounds);
}

void Poller::open_sources() {
  metrics_.kernel_opened(to_string(view_->os()), view_->os_release());
  keep_boot_time(*view_);
  note_boot_time();
  merged_slabs_ = std::make_shared<const MergedSlabs>(MergedSlabs::read(*view_));
  for (const std::unique_ptr<Entry>& entry : entries_) {
    if (entry->is_off()) continue;
    prepare(*entry);
    const Result<void> opened = open_source(*entry->reader, *view_);
    entry->is_open = opened.has_value();
    if (opened && options_.reads_when_opened) (void)read_source(*entry->reader, *view_);  // a poll reports errors
    // Record the reason now: after the privilege drop, later polls see only EACCES.
    entry->was_absent_at_start = !opened && opened.error().code == ErrorCode::kNotPresent;
    if (entry->was_absent_at_start && entry->has_giver()) {
      set_needless(*entry);
    } else if (entry->was_absent_at_start && entry->config.enabled == Switch::kAuto) {
      set_state(*entry, SourceState::kAbsent, to_string(opened.error()));
    }
    // Set the state, so that the first poll does not log it again.
    if (opened || entry->was_absent_at_start) continue;
    entry->open_failure = opened.error().code;
    if (entry->is_refusal(opened.error())) {
      entry->refusal = to_string(opened.error());
    } else {
      set_state(*entry, SourceState::kDown, to_string(opened.error()));
    }
  }
  for (const std::unique_ptr<Entry>& entry : entries_) classify_refusal(*entry, INT64_MIN);
}

// The kernel derives the boot time from its clock, so it changes when the clock is set.
void Poller::note_boot_time() {
  const std::int64_t offset_ns = clock_.realtime_ns() - clock_.monotonic_ns();
  const bool is_set = std::chrono::abs(std::chrono::nanoseconds(offset_ns - clock_offset_ns_)) > kClockJitter;
  if (!is_set && !options_.is_replay && !view_->wants_whole_polls()) return;
  clock_offset_ns_ = offset_ns;
  const std::int64_t boot_ns = boot_time_ns(*view_);
  if (boot_ns == 0 || boot_ns == boot_time_ns_) return;
  boot_time_ns_ = boot_ns;
  metrics_.boot_time(static_cast<double>(boot_ns) / 1e9);
}

void Poller::prepare(Entry& entry) {
  if (reader_.is_busy(*entry.reader)) return;
  ReaderState& state = *entry.reader->state;
  const bool has_giver = entry.has_giver();
  state.given_fields = has_giver ? entry.giver->descriptor->fields : FieldMask();
  state.given_node_fields = has_giver ? entry.giver->descriptor->node_fields : NodeFieldMask();
  if (!entry.has_fresh_options) return;
  state.options.swap(entry.fresh_options);
  entry.has_fresh_options = false;
}

void Poller::set_needless(Entry& entry) {
  entry.next_due_ns = INT64_MIN;  // at once, if it is needed
  entry.outcome = {.kind = Outcome::Kind::kAbsent};
  set_state(entry, SourceState::kReplaced, std::string(entry.giver->descriptor->name) + " has its figures");
}

void Poller::set_state(Entry& entry, SourceState state, std::string error) {
  if (entry.status.state == state && entry.status.error == error) return;  // logged once, then counted
  if (options_.log) log_state(entry, state, error);
  entry.status.state = state;
  entry.status.error = std::move(error);
  has_new_states_ = true;
  entry.status.needs = entry.refusal.empty() ? std::string_view() : entry.descriptor->needs;
  publish(entry);
}

void Poller::log_state(const Entry& entry, SourceState state, std::string_view error) {
  const std::string name(entry.descriptor->name);
  const bool is_quiet = is_service() && !entry.refusal.empty();  // memstatd logs these once, together
  if (state == SourceState::kDown) options_.log(is_quiet ? LogLevel::kDebug : LogLevel::kError, error);
  if (state == SourceState::kUp && entry.status.state == SourceState::kDown) {
    options_.log(LogLevel::kInfo, name + ": is up again");
  }
  if (state == SourceState::kNotPermitted) {
    if (error.starts_with(name + ": ")) error.remove_prefix(name.size() + 2);
    options_.log(is_quiet ? LogLevel::kDebug : LogLevel::kInfo,
                 name + ": not permitted, needs " + std::string(entry.descriptor->needs) + ": " + std::string(error));
  }
}

void Poller::publish(const Entry& entry) {
  const MutexLock lock(status_mutex_);
  SourceStatus& published = statuses_[entry.index];
  published = entry.status;
  if (published.state != SourceState::kUp) published.note.clear();
}

void Poller::succeeded(Entry& entry, double seconds) {
  const Staging& staging = entry.reader->staging;
  std::uint64_t bytes = 0;
  for (const Buffer& part : entry.reader->raw.parts) bytes += part.size();
  for (const RawFile& file : entry.reader->raw.files) bytes += file.bytes.size();
  entry.was_up = true;
  entry.refusal.clear();
  if (!staging.size_classes().empty()) size_classes_ = staging.size_classes();
  entry.outcome = {.kind = Outcome::Kind::kSucceeded,
                   .report = {.read_seconds = seconds,
                              .read_bytes = bytes,
                              .types = staging.types().size(),
                              .success_timestamp_seconds = static_cast<double>(clock_.realtime_ns()) / 1e9}};
  set_state(entry, SourceState::kUp, {});
  const bool has_news = entry.status.note != staging.note();
  if (has_news && is_service() && options_.log && !staging.note().empty()) {
    options_.log(LogLevel::kInfo, std::string(entry.descriptor->name) + ": left out: " + staging.note());
  }
  if (has_news) entry.status.note = staging.note();
  entry.status.types = staging.types().size();
  entry.status.read_seconds = seconds;
  entry.status.read_bytes = bytes;
  publish(entry);
}

void Poller::failed(Entry& entry, const Error& error, double seconds, std::int64_t now_ns) {
  // Without descriptors the kernel fails before it looks for the file. So a file that was absent is still absent.
  const bool is_hidden = (error.code == ErrorCode::kPermission && entry.was_absent_at_start) ||
                         (lacks_descriptors(error) && entry.status.state == SourceState::kAbsent);
  const bool is_absent = error.code == ErrorCode::kNotPresent || is_hidden;
  if (is_absent && entry.config.enabled == Switch::kAuto && !entry.was_up) {
    entry.outcome = {.kind = Outcome::Kind::kAbsent};
    entry.next_due_ns = std::max<std::int64_t>(entry.next_due_ns, now_ns + kAbsentInterval.count());
    const bool is_why = error.code == ErrorCode::kNotPresent || entry.status.state != SourceState::kAbsent;
    if (is_why) set_state(entry, SourceState::kAbsent, to_string(error));
    return;
  }
  entry.outcome = {.kind = Outcome::Kind::kFailed, .report = {.read_seconds = seconds}, .code = error.code};
  if (entry.is_refusal(error)) {
    if (entry.refusal.empty()) entry.refusal = to_string(error);  // keep the error from open()
    return;
  }
  entry.refusal.clear();
  // Keep the error from open(). It was made with privileges and has a remedy; losing privileges afterwards is
  // expected.
  const bool is_old = entry.open_failure == error.code || (entry.open_failure && error.code == ErrorCode::kPermission);
  if (entry.status.state == SourceState::kDown && is_old) return;
  entry.open_failure.reset();
  set_state(entry, SourceState::kDown, to_string(error));
}

/// Sets the state of a source without permission. It is "not permitted" rather than "down" if no types are lost without
/// it. Whether a roster is up is known only after all reads.
void Poller::classify_refusal(Entry& entry, std::int64_t now_ns) {
  if (entry.refusal.empty() || (entry.replacement != nullptr && entry.replacement->is_promising())) return;
  const bool was_read = entry.outcome.kind == Outcome::Kind::kFailed;
  if (entry.is_optional()) {
    entry.outcome = {.kind = Outcome::Kind::kNotPermitted};
    if (was_read) entry.next_due_ns = std::max<std::int64_t>(entry.next_due_ns, now_ns + kAbsentInterval.count());
    set_state(entry, SourceState::kNotPermitted, entry.refusal);
    return;
  }
  if (entry.status.state == SourceState::kNotPermitted) {
    entry.next_due_ns = INT64_MIN;
    entry.outcome = {.kind = Outcome::Kind::kFailed, .code = ErrorCode::kPermission};
  }
  set_state(entry, SourceState::kDown, entry.refusal);
}

void Poller::update_metrics(Entry& entry) {
  const Outcome outcome = std::exchange(entry.outcome, Outcome{});
  switch (outcome.kind) {
    case Outcome::Kind::kNone: break;
    case Outcome::Kind::kSucceeded: metrics_.source_succeeded(entry.descriptor->name, outcome.report); break;
    case Outcome::Kind::kFailed:
      metrics_.source_failed(entry.descriptor->name, outcome.code, outcome.report.read_seconds);
      break;
    case Outcome::Kind::kAbsent: metrics_.source_absent(entry.descriptor->name); break;
    case Outcome::Kind::kNotPermitted: metrics_.source_not_permitted(entry.descriptor->name, entry.descriptor->needs); break;
  }
}

/// Whether a captured poll lacks a slow source because it was not due: it was present within twice its interval.
bool Poller::is_not_due(const Entry& entry, const Error& error, std::int64_t now_ns) const {
  return options_.is_replay && error.code == ErrorCode::kNotPresent && entry.last_read_ns != INT64_MIN &&
         now_ns - entry.last_read_ns <= 2 * entry.interval().count();
}

void Poller::set_replaced(Entry& entry) {
  entry.next_due_ns = INT64_MIN;  // at once, if it is needed
  if (entry.status.state == SourceState::kReplaced || entry.status.state == SourceState::kAbsent) return;
  entry.outcome = {.kind = Outcome::Kind::kAbsent};
  set_state(entry, SourceState::kReplaced, std::string(entry.replacement->descriptor->name) + " replaces it");
}

/// Orders a read if the source is due. A source that will probably be replaced is read only for captures: the reader of
/// a capture may not have the other source.
void Poller::order_read(Entry& entry, std::int64_t now_ns) {
  const bool is_likely_replaced = entry.replacement != nullptr && entry.replacement->is_promising();
  if (entry.is_ordered() || entry.is_off() || entry.is_needless()) return;
  if (is_likely_replaced && !view_->wants_whole_polls()) return;
  if (now_ns < entry.next_due_ns && !options_.is_replay) return;  // a capture has what was due when it was recorded
  // A tenth of tolerance: a poll that comes slightly early must not delay the source by a whole interval.
  if (entry.interval().count() > 0)
    entry.next_due_ns = now_ns + entry.interval().count() - config_.poll.interval.count() / 10;
  prepare(entry);
  reads_.push_back({.source = entry.reader});
  entry.read = reads_.size() - 1;
}

void Poller::commit(Entry& entry, std::int64_t now_ns) {
  if (entry.is_off()) return;
  if (entry.is_replaced()) return set_replaced(entry);
  if (!entry.is_ordered()) {  // its replacement failed in this poll, or it is not due
    order_read(entry, now_ns);
    if (!entry.is_ordered()) return;
    reader_.read(std::span(reads_).subspan(entry.read), read_timeout());
  }
  Result<void> result = std::move(reads_[entry.read].result);
  const double seconds = std::chrono::duration<double>(reads_[entry.read].took).count();
  if (result) result = commit_source(*entry.reader, *list_, generation_);
  if (result) {
    entry.last_read_ns = now_ns;
    succeeded(entry, seconds);
  } else if (is_not_due(entry, result.error(), now_ns)) {  // keeps its previous values
  } else if (result.error().code == ErrorCode::kNotPresent && entry.has_giver()) {
    set_needless(entry);
  } else if (reader_.is_cancelled()) {  // Cut short by the stop, which is not a failure of the source.
    was_cut_ = true;
  } else {
    failed(entry, result.error(), seconds, now_ns);
  }
  if (!reader_.is_busy(*entry.reader)) release_after_commit(*entry.reader);
}

/// A capture cannot hang, but a busy machine may take long to unpack it, and nothing would be read again after its last poll.
std::chrono::nanoseconds Poller::read_timeout() const {
  constexpr std::chrono::hours kOfReplay{1};
  return options_.is_replay ? kOfReplay : config_.poll.timeout;
}

/// Reads everything that is due before committing anything, so that reader and poller wake each other only once.
void Poller::read_and_commit(std::int64_t now_ns) {
  reads_.clear();
  for (const std::unique_ptr<Entry>& entry : entries_) entry->read = Entry::kNoRead;
  for (const std::unique_ptr<Entry>& entry : entries_) order_read(*entry, now_ns);
  reader_.read(reads_, read_timeout());
  for (const std::unique_ptr<Entry>& entry : entries_) commit(*entry, now_ns);
}

/// Adds what the working sources report, except figures of types. Node figures and details are collected for tier full only.
SnapshotExtras Poller::extras(Tier tier) {
  SnapshotExtras extras;
  statistics_.clear();
  for (const std::unique_ptr<Entry>& entry : entries_) {
    if (entry->status.state != SourceState::kUp) continue;
    statistics_.push_back(&entry->reader->staging.statistics());
    if (!entry->reader->staging.kernel_log().empty()) extras.kernel_log = entry->reader->staging.kernel_log();
    if (tier != Tier::kFull) continue;
    const auto allocator = static_cast<std::size_t>(entry->descriptor->allocator);
    extras.live_node[allocator] = extras.live_node[allocator] | entry->descriptor->node_fields;
    if (entry->descriptor->is_roster) extras.has_details[allocator] = true;
  }
  extras.statistics = statistics_;
  return extras;
}

/// Records all types, including those that the selection omits: they may be listed tomorrow. Also the summary of all
/// memory.
void Poller::remember(const Snapshot& snapshot, std::int64_t now_ns) {
  if (!history_.is_on()) return;
  history_.begin(now_ns, snapshot.realtime_ns);
  for (std::size_t row = 0; row < snapshot.row_count(); ++row) {
    const std::uint32_t number = snapshot.rows()[row].number;
    const Figure amount = snapshot.has(Field::kBytes, row) ? Field::kBytes : Field::kCount;
    if (snapshot.has(amount, row)) history_.add(number, HistoryFigure::kAmount, snapshot.value(amount, row));
    if (snapshot.has(Field::kFailures, row)) {
      history_.add(number, HistoryFigure::kFailures, snapshot.value(Field::kFailures, row));
    }
    if (snapshot.has(TrackedFigure::kLimitHits, row)) {
      history_.add(number, HistoryFigure::kLimitHits, snapshot.value(TrackedFigure::kLimitHits, row));
    }
  }
  for (const Snapshot::MachineSample& part : snapshot.samples(kAccountedBytes)) {
    snapshot.labels_at(part.labels, kAccountedBytes.label_names()).for_each([&](std::string_view, std::string_view name) {
      history_.add_named(name, part.bits);
    });
  }
  for (const Snapshot::MachineSample& rest : snapshot.samples(kUnaccountedBytes)) {
    history_.add_named(kUnaccountedSeries, rest.bits);
  }
  std::uint64_t reclaimed = 0;
  for (const Snapshot::MachineSample& pages : snapshot.samples(kReclaimedPages)) {
    snapshot.labels_at(pages.labels, kReclaimedPages.label_names()).for_each([&](std::string_view, std::string_view by) {
      // Recent kernels also count what control groups at their limits take from themselves as direct.
      if (by != "direct") reclaimed += pages.bits;
    });
  }
  history_.add_named(kReclaimedSeries, reclaimed);
  for (const Snapshot::MachineSample& kills : snapshot.samples(kOomKills)) history_.add_named(kKillsSeries, kills.bits);
  history_.finish();
}

void Poller::note_unread_sources() {
  unread_.clear();
  for (const std::unique_ptr<Entry>& entry : entries_) {
    const SourceStatus& status = entry->status;
    if (status.state != SourceState::kDown && status.state != SourceState::kNotPermitted) continue;
    const bool is_down = status.state == SourceState::kDown && (is_service() || status.needs.empty());  // not a user's lack
    unread_.push_back({.name = status.name, .error = status.error, .needs = status.needs, .is_down = is_down});
    unread_.back().allocator = entry->descriptor->allocator;
    for (const MetricOrigin& origin : entry->descriptor->origins) {
      if (origin.of == MetricOrigin::Of::kSystem) unread_.back().metrics.push_back(origin.metric->facts.name);
    }
  }
}

std::uint32_t Poller::allocators_of_system() const {
  std::uint32_t allocators = 0;
  for (const std::unique_ptr<Entry>& entry : entries_)
    allocators |= 1U << static_cast<unsigned>(entry->descriptor->allocator);
  return allocators;
}

bool Poller::poll_or_throw(std::int64_t now_ns) {
  ++generation_;
  was_cut_ = false;
  const std::int64_t begin_ns = clock_.monotonic_ns();
  view_->begin_poll();
  note_boot_time();
  read_and_commit(now_ns);
  view_->end_poll();
  for (const std::unique_ptr<Entry>& entry : entries_) classify_refusal(*entry, now_ns);
  std::array<FieldMask, kAllocatorCount> live{};
  std::array<CpuFieldMask, kAllocatorCount> live_cpu{};
  bool any_up = false;
  for (const std::unique_ptr<Entry>& entry : entries_) {
    if (entry->status.state != SourceState::kUp) continue;
    any_up = true;
    const auto allocator = static_cast<std::size_t>(entry->descriptor->allocator);
    live[allocator] = live[allocator] | entry->descriptor->fields;
    live_cpu[allocator] = live_cpu[allocator] | entry->descriptor->cpu_fields;
  }
  tracker_->track(*list_, live, live_cpu, generation_, now_ns);
  if (generation_ > config_.retention) {
    list_->evict_vanished_before(generation_ - config_.retention, [this](MemoryType& type) {
      tracker_->forget(type);
      if (const auto number = builder_->forget(type)) {
        history_.forget(*number);
        evidence_.forget(*number);
      }
    });
  }
  std::size_t series = 0;
  if (RenderedSnapshot* snapshot = pool_.free_snapshot(); snapshot != nullptr) {
    const RenderOptions rendered{.tier = options_.everything ? Tier::kFull : config_.tier,
                                 .per_cpu = true,
                                 .size_classes = options_.everything,
                                 .created = config_.created_series};
    builder_->build(*list_, live, live_cpu, generation_, size_classes_, *snapshot,
                    {.boot_ns = boot_time_ns_, .now_ns = clock_.realtime_ns()}, extras(rendered.tier));
    snapshot->realtime_ns = options_.realtime_ns ? options_.realtime_ns() : clock_.realtime_ns();
    remember(*snapshot, now_ns);
    note_evidence_and_select(rendered, now_ns, *snapshot);
    if (options_.renders) prepare_pages(rendered, *snapshot);
    snapshot->polled_ns = begin_ns;
    polling_ns_ += clock_.monotonic_ns() - begin_ns;
    snapshot->merged_slabs = merged_slabs_;
    snapshot->allocators_of_system = allocators_of_system();
    metrics_.poll_finished(static_cast<double>(clock_.realtime_ns()) / 1e9,
                           static_cast<double>(clock_.monotonic_ns() - begin_ns) / 1e9, snapshot->series,
                           snapshot->series_dropped);
    series = snapshot->series;
    pool_.publish(snapshot);
  } else {
    metrics_.snapshot_skipped();
  }
  // Publish the states last, so that a scrape does not combine this poll's source states with the previous poll's types.
  for (const std::unique_ptr<Entry>& entry : entries_) update_metrics(*entry);
  release_peak(series);
  return any_up;
}

bool Poller::poll(std::int64_t now_ns) {
  try {
    return poll_or_throw(now_ns);
  } catch (const std::exception& exception) {
    // Probably std::bad_alloc. Keep the last snapshot; the next poll tries again.
    try {
      if (options_.log) options_.log(LogLevel::kError, std::string("poll failed: ").append(why(exception)));
    } catch (const std::exception&) {  // not even memory for the message
    }
    return false;
  }
}

bool Poller::tend() {
  bool is_wanted = false;
  for (const std::unique_ptr<Entry>& entry : entries_) {
    const auto step = entry->descriptor->steps.tend;
    if (step == nullptr || entry->status.state != SourceState::kUp || reader_.is_busy(*entry->reader)) continue;
    try {
      is_wanted = step(*entry->reader->state) || is_wanted;
    } catch (const std::exception&) {  // std::bad_alloc: the next poll tends the sources, and reports errors
    }
  }
  return is_wanted;
}

}  // namespace memstat
