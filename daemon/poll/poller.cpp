// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/poll/poller.h"

#include <algorithm>
#include <cerrno>
#include <exception>
#include <optional>
#include <utility>

#include "core/base/free_heap.h"
#include "core/base/mutex.h"
#include "core/kernel/boot_time.h"
#include "core/kernel/merged_slabs.h"
#include "core/model/accounts.h"
#include "core/model/page_metrics.h"
#include "daemon/poll/source_settings.h"
#include "daemon/snapshot/growth_report.h"

namespace memstat {

/// The clocks are not read at the same instant, so their difference varies slightly.
constexpr std::chrono::nanoseconds kClockJitter = std::chrono::milliseconds(1);

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
    auto polled = std::make_unique<PolledSource>(
        *source, sources_.size(), [this](const PolledSource& changed, SourceState before) { note_state(changed, before); });
    for (const std::unique_ptr<PolledSource>& earlier : sources_) polled->relate(*earlier);
    sources_.push_back(std::move(polled));
  }
  for (const std::unique_ptr<PolledSource>& source : sources_) {
    statuses_.push_back(source->status());
    readers_.push_back(source->reader().get());
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
  for (const std::unique_ptr<PolledSource>& source : sources_) source->forget_reads();
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
  if (!is_limited) lift_top(all_sources(), config_);
  for (const std::unique_ptr<PolledSource>& source : sources_) {
    source->configure(config_, options_.is_replay);
    const SourceDescriptor& descriptor = source->descriptor();
    if (!is_limited || !descriptor.is_roster) continue;
    bounds.allocators[static_cast<std::size_t>(descriptor.allocator)] = {
        .top = option_number(descriptor, source->config(), "top", 0),
        .min_bytes = option_number(descriptor, source->config(), "min_bytes", 0)};
  }
  selection_.configure(bounds);
}

