// SPDX-License-Identifier: BSD-2-Clause
// Keeps the polls before and after a kill, a failure, or a limit that is reached.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "core/base/clock.h"
#include "core/base/mutex.h"
#include "core/capture/recent_polls.h"
#include "core/diagnosis/finding.h"
#include "daemon/incidents/incident_store.h"
#include "daemon/telemetry/log.h"
#include "daemon/telemetry/self_metrics.h"

namespace memstat {

/// Writes an incident when a poll has an urgent finding, at most one for each cause in kQuietNs, with the last polls, so
/// that it is soon on disk, and again with the hour before and the polls of the kAfterNs that follow. A thread of its own
/// writes. Thread safety: polled() on the polling thread; incidents() on any.
class BlackBox {
 public:
  static constexpr std::int64_t kQuietNs = 60'000'000'000;
  static constexpr std::int64_t kAfterNs = 10'000'000'000;
  static constexpr std::size_t kFirstPolls = 12;
  /// Within this time a victim has one incident of a cause, also if its finding begins again because it is about another
  /// group once still older kills are no longer recent.
  static constexpr std::int64_t kSameVictimNs = 3'600'000'000'000;

  /// Receives problems with the disk, once until it recovers. Called on the writing thread.
  using Log = std::function<void(LogLevel, std::string_view)>;

  /// All must outlive it.
  BlackBox(std::shared_ptr<RecentPolls> polls, std::unique_ptr<IncidentStore> store, SelfMetrics& metrics, Log log,
           const Clock& clock = system_clock());
  /// Waits for what is being written.
  ~BlackBox();
  BlackBox(const BlackBox&) = delete;
  BlackBox& operator=(const BlackBox&) = delete;

  /// Call after each poll. `urgent`: indices of findings that turned urgent in it. Returns the incidents that began.
  std::vector<Incident> polled(std::span<const Finding> findings, std::span<const std::size_t> urgent);

  [[nodiscard]] std::vector<Incident> incidents() const { return store_->incidents(); }
  /// The bytes of an incident's file. Errors: system_error. Thread safety: safe.
  [[nodiscard]] Result<std::string> read(std::string_view file) const { return store_->read(file); }
  [[nodiscard]] const std::string& directory() const { return store_->directory(); }

 private:
  struct Open {
    Incident incident;
    std::int64_t end_ns;  // monotonic: polls from then on are not part of it
  };

  struct Due {
    Incident incident;
    bool is_first;  // it is not on disk yet: before those that are
  };

  void run();
  void write(Due& due);

  std::shared_ptr<RecentPolls> polls_;
  std::unique_ptr<IncidentStore> store_;
  SelfMetrics& metrics_;
  const Log log_;
  const Clock& clock_;

  /// The last incident of a cause.
  struct Last {
    std::int64_t ns;  // monotonic
    std::string killed;
  };

  // For the polling thread.
  std::map<std::string, Last, std::less<>> last_;  // by cause
  std::vector<Open> open_;

  bool is_failing_ = false;  // for the writing thread
  Mutex mutex_;
  CondVar wake_;
  std::vector<Due> due_ MEMSTAT_GUARDED_BY(mutex_);
  bool must_stop_ MEMSTAT_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace memstat
