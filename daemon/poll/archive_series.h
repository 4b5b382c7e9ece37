// SPDX-License-Identifier: BSD-2-Clause
// The names of archives that are recorded one after the other: rec.tar.zst, rec-2.tar.zst, rec-3.tar.zst...
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/clock.h"
#include "core/base/result.h"
#include "core/base/unique_fd.h"

namespace memstat {

/// A new archive of a series.
struct SeriesArchive {
  std::string name;  ///< In its directory.
  UniqueFd file;     ///< Empty, mode 0600, locked for as long as it is open.
};

struct SeriesOptions {
  bool may_number = false;      ///< When the name is taken: whether the next number is used, or that is an error.
  std::uint64_t max_bytes = 0;  ///< Of all archives that are there, B; the oldest are removed. 0: no bound.
  std::int64_t max_age_ns = 0;  ///< Since an archive was written; older ones are removed. 0: no bound.
  std::int64_t owner = -1;      ///< The account that archives are given to, and whose count as ours, too; -1: none.
  std::int64_t group = -1;      ///< Its group.
  const Clock& clock = system_clock();
};

/// Creates the archive `path` in the directory `parent` (a descriptor of the one that `path` names). An empty file of ours
/// that no other process has locked, as a run that was killed leaves, is used again. With numbers, archives of the series
/// beyond the bounds are removed: plain files of our own account, or of the owner's, with exactly these names. Errors:
/// system_error with the path, EEXIST when the name is taken. Thread safety: safe.
Result<SeriesArchive> open_in_series(int parent, const std::string& path, const SeriesOptions& options);

}  // namespace memstat