void Poller::open_sources() {
  metrics_.kernel_opened(to_string(view_->os()), view_->os_release());
  keep_boot_time(*view_);
  note_boot_time();
  merged_slabs_ = std::make_shared<const MergedSlabs>(MergedSlabs::read(*view_));
  for (const std::unique_ptr<PolledSource>& source : sources_) {
    if (source->is_off()) continue;
    source->prepare();
    const Result<void> opened = open_source(*source->reader(), *view_);
    if (opened && options_.reads_when_opened) (void)read_source(*source->reader(), *view_);  // a poll reports errors
    source->opened(opened);
  }
  for (const std::unique_ptr<PolledSource>& source : sources_) source->classify_refusal(INT64_MIN);
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

void Poller::note_state(const PolledSource& source, SourceState before) {
  has_new_states_ = true;
  if (options_.log) log_state(source, before);
  publish(source);
}

void Poller::log_state(const PolledSource& source, SourceState before) {
  const SourceStatus& status = source.status();
  std::string_view error = status.error;
  const bool is_quiet = is_service() && source.is_refused();  // memstatd logs these once, together
  if (status.state == SourceState::kDown) options_.log(is_quiet ? LogLevel::kDebug : LogLevel::kError, error);
  if (source.is_up() && before == SourceState::kDown) options_.log(LogLevel::kInfo, status.name + ": is up again");
  if (status.state == SourceState::kNotPermitted) {
    if (error.starts_with(status.name + ": ")) error.remove_prefix(status.name.size() + 2);
    options_.log(is_quiet ? LogLevel::kDebug : LogLevel::kInfo,
                 status.name + ": not permitted, needs " + status.needs + ": " + std::string(error));
  }
}

void Poller::publish(const PolledSource& source) {
  const MutexLock lock(status_mutex_);
  SourceStatus& published = statuses_[source.index()];
  published = source.status();
  if (!source.is_up()) published.note.clear();
}

void Poller::succeeded(PolledSource& source, double seconds, std::int64_t now_ns) {
  const Staging& staging = source.reader()->staging;
  const bool has_news = source.status().note != staging.note();
  if (!staging.size_classes().empty()) size_classes_ = staging.size_classes();
  source.succeeded(seconds, now_ns, static_cast<double>(clock_.realtime_ns()) / 1e9);
  if (has_news && is_service() && options_.log && !staging.note().empty()) {
    options_.log(LogLevel::kInfo, source.status().name + ": left out: " + staging.note());
  }
  publish(source);
}

/// Orders a read if the source is due. A source that will probably be replaced is read only for captures: the reader of
/// a capture may not have the other source.
void Poller::order_read(PolledSource& source, std::int64_t now_ns) {
  if (source.read != PolledSource::kNoRead || source.is_off() || source.is_covered()) return;
  if (source.is_likely_replaced() && !view_->wants_whole_polls()) return;
  if (!source.is_due(now_ns) && !options_.is_replay) return;  // a capture has what was due when it was recorded
  source.set_next_due(now_ns, config_.poll.interval);
  if (!reader_.is_busy(*source.reader())) source.prepare();
  reads_.push_back({.source = source.reader()});
  source.read = reads_.size() - 1;
}

void Poller::commit(PolledSource& source, std::int64_t now_ns) {
  if (source.is_off()) return;
  if (source.is_replaced()) return source.set_replaced();
  if (source.read == PolledSource::kNoRead) {  // its replacement failed in this poll, or it is not due
    order_read(source, now_ns);
    if (source.read == PolledSource::kNoRead) return;
    reader_.read(std::span(reads_).subspan(source.read), read_timeout());
  }
  Result<void> result = std::move(reads_[source.read].result);
  const double seconds = std::chrono::duration<double>(reads_[source.read].took).count();
  if (result) result = commit_source(*source.reader(), *list_, generation_);
  if (result) {
    succeeded(source, seconds, now_ns);
  } else if (options_.is_replay && source.was_not_due(result.error(), now_ns)) {  // keeps its previous values
  } else if (result.error().code == ErrorCode::kNotPresent && source.has_cover()) {
    source.set_covered();
  } else if (reader_.is_cancelled()) {  // Cut short by the stop, which is not a failure of the source.
    was_cut_ = true;
  } else {
    source.failed(result.error(), seconds, now_ns);
  }
  if (!reader_.is_busy(*source.reader())) release_after_commit(*source.reader());
}

/// A capture cannot hang, but a busy machine may take long to unpack it, and nothing would be read again after its last
/// poll.
std::chrono::nanoseconds Poller::read_timeout() const {
  constexpr std::chrono::hours kOfReplay{1};
  return options_.is_replay ? kOfReplay : config_.poll.timeout;
}

/// Reads everything that is due before committing anything, so that reader and poller wake each other only once.
void Poller::read_and_commit(std::int64_t now_ns) {
  reads_.clear();
  for (const std::unique_ptr<PolledSource>& source : sources_) source->read = PolledSource::kNoRead;
  for (const std::unique_ptr<PolledSource>& source : sources_) order_read(*source, now_ns);
  reader_.read(reads_, read_timeout());
  for (const std::unique_ptr<PolledSource>& source : sources_) commit(*source, now_ns);
}

/// Adds what the working sources report, except figures of types. Node figures and details are collected for tier full only.
SnapshotExtras Poller::extras(Tier tier) {
  SnapshotExtras extras;
  statistics_.clear();
  std::size_t logs = 0;
  for (const std::unique_ptr<PolledSource>& source : sources_) {
    if (!source->is_up()) continue;
    const Staging& staging = source->reader()->staging;
    statistics_.push_back(&staging.statistics());
    if (!staging.kernel_log().empty() && logs < kMaxLogs) extras.logs[logs++] = staging.kernel_log();
    if (tier != Tier::kFull) continue;
    const auto allocator = static_cast<std::size_t>(source->descriptor().allocator);
    extras.live_node[allocator] = extras.live_node[allocator] | source->descriptor().node_fields;
    if (source->descriptor().is_roster) extras.has_details[allocator] = true;
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
      // Recent kernels also count what control groups at their limits take from themselves as direct, and what was asked
      // for (memory.reclaim) or found by khugepaged says nothing about the rest.
      if (by == "kswapd" || by == "page_daemon") reclaimed += pages.bits;
    });
  }
  history_.add_named(kReclaimedSeries, reclaimed);
  for (const Snapshot::MachineSample& kills : snapshot.samples(kOomKills)) history_.add_named(kKillsSeries, kills.bits);
  history_.finish();
}

