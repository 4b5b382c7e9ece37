// SPDX-License-Identifier: BSD-2-Clause
// A kernel view that forwards every read to another view and remembers the last polls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "core/base/clock.h"
#include "core/base/mutex.h"
#include "core/capture/archive_stream.h"
#include "core/capture/manifest.h"
#include "core/capture/observed_view.h"
#include "core/capture/poll_ring.h"

namespace memstat {

/// Polls with what a capture needs besides.
struct KeptPolls {
  PollRing ring;
  CaptureManifest manifest;  ///< of this machine
  TableTexts texts;
  std::size_t most = SIZE_MAX;                      ///< only the last ones are written
  std::set<std::string, std::less<>> without = {};  ///< directories of control groups that are not written
};

/// Unlike a recording, it does not change what is read, and writes nothing until asked. Thread safety: reads as in
/// KernelView; end_poll by the polling thread; copy() by any.
class RecentPolls final : public ObservedKernelView {
 public:
  /// `clock` must outlive it.
  RecentPolls(std::shared_ptr<KernelView> inner, std::size_t max_bytes, const Clock& clock);

  /// Call after the sources were opened, before the first poll.
  void end_opening();
  /// The reads since the last call were a poll.
  void end_poll(std::string_view label);
  [[nodiscard]] KeptPolls copy() const;
  /// Whether files of the last poll had no room.
  [[nodiscard]] bool is_crowded() const;
  /// See PollRing::want.
  void want(std::span<const std::string> groups);

 private:
  void observe(std::uint64_t begun, Kind kind, std::string_view name, std::string_view bytes, int system_errno) override;
  void observe_standing(Kind kind, std::string_view name, int system_errno) override {
    observe(0, kind, name, {}, system_errno);
  }

  std::shared_ptr<KernelView> owned_;
  const Clock& clock_;
  const CaptureManifest manifest_;
  mutable Mutex mutex_;
  PollRing ring_ MEMSTAT_GUARDED_BY(mutex_);
  bool is_in_poll_ MEMSTAT_GUARDED_BY(mutex_) = false;
  PollInfo info_ MEMSTAT_GUARDED_BY(mutex_);
};

/// Writes the polls as a capture, after a file NAME with `note`, which a capture's readers ignore.
Result<void> write_polls(const KeptPolls& polls, std::string_view note_name, std::string_view note, ArchiveSink& sink);

}  // namespace memstat
