// SPDX-License-Identifier: BSD-2-Clause
// Several captures of one machine as one time line: the archives in a directory, as recorders leave them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/capture/archive.h"
#include "core/capture/files.h"

namespace memstat {

/// The captures that make a directory a time line: its archives, and polls that a recorder has not packed yet. Sorted by
/// name; empty if there are none, or the directory is a capture itself.
std::vector<std::string> captures_in(const std::string& directory);

/// The polls of several captures, numbered anew in the order of their times; one that two of them hold counts once. A
/// capture is opened once to list its polls, and again when one of them is read; the last one stays open.
class TimeLine final : public PackedFiles {
 public:
  /// Called for each poll, the oldest first: whether it is part of the line.
  using Keep = std::function<bool(std::int64_t realtime_ns)>;

  /// Captures that cannot be read, or whose system, page size or CPUs are not those of the newest, are left out with a note.
  /// Errors: those of the first capture if none can be read. `keep` may be empty.
  static Result<std::unique_ptr<TimeLine>> open(std::string name, const std::vector<std::string>& captures,
                                                const ArchiveLimits& limits, const Keep& keep = {});

  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] std::vector<std::string> notes() const override { return notes_; }
  Result<void> list(std::string_view path, std::vector<std::string>& names) const override;
  /// Times of the polls in ns since 1970, the oldest first.
  [[nodiscard]] std::vector<std::int64_t> times() const;

 private:
  struct Poll {
    std::int64_t realtime_ns = 0;
    std::size_t capture = 0;
    std::string directory;  // in its capture
  };
  struct Listed;

  TimeLine(std::string name, const ArchiveLimits& limits);
  Result<void> take(const std::vector<std::string>& captures, const Keep& keep);
  Result<Listed> list_capture(const std::string& path) const;
  [[nodiscard]] const Poll* find(std::string_view poll) const;
  [[nodiscard]] bool is_packed(std::string_view poll) const override { return find(poll) != nullptr; }
  Result<Files> unpack(std::string_view poll) const MEMSTAT_REQUIRES(mutex_) override;

  const std::string name_;
  const ArchiveLimits limits_;
  std::vector<std::string> notes_;
  std::vector<std::string> captures_;
  std::vector<Poll> polls_;
  mutable Files open_ MEMSTAT_GUARDED_BY(mutex_);  // captures_[open_capture_]
  mutable std::size_t open_capture_ MEMSTAT_GUARDED_BY(mutex_) = 0;
};

}  // namespace memstat
