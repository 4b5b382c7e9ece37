// SPDX-License-Identifier: BSD-2-Clause
// Helper processes during the life of the daemon: one that attaches to events again (core/events/attach/attach_helper.h has
// both ends), and one that reads the kernel where the sandbox denies that to the process that faces the network: FreeBSD's
// capability mode (core/kernel/reader_process.h has both ends).
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "config/config.h"
#include "core/base/not_copyable.h"
#include "core/events/attach/attach_helper.h"
#include "core/inspect/inspection_channel.h"
#include "core/kernel/reader_process.h"
#include "daemon/privileges/helper.h"
#include "daemon/telemetry/log.h"
#include "daemon/telemetry/self_metrics.h"

namespace memstat {

/// A helper process. If it exits, the log reports it once. Thread safety: watch() in one thread, is_lost() in any, the rest
/// before threads exist.
class WatchedHelper {
 public:
  /// `when_gone` is the log line for its loss, a literal. Log and metrics must outlive this object.
  WatchedHelper(Log& log, SelfMetrics& metrics, LogLevel level, std::string_view when_gone)
      : log_(log), metrics_(metrics), level_(level), when_gone_(when_gone) {}

  void keep(HelperProcess process) { process_ = std::move(process); }
  /// Sets the helper metric to 1.
  void set_ready() {
    is_measured_ = true;
    metrics_.helper_up(true);
  }
  /// Waits for it to exit. Its socket must be closed.
  void end() {
    process_->wait();
    process_.reset();
  }
  /// Call when a child has exited. `is_alive` is whether the other end of its socket is open.
  void watch(bool is_alive) {
    if (!process_ || is_alive) return;
    (void)process_->has_ended();
    if (is_lost_.exchange(true)) return;
    if (is_measured_) metrics_.helper_up(false);
    log_.write(level_, when_gone_);
  }

  [[nodiscard]] bool exists() const { return process_.has_value(); }
  /// Its process ID; 0: none.
  [[nodiscard]] pid_t number() const { return process_ ? process_->number() : 0; }
  [[nodiscard]] bool is_lost() const { return is_lost_; }

 private:
  Log& log_;
  SelfMetrics& metrics_;
  const LogLevel level_;
  const std::string_view when_gone_;
  std::optional<HelperProcess> process_;
  bool is_measured_ = false;
  std::atomic<bool> is_lost_ = false;
};

/// The helper process that attaches to events: created if a source may need it, kept if one does, and watched. Thread
/// safety: start() and keep_if_needed() before threads exist, then watch() in one thread; is_lost() in any.
class EventHelper : NotCopyable {
 public:
  /// Both must outlive this object.
  EventHelper(Log& log, SelfMetrics& metrics);
  ~EventHelper() { events::set_process_helper(nullptr); }

  /// Forks the helper if an enabled source lists helper capabilities. Must be called before anything is opened, so that the
  /// helper inherits nothing. A failure is only logged: sources then work, but cannot attach again.
  void start(const Config& config);
  /// Call after the sources are opened: the helper accepts nothing more, and exits if no source needs it.
  void keep_if_needed();
  /// Call when a child has exited. Reports the loss once.
  void watch();
  [[nodiscard]] bool is_lost() const { return process_.is_lost(); }

 private:
  Log& log_;
  WatchedHelper process_;
  std::shared_ptr<events::AttachHelper> handle_;
};

/// Whether memstatd asks who holds something. Under FreeBSD's capability mode only the reader process could, which has
/// dropped root by then.
#if defined(__linux__)
inline constexpr bool kAsksForHolders = true;
#else
inline constexpr bool kAsksForHolders = false;
#endif

/// The process that inspects the machine when a finding begins. It keeps the capabilities to examine processes, as far as
/// memstatd has them. Thread safety: start() before threads exist, then watch() in one thread.
class HolderHelper : NotCopyable {
 public:
  /// Both must outlive this object.
  HolderHelper(Log& log, SelfMetrics& metrics);

  /// Forks it if findings.holders is on. Must be called before anything is opened, so that it inherits nothing.
  void start(const Config& config);
  /// Call when a child has exited. Reports the loss once.
  void watch();
  /// nullptr: there is none, because of why_not().
  [[nodiscard]] std::shared_ptr<InspectionChannel> channel() const { return channel_; }
  [[nodiscard]] const std::string& why_not() const { return why_not_; }

 private:
  WatchedHelper process_;
  std::shared_ptr<InspectionChannel> channel_;
  std::string why_not_;
};

/// Whether this system's sandbox needs such a process. Linux's does not: the cost exceeds the benefit
/// (tests/bench/README.md).
#if defined(__FreeBSD__)
inline constexpr bool kSandboxWantsReader = true;
#else
inline constexpr bool kSandboxWantsReader = false;
#endif

/// The process that reads the kernel, and one that stays root for what the kernel tells nobody else: the counts of jails, if
/// it keeps any (kern.racct.enable). Thread safety: start() and seal() before threads exist, then watch() in one thread;
/// is_lost() in any.
class KernelReader : NotCopyable {
 public:
  /// Both must outlive this object.
  KernelReader(Log& log, SelfMetrics& metrics);

  /// Whether the sandbox is on and needs the process.
  static bool is_wanted(const Config& config) { return config.sandbox && kSandboxWantsReader; }
  /// Forks it, before anything is opened. A failure is logged; this process then reads the kernel itself, without a sandbox.
  void start(const Config& config);
  /// The kernel view through it; null if there is none. From then on it also reads process_*.
  [[nodiscard]] std::shared_ptr<KernelView> view() const { return view_; }
  /// Call after every source has been opened and read. The process then reads nothing else and drops root. An error is
  /// fatal.
  Result<void> seal();
  [[nodiscard]] pid_t number() const { return process_.number(); }
  /// Call when a child has exited. Reports the loss once, and then, if it is not that of the counts of jails, returns false.
  bool watch();
  [[nodiscard]] bool is_lost() const { return process_.is_lost(); }

 private:
  Result<void> launch(const Config& config);
  void launch_counter();

  Log& log_;
  SelfMetrics& metrics_;
  WatchedHelper process_;
  WatchedHelper counter_;
  std::shared_ptr<ReaderView> view_;
  std::shared_ptr<JailCounts> jail_counts_;
};

}  // namespace memstat
