// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/telemetry/self_metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/registry.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <map>

#include "core/base/mutex.h"
#include "daemon/exposition/exposition.h"
#include "daemon/exposition/native_histogram.h"
#include "daemon/snapshot/own_metrics.h"

namespace memstat {
namespace {

using prometheus::Counter;
using prometheus::Family;
using prometheus::Gauge;

Family<Gauge>& gauges(prometheus::Registry& registry, const char* name) {
  return prometheus::BuildGauge().Name(name).Help(std::string(help_of_own_metric(name))).Register(registry);
}

Family<Counter>& counters(prometheus::Registry& registry, const char* name) {
  return prometheus::BuildCounter().Name(name).Help(std::string(help_of_own_metric(name))).Register(registry);
}

}  // namespace

struct SelfMetrics::Implementation {
  explicit Implementation(const Clock& its_clock) : clock(its_clock) {}

  struct Source {
    Gauge* up = nullptr;
    Gauge* not_permitted = nullptr;
    Gauge* types = nullptr;
    Gauge* last_success = nullptr;
    Gauge* read_bytes = nullptr;
    NativeHistogram* read_seconds = nullptr;
    std::map<ErrorCode, Counter*> errors;
  };

  const Clock& clock;
  prometheus::Registry registry;
  Family<Gauge>& up = gauges(registry, "memstat_source_up");
  Family<Gauge>& not_permitted = gauges(registry, "memstat_source_not_permitted");
  HistogramFamily read_seconds{"memstat_source_read_seconds",
                               std::string(help_of_own_metric("memstat_source_read_seconds")),
                               {0.0001, 0.001, 0.01, 0.1, 1.0}};
  HistogramFamily poll_seconds{"memstat_poll_duration_seconds",
                               std::string(help_of_own_metric("memstat_poll_duration_seconds")),
                               {0.001, 0.01, 0.1, 1.0, 10.0}};
  const std::int64_t created_ns = clock.realtime_ns();  // start of the counters
  NativeHistogram& poll_duration = poll_seconds.add({}, created_ns);
  Family<Gauge>& read_bytes = gauges(registry, "memstat_source_read_bytes");
  Family<Gauge>& last_success = gauges(registry, "memstat_source_last_success_timestamp_seconds");
  Family<Counter>& errors = counters(registry, "memstat_source_errors_total");
  Family<Gauge>& types = gauges(registry, "memstat_source_types");
  Gauge& poll_timestamp = gauges(registry, "memstat_poll_timestamp_seconds").Add({});
  Gauge& interval = gauges(registry, "memstat_poll_interval_seconds").Add({});
  Family<Gauge>& boot = gauges(registry, "memstat_boot_timestamp_seconds");
  Family<Gauge>& helper = gauges(registry, "memstat_helper_up");
  Family<Gauge>& kernel = gauges(registry, "memstat_kernel_info");
  Counter& missed = counters(registry, "memstat_poll_missed_total").Add({});
  Counter& skipped = counters(registry, "memstat_snapshots_skipped_total").Add({});
  Family<Counter>& incidents = counters(registry, "memstat_incidents_total");
  Family<Counter>& recording_polls = counters(registry, "memstat_recording_polls_total");
  std::array<Counter*, 3> recording_outcomes{};  // by RecordingOutcome; nullptr without a recording
  Gauge& series = gauges(registry, "memstat_series").Add({});
  Gauge& dropped = gauges(registry, "memstat_series_dropped").Add({});
  Gauge& reloaded = gauges(registry, "memstat_config_last_reload_successful").Add({});
  Gauge& locked = gauges(registry, "memstat_memory_locked").Add({});
  Counter& log_dropped = counters(registry, "memstat_log_lines_dropped_total").Add({});
  Gauge& open_files = gauges(registry, "process_open_fds").Add({});
  Gauge& max_files = gauges(registry, "process_max_fds").Add({});
  Gauge& virtual_bytes = gauges(registry, "process_virtual_memory_bytes").Add({});
  Gauge& resident_bytes = gauges(registry, "process_resident_memory_bytes").Add({});
  Gauge& start_time = gauges(registry, "process_start_time_seconds").Add({});
  Counter& cpu_seconds = counters(registry, "process_cpu_seconds_total").Add({});

