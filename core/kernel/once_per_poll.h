// SPDX-License-Identifier: BSD-2-Clause
// A kernel view that reads a file which several sources want once a poll: some of them are costly to the kernel, and figures
// of one read fit together.
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
/// The same of sysctls.
bool is_shared_sysctl(std::string_view name);

/// Passes every read on to another view, but the second and later read of a shared file or sysctl in one poll: that is a
/// copy of what the first one brought, bytes or error. Nothing is kept from one poll to the next but the room for it, so a
/// steady poll allocates nothing. Outside of polls everything is passed on.
///
/// No lock is held while the kernel is read: two threads that want a file at the same time both read it, so a read that
/// hangs does not delay other readers, and what it brings after its poll is over goes to its own reader only. Thread safety:
/// as KernelView, and begin_poll and end_poll in one thread, also while reads are under way.
class OncePerPollView final : public ForwardingKernelView {
 public:
  /// kEverything: sources read at each poll what seldom changes, too, for somebody who compares two polls of his own
  /// choosing.
  enum class Reads : std::uint8_t { kWhatMayHaveChanged, kEverything };
  explicit OncePerPollView(std::shared_ptr<KernelView> inner, Reads reads = Reads::kWhatMayHaveChanged)
      : ForwardingKernelView(*inner), owned_(std::move(inner)), reads_(reads) {}

  /// From here on shared files are read once; what earlier polls read is forgotten.
  void begin_poll();
  void end_poll();

  Result<void> read_file(std::string_view path, Buffer& out) override;
  Result<void> read_sysctl(std::string_view name, Buffer& out, std::size_t size_hint) override;
  void read_numbers(std::span<const std::string> names, Buffer& scratch, const TakeNumber& take) override;
  [[nodiscard]] bool reads_this_machine() const override {
    return reads_ == Reads::kWhatMayHaveChanged && inner_.reads_this_machine();
  }

 private:
  /// What `read` brings, or what it brought before in this poll.
  template <typename Read>
  Result<void> read_once(std::string_view name, Buffer& out, Read read);

  /// What the first read of a file in a poll brought.
  struct Brought {
    std::uint64_t poll = 0;  // in which; 0: none yet
    Buffer bytes;
    Result<void> result;
  };

  void keep(std::string_view path, std::uint64_t poll, std::string_view bytes, const Result<void>& result);
  [[nodiscard]] std::uint64_t current_poll() const;
  [[nodiscard]] bool is_brought(std::string_view name, std::uint64_t poll) const;

  std::shared_ptr<KernelView> owned_;
  Reads reads_;
  mutable Mutex mutex_;  // held for copies in memory, never for a read of the kernel
  std::uint64_t poll_ MEMSTAT_GUARDED_BY(mutex_) = 0;
  bool is_in_poll_ MEMSTAT_GUARDED_BY(mutex_) = false;
  /// And sysctls, whose names begin with no slash.
  std::map<std::string, Brought, std::less<>> files_ MEMSTAT_GUARDED_BY(mutex_);
};

}  // namespace memstat
