// SPDX-License-Identifier: BSD-2-Clause
// The process that reads the kernel over the life of the daemon, on systems whose sandbox refuses that to the one which
// faces the network: FreeBSD's capability mode. core/kernel/reader_process.h has both ends.
#pragma once

#include <memory>

#include "config/config.h"
#include "core/kernel/reader_process.h"
#include "daemon/process/watched_helper.h"

namespace memstat {

/// Whether this system's sandbox wants such a process. Linux's does not: there it costs more than it is worth
/// (tests/bench/README.md).
#if defined(__FreeBSD__)
inline constexpr bool kSandboxWantsReader = true;
#else
inline constexpr bool kSandboxWantsReader = false;
#endif

/// Thread safety: start() and seal() before threads exist, then watch() in one thread; is_lost() in any.
class KernelReader {
 public:
  /// Both outlive this.
  KernelReader(Log& log, SelfMetrics& metrics);
  KernelReader(const KernelReader&) = delete;
  KernelReader& operator=(const KernelReader&) = delete;

  /// Whether this system's sandbox is on, and wants it.
  static bool is_wanted(const Config& config) { return config.sandbox && kSandboxWantsReader; }
  /// Forks it, before anything is opened. What hinders it is logged: then this process reads the kernel itself, and can have
  /// no sandbox.
  void start(const Config& config);
  /// The kernel through it; null when there is none. Also reads process_* from then on.
  [[nodiscard]] std::shared_ptr<KernelView> view() const { return view_; }
  /// Once every source was opened and read: it reads nothing else from now on, and gives up root. An error is the end.
  Result<void> seal();
  /// Its process number; 0: there is none.
  [[nodiscard]] pid_t number() const { return process_.number(); }
  /// When a child has ended: says once that it is gone. False then.
  bool watch();
  [[nodiscard]] bool is_lost() const { return process_.is_lost(); }

 private:
  Log& log_;
  SelfMetrics& metrics_;
  WatchedHelper process_;
  std::shared_ptr<ReaderView> view_;
};

}  // namespace memstat