void Poller::note_unread_sources() {
  unread_.clear();
  for (const std::unique_ptr<PolledSource>& source : sources_) {
    const SourceStatus& status = source->status();
    if (status.state != SourceState::kDown && status.state != SourceState::kNotPermitted) continue;
    const bool is_down = status.state == SourceState::kDown && (is_service() || status.needs.empty());  // not a user's lack
    unread_.push_back({.name = status.name, .error = status.error, .needs = status.needs, .is_down = is_down});
    unread_.back().allocator = source->descriptor().allocator;
    for (const MetricOrigin& origin : source->descriptor().origins) {
      if (origin.of == MetricOrigin::Of::kSystem) unread_.back().metrics.push_back(origin.metric->facts.name);
    }
  }
}

std::uint32_t Poller::allocators_of_system() const {
  std::uint32_t allocators = 0;
  for (const std::unique_ptr<PolledSource>& source : sources_)
    allocators |= 1U << static_cast<unsigned>(source->descriptor().allocator);
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
  for (const std::unique_ptr<PolledSource>& source : sources_) source->classify_refusal(now_ns);
  std::array<FieldMask, kAllocatorCount> live{};
  std::array<CpuFieldMask, kAllocatorCount> live_cpu{};
  bool any_up = false;
  for (const std::unique_ptr<PolledSource>& source : sources_) {
    if (!source->is_up()) continue;
    any_up = true;
    const auto allocator = static_cast<std::size_t>(source->descriptor().allocator);
    live[allocator] = live[allocator] | source->descriptor().fields;
    live_cpu[allocator] = live_cpu[allocator] | source->descriptor().cpu_fields;
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
  for (const std::unique_ptr<PolledSource>& source : sources_) source->report(metrics_);
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
  for (const std::unique_ptr<PolledSource>& source : sources_) {
    const auto step = source->descriptor().steps.tend;
    if (step == nullptr || !source->is_up() || reader_.is_busy(*source->reader())) continue;
    try {
      is_wanted = step(*source->reader()->state) || is_wanted;
    } catch (const std::exception&) {  // std::bad_alloc: the next poll tends the sources, and reports errors
    }
  }
  return is_wanted;
}

std::vector<SourceStatus> Poller::statuses() const {
  const MutexLock lock(status_mutex_);
  return statuses_;
}

/// Frees the memory that only a peak of types or control groups needed, some minutes after it.
void Poller::release_peak(std::size_t series) {
  constexpr std::size_t kBytesOfSeries = 128;  // about, of a page and of what is kept for it
  std::size_t raw_bytes = 0;
  {
    const MutexLock lock(status_mutex_);
    for (const SourceStatus& source : statuses_) raw_bytes += source.read_bytes;
  }
  const bool is_raw_over = raw_peak_.is_over(raw_bytes);
  if (polls_before_trim_ != 0 && --polls_before_trim_ == 0) give_back_free_heap();
  if (!series_peak_.is_over(series * kBytesOfSeries) && !is_raw_over) return;
  for (SourceReader* const reader : readers_) {
    if (!reader_.is_busy(*reader)) shrink(*reader);
  }
  view_->shrink();
  list_->shrink();
  builder_->shrink();
  evidence_.shrink();
  selection_.shrink();
  pool_.shrink();
  polls_before_trim_ = SnapshotPool::kSize;  // by then, each snapshot has been freed and built again
}

}  // namespace memstat
