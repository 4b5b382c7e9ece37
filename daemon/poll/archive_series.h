// SPDX-License-Identifier: BSD-2-Clause
// The names of successive archives: rec.tar.zst, rec-2.tar.zst, rec-3.tar.zst...
#pragma once

#include <cstdint>
#include <string>

#include "core/base/clock.h"
#include "core/base/result.h"
#include "core/base/unique_fd.h"

namespace memstat {

/// A new archive of a series.
struct SeriesArchive {
  std::string name;  ///< In its directory.
  UniqueFd file;     ///< Empty, mode 0600, locked while it is open.
};

struct SeriesOptions {
  bool may_number = false;      ///< If the name exists: use the next number; otherwise it is an error.
  std::uint64_t max_bytes = 0;  ///< Maximum size of all existing archives, B; the oldest are removed. 0: no limit.
  std::int64_t max_age_ns = 0;  ///< Maximum time since an archive was written; older ones are removed. 0: no limit.
  std::int64_t owner = -1;  ///< The account that will own archives, and whose archives belong to the series, too; -1: none.
  std::int64_t group = -1;  ///< Its group.
  const Clock& clock = system_clock();
};

/// Creates the archive `path`; `parent` is a descriptor of its directory. Reuses an empty, unlocked file of the same
/// owner, as a killed run leaves behind. With numbers, removes archives of the series above the limits: regular files
/// with exactly these names, owned by this account or by `owner`. Errors: system_error with the path; EEXIST if the
/// name exists.
Result<SeriesArchive> open_in_series(int parent, const std::string& path, const SeriesOptions& options);

}  // namespace memstat
