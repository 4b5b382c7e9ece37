// SPDX-License-Identifier: BSD-2-Clause
// Manages the process that reads the kernel, on systems whose sandbox denies that to the process that faces the network:
// FreeBSD's capability mode. core/kernel/reader_process.h has both ends.
#pragma once

#include <memory>

#include "config/config.h"
#include "core/base/not_copyable.h"
#include "core/kernel/reader_process.h"
#include "daemon/process/watched_helper.h"

namespace memstat {

/// Whether this system's sandbox needs such a process. Linux's does not: the cost exceeds the benefit
/// (tests/bench/README.md).
#if defined(__FreeBSD__)
inline constexpr bool kSandboxWantsReader = true;
#else
inline constexpr bool kSandboxWantsReader = false;
#endif

/// Thread safety: start() and seal() before threads exist, then watch() in one thread; is_lost() in any.
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
  /// Call when a child has exited. Reports the loss once, and then returns false.
  bool watch();
  [[nodiscard]] bool is_lost() const { return process_.is_lost(); }

 private:
  Log& log_;
  SelfMetrics& metrics_;
  WatchedHelper process_;
  std::shared_ptr<ReaderView> view_;
};

}  // namespace memstat
