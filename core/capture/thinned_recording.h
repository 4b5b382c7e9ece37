// SPDX-License-Identifier: BSD-2-Clause
// A recording that becomes thinner with age, so that weeks of it stay small.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/capture/directory_writer.h"
#include "core/capture/time_line.h"

namespace memstat {

/// A directory of archives: of five minutes with every poll; after an hour, of an hour with its first poll of each minute;
/// after a day, of a day with the first poll of each hour. Times are UTC. Polls are recorded in polls_directory() and copied
/// from there; the recorder removes them, once they are older than kUnfiledNs. open_time_line() reads all as one capture,
/// also after a recorder was killed. Thread safety: one thread at a time.
class ThinnedRecording {
 public:
  static constexpr std::int64_t kUnfiledNs = 300LL * 1'000'000'000;

  /// Makes the directory, or goes on with a thinned recording that is there. `max_bytes`: on disk, beyond which the oldest
  /// archives are removed; 0: no limit. Errors: those of DirectoryWriter::open; kData if the directory holds anything else.
  static Result<ThinnedRecording> open(const std::string& directory, std::uint64_t max_bytes);

  [[nodiscard]] std::string polls_directory() const;

  /// Packs the polls of all five minutes that had ended before `now_ns` (ns since 1970), thins what has become old enough,
  /// and removes what exceeds the limit. Does nothing twice in the same five minutes. Errors: those of writing; the polls
  /// remain where they are, and the next call tries again.
  Result<void> file_until(std::int64_t now_ns);
  /// Packs the polls that are left. Must be the last call.
  Result<void> finish() { return pack_polls(INT64_MAX); }

 private:
  /// An archive, by the level of detail and the beginning of its time.
  struct Archive {
    std::string name;
    std::size_t level;
    std::int64_t begin_ns;
  };

  ThinnedRecording(DirectoryWriter writer, std::uint64_t max_bytes) : writer_(std::move(writer)), max_bytes_(max_bytes) {}
  [[nodiscard]] Result<std::vector<Archive>> archives() const;
  Result<void> pack_polls(std::int64_t end_ns);
  Result<void> thin(std::int64_t now_ns);
  Result<void> make_room();
  Result<bool> write(std::size_t level, std::int64_t begin_ns, std::vector<std::string> captures);

  DirectoryWriter writer_;
  std::uint64_t max_bytes_;
  std::optional<std::int64_t> window_;  // the five minutes of the last call
  std::int64_t packed_until_ns_ = INT64_MIN;
};

}  // namespace memstat
