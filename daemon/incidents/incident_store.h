// SPDX-License-Identifier: BSD-2-Clause
// The directory of incidents.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/mutex.h"
#include "core/capture/directory_writer.h"
#include "core/capture/recent_polls.h"
#include "daemon/incidents/incident.h"

namespace memstat {

/// Writes incidents, and removes the oldest ones. Works when its path can no longer be traversed. Thread safety: write() on
/// one thread at a time; incidents() on any.
class IncidentStore {
 public:
  struct Limits {
    std::uint64_t max_bytes = 20ULL << 20;  ///< of all files
    std::uint64_t max_files = 20;           ///< at least 1
    std::uint64_t max_file_bytes = 256 << 10;
  };

  /// Creates the last component of `directory` if it is missing. Errors: those of DirectoryWriter::open.
  static Result<std::unique_ptr<IncidentStore>> open(const std::string& directory, const DirectoryOwner& owner,
                                                     const Limits& limits);

  [[nodiscard]] const std::string& directory() const { return writer_.name(); }
  /// Newest first.
  [[nodiscard]] std::vector<Incident> incidents() const;
  [[nodiscard]] bool has(std::string_view file) const;

  /// The bytes of one of them. Errors: system_error. Thread safety: safe.
  [[nodiscard]] Result<std::string> read(std::string_view file) const;

  /// Writes the polls and the note, and waits for the disk. Replaces the incident of the same file. If the disk is full, the
  /// oldest incidents go, never this one. If the file is too large, it does without control groups that moved least, then
  /// without polls before the last two. Sets `bytes`, `polls`, `left_out` and `figures`. Errors: system_error; what was
  /// there before stays.
  Result<void> write(Incident& incident, KeptPolls polls);

 private:
  IncidentStore(DirectoryWriter writer, const Limits& limits) : writer_(std::move(writer)), limits_(limits) {}
  Result<void> pack(Incident& incident, const KeptPolls& polls, int fd);
  Result<void> pack_small(Incident& incident, KeptPolls& polls, int fd);
  Result<void> write_once(Incident& incident, KeptPolls& polls);
  [[nodiscard]] bool is_over_limits() const;
  bool remove_oldest(std::string_view except);

  DirectoryWriter writer_;
  const Limits limits_;
  mutable Mutex mutex_;
  std::vector<Incident> incidents_ MEMSTAT_GUARDED_BY(mutex_);  // newest first
};

}  // namespace memstat