  std::atomic<std::uint64_t> version{1};
  Mutex mutex;
  std::map<std::string, Source, std::less<>> sources MEMSTAT_GUARDED_BY(mutex);
  struct ListedFinding {
    Gauge* level = nullptr;
    Gauge* info = nullptr;
    std::map<std::string, std::string> texts;  // labels of info
    std::uint64_t begun = 0;
    bool is_found = false;
  };
  std::map<std::pair<std::string, std::string>, ListedFinding> listed MEMSTAT_GUARDED_BY(mutex);  // by cause and object
  std::map<std::string, Counter*, std::less<>> begun MEMSTAT_GUARDED_BY(mutex);                   // by cause
  Family<Gauge>& finding = gauges(registry, "memstat_finding");
  Family<Gauge>& finding_info = gauges(registry, "memstat_finding_info");
  Family<Counter>& findings_total = counters(registry, "memstat_findings_total");
  Gauge& findings_dropped = gauges(registry, "memstat_findings_dropped").Add({});
  std::unique_ptr<ProcessStatsReader> meter MEMSTAT_GUARDED_BY(mutex) = make_process_stats_reader();

  Source& source(std::string_view name) MEMSTAT_REQUIRES(mutex) {
    const auto known = sources.find(name);
    return known != sources.end() ? known->second : sources.emplace(name, Source{}).first->second;
  }
  void set(Gauge& gauge, double value) {
    gauge.Set(value);
    ++version;
  }
  void add(Counter& counter, double more) {
    counter.Increment(more);
    ++version;
  }
  /// Each gauge is created separately: if memory runs out for one, the others remain, and the next poll creates the rest.
  static void set(Family<Gauge>& family, Gauge*& gauge, std::string_view source, double value) {
    if (gauge == nullptr) gauge = &family.Add({{"source", std::string(source)}});
    gauge->Set(value);
  }
  void observe(Source& entry, std::string_view name, double seconds) {
    if (entry.read_seconds == nullptr)
      entry.read_seconds = &read_seconds.add({{"source", std::string(name)}}, clock.realtime_ns());
    entry.read_seconds->observe(seconds);
  }
  /// All families except histograms; process_* are read now.
  std::vector<prometheus::MetricFamily> collect() MEMSTAT_EXCLUDES(mutex) {
    {
      const MutexLock lock(mutex);
      const ProcessStats usage = meter->read();
      open_files.Set(static_cast<double>(usage.open_files));
      max_files.Set(static_cast<double>(usage.max_files));
      virtual_bytes.Set(static_cast<double>(usage.virtual_bytes));
      resident_bytes.Set(static_cast<double>(usage.resident_bytes));
      start_time.Set(usage.start_time_seconds);
      const double more = usage.cpu_seconds - cpu_seconds.Value();
      if (more > 0) cpu_seconds.Increment(more);
    }
    return registry.Collect();
  }
  template <typename Metric>
  static void drop(Family<Metric>& family, Metric*& metric) {
    if (metric != nullptr) family.Remove(metric);
    metric = nullptr;
  }
  void set_finding(const FindingSeries& one, bool wants_info) MEMSTAT_REQUIRES(mutex) {
    std::pair<std::string, std::string> key(one.cause, one.object);
    ListedFinding& shown = listed[key];
    shown.is_found = true;
    if (shown.level == nullptr) shown.level = &finding.Add({{"cause", key.first}, {"object", key.second}});
    shown.level->Set(one.level);
    if (one.begun != shown.begun) {
      Counter*& total = begun[key.first];
      if (total == nullptr) total = &findings_total.Add({{"cause", key.first}});
      total->Increment(static_cast<double>(one.begun - shown.begun));
      shown.begun = one.begun;
    }
    std::map<std::string, std::string> texts{{"cause", key.first},
                                             {"object", key.second},
                                             {"headline", std::string(one.headline)},
                                             {"culprit", std::string(one.culprit)},
                                             {"next", std::string(one.next)},
                                             {"since", std::string(one.since)},
                                             {"certainty", std::string(one.certainty)}};
    if (!one.incident.empty()) texts.emplace("incident", one.incident);
    const bool has_info = wants_info && one.level != 0;
    if (has_info && shown.info != nullptr && texts == shown.texts) return;
    drop(finding_info, shown.info);
    if (!has_info) return;
    shown.texts = std::move(texts);
    shown.info = &finding_info.Add(shown.texts);
    shown.info->Set(1);
  }
  /// Removes the series of a source that is not read, except its error counts.
  void drop_all(Source& entry) MEMSTAT_REQUIRES(mutex) {
    drop(up, entry.up);
    drop(not_permitted, entry.not_permitted);
    drop(types, entry.types);
    drop(last_success, entry.last_success);
    drop(read_bytes, entry.read_bytes);
    if (entry.read_seconds != nullptr) read_seconds.remove(*entry.read_seconds);
    entry.read_seconds = nullptr;
  }
};

SelfMetrics::SelfMetrics(std::string_view version, const Clock& clock)
    : implementation_(std::make_unique<Implementation>(clock)) {
  gauges(implementation_->registry, "memstat_build_info").Add({{"version", std::string(version)}}).Set(1);
  implementation_->reloaded.Set(1);
}

SelfMetrics::~SelfMetrics() = default;

void SelfMetrics::source_succeeded(std::string_view source, const SourceReport& report) {
  const MutexLock lock(implementation_->mutex);
  Implementation::Source& entry = implementation_->source(source);
  Implementation::drop(implementation_->not_permitted, entry.not_permitted);
  Implementation::set(implementation_->up, entry.up, source, 1);
  implementation_->observe(entry, source, report.read_seconds);
  Implementation::set(implementation_->types, entry.types, source, static_cast<double>(report.types));
  Implementation::set(implementation_->last_success, entry.last_success, source, report.success_timestamp_seconds);
  Implementation::set(implementation_->read_bytes, entry.read_bytes, source, static_cast<double>(report.read_bytes));
  ++implementation_->version;
}

void SelfMetrics::source_failed(std::string_view source, ErrorCode code, double read_seconds) {
  const MutexLock lock(implementation_->mutex);
  Implementation::Source& entry = implementation_->source(source);
  Implementation::drop(implementation_->not_permitted, entry.not_permitted);
  Implementation::set(implementation_->up, entry.up, source, 0);
  implementation_->observe(entry, source, read_seconds);
  Counter*& errors = entry.errors[code];
  if (errors == nullptr) {
    errors = &implementation_->errors.Add({{"source", std::string(source)}, {"reason", std::string(reason(code))}});
  }
  errors->Increment();
  ++implementation_->version;
}

void SelfMetrics::source_absent(std::string_view source) {
  const MutexLock lock(implementation_->mutex);
  const auto known = implementation_->sources.find(source);
  if (known == implementation_->sources.end()) return;
  implementation_->drop_all(known->second);
  ++implementation_->version;
}

void SelfMetrics::source_not_permitted(std::string_view source, std::string_view needs) {
  const MutexLock lock(implementation_->mutex);
  Implementation::Source& entry = implementation_->source(source);
  if (entry.not_permitted != nullptr) return;
  implementation_->drop_all(entry);
  entry.not_permitted =
      &implementation_->not_permitted.Add({{"source", std::string(source)}, {"needs", std::string(needs)}});
  entry.not_permitted->Set(1);
  ++implementation_->version;
}

void SelfMetrics::poll_finished(double timestamp_seconds, double duration_seconds, std::size_t series,
                                std::uint64_t series_dropped) {
  implementation_->poll_duration.observe(duration_seconds);
  implementation_->poll_timestamp.Set(timestamp_seconds);
  implementation_->series.Set(static_cast<double>(series));
  implementation_->dropped.Set(static_cast<double>(series_dropped));
  ++implementation_->version;
}

void SelfMetrics::kernel_opened(std::string_view os, std::string_view release) {
  implementation_->set(implementation_->kernel.Add({{"os", std::string(os)}, {"release", std::string(release)}}), 1);
}

void SelfMetrics::boot_time(double timestamp_seconds) {
  implementation_->set(implementation_->boot.Add({}), timestamp_seconds);
}

void SelfMetrics::poll_interval(double seconds) { implementation_->set(implementation_->interval, seconds); }
void SelfMetrics::polls_missed(std::size_t count) {
  implementation_->add(implementation_->missed, static_cast<double>(count));
}
void SelfMetrics::snapshot_skipped() { implementation_->add(implementation_->skipped, 1); }

void SelfMetrics::findings(std::span<const FindingSeries> findings, std::size_t dropped, bool has_info) {
  const MutexLock lock(implementation_->mutex);
  auto& listed = implementation_->listed;
  if (listed.empty() && findings.empty()) return;
  for (auto& [key, shown] : listed) shown.is_found = false;
  for (const FindingSeries& one : findings) implementation_->set_finding(one, has_info);
  for (auto entry = listed.begin(); entry != listed.end();) {
    Implementation::ListedFinding& shown = entry->second;
    if (!shown.is_found) {
      Implementation::drop(implementation_->finding, shown.level);
      Implementation::drop(implementation_->finding_info, shown.info);
    }
    entry = shown.is_found ? std::next(entry) : listed.erase(entry);
  }
  implementation_->findings_dropped.Set(static_cast<double>(dropped));
  ++implementation_->version;
}

void SelfMetrics::config_reloaded(bool successful) { implementation_->set(implementation_->reloaded, successful ? 1 : 0); }

void SelfMetrics::process_stats_by(std::unique_ptr<ProcessStatsReader> reader) {
  const MutexLock lock(implementation_->mutex);
  implementation_->meter = std::move(reader);
}

void SelfMetrics::helper_up(bool is_up) { implementation_->set(implementation_->helper.Add({}), is_up ? 1 : 0); }
void SelfMetrics::memory_locked(bool locked) { implementation_->set(implementation_->locked, locked ? 1 : 0); }

void SelfMetrics::recording_started() {
  constexpr std::array<const char*, 3> kResults = {"written", "failed", "dropped"};
  for (std::size_t i = 0; i < kResults.size(); ++i) {
    implementation_->recording_outcomes[i] = &implementation_->recording_polls.Add({{"result", kResults[i]}});
  }
  ++implementation_->version;
}

void SelfMetrics::recording_poll(RecordingOutcome outcome) {
  implementation_->add(*implementation_->recording_outcomes[static_cast<std::size_t>(outcome)], 1);
}

void SelfMetrics::incident(std::string_view cause) {
  implementation_->add(implementation_->incidents.Add({{"cause", std::string(cause)}}), 1);
}

void SelfMetrics::log_lines_dropped(std::uint64_t total) {
  const double more = static_cast<double>(total) - implementation_->log_dropped.Value();
  if (more > 0) implementation_->add(implementation_->log_dropped, more);
}

std::uint64_t SelfMetrics::version() const { return implementation_->version; }

std::string SelfMetrics::page(ExpositionFormat format, const RenderOptions& options,
                              const std::function<bool(std::string_view)>& shows) const {
  std::vector<prometheus::MetricFamily> families = implementation_->collect();
  std::vector<HistogramFamily::Data> histograms = {implementation_->read_seconds.data(),
                                                   implementation_->poll_seconds.data()};
  if (shows) {
    std::erase_if(families, [&](const prometheus::MetricFamily& family) { return !shows(family.name); });
    std::erase_if(histograms, [&](const HistogramFamily::Data& family) { return !shows(family.name); });
  }
  Buffer page;
  render_own(
      format, options,
      {.families = std::move(families), .histograms = std::move(histograms), .created_ns = implementation_->created_ns},
      page);
  return std::string(page.view());
}

std::vector<SelfMetrics::Value> SelfMetrics::values() const {
  std::vector<Value> values;
  for (const prometheus::MetricFamily& family : implementation_->collect()) {
    for (const prometheus::ClientMetric& metric : family.metric) {
      if (!metric.label.empty()) continue;
      const bool is_counter = family.type == prometheus::MetricType::Counter;
      values.push_back({family.name, is_counter ? metric.counter.value : metric.gauge.value});
    }
  }
  for (const HistogramFamily::Data& family : {implementation_->read_seconds.data(), implementation_->poll_seconds.data()}) {
    for (const auto& [labels, data] : family.members) {
      if (!labels.empty()) continue;
      values.push_back({family.name + "_count", static_cast<double>(data.count)});
      values.push_back({family.name + "_sum", data.sum});
    }
  }
  std::sort(values.begin(), values.end(), [](const Value& a, const Value& b) { return a.name < b.name; });
  return values;
}

}  // namespace memstat
