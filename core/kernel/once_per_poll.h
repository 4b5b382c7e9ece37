// SPDX-License-Identifier: BSD-2-Clause
// A kernel view that reads a file once per poll if several sources need it. Some of these files are expensive for the
// kernel, and figures from one read are consistent.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/buffer.h"
#include "core/base/mutex.h"
#include "core/kernel/forwarding_view.h"

namespace memstat {

/// Whether several sources read this file: /proc/meminfo and the like, and the same figures of one NUMA node. The list is
/// in once_per_poll.cpp; a contract test reports which file it lacks.
bool is_shared_file(std::string_view path);
/// The same for sysctls.
bool is_shared_sysctl(std::string_view name);

/// Forwards every read to another view, except repeated reads of a shared file or sysctl in one poll: they get a copy of the
/// first result, bytes or error. Buffers are reused, so a steady poll allocates nothing. Outside of polls every read is
/// forwarded.
///
/// No lock is held while the kernel is read. If two threads read a file at the same time, both read the kernel, so a blocked
/// read does not delay other readers. A result that arrives after its poll is returned to its reader only. Thread safety: as
/// KernelView; begin_poll and end_poll must be called by one thread, also during reads.
class OncePerPollView final : public ForwardingKernelView {
 public:
  /// kEverything: sources read slowly changing data at each poll, too, for a user who compares two polls.
  enum class Reads : std::uint8_t { kWhatMayHaveChanged, kEverything };
  explicit OncePerPollView(std::shared_ptr<KernelView> inner, Reads reads = Reads::kWhatMayHaveChanged)
      : ForwardingKernelView(*inner), owned_(std::move(inner)), reads_(reads) {}

  /// Starts a poll, in which shared files are read once. Discards the results of the previous poll.
  void begin_poll();
  void end_poll();
  /// Frees the results. Between polls.
  void shrink();

  Result<void> read_file(std::string_view path, Buffer& out) override;
  BaseDirectory open_base(std::string_view directory) override { return inner_.open_base(directory); }
  /// Not for shared files.
  Result<void> read_at_base(const BaseDirectory& directory, std::string_view path, Buffer& out) override {
    return inner_.read_at_base(directory, path, out);
  }
  Result<void> read_sysctl(std::string_view name, Buffer& out, std::size_t size_hint) override;
  void read_numbers(std::span<const std::string> names, Buffer& scratch, const TakeNumber& take) override;
  [[nodiscard]] bool reads_this_machine() const override {
    return reads_ == Reads::kWhatMayHaveChanged && inner_.reads_this_machine();
  }

 private:
  /// The result of the first call with this name in this poll.
  template <typename Read>
  Result<void> read_once(std::string_view name, Buffer& out, Read read);

  /// The result of the first read of a file in a poll.
  struct SharedResult {
    std::uint64_t poll = 0;  // the poll that read it; 0: none
    Buffer bytes;
    Result<void> result;
  };

  void keep(std::string_view path, std::uint64_t poll, std::string_view bytes, const Result<void>& result);
  [[nodiscard]] std::uint64_t current_poll() const;
  [[nodiscard]] bool has_result(std::string_view name, std::uint64_t poll) const;

  std::shared_ptr<KernelView> owned_;
  Reads reads_;
  mutable Mutex mutex_;  // held for copies in memory, never during a read of the kernel
  std::uint64_t poll_ MEMSTAT_GUARDED_BY(mutex_) = 0;
  bool is_in_poll_ MEMSTAT_GUARDED_BY(mutex_) = false;
  /// By path or by sysctl name, which never begins with a slash.
  std::map<std::string, SharedResult, std::less<>> files_ MEMSTAT_GUARDED_BY(mutex_);
};

}  // namespace memstat
