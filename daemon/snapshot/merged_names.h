// SPDX-License-Identifier: BSD-2-Clause
// The other names of a row's objects: those of caches merged into one slab cache.
#pragma once

#include <string_view>
#include <vector>

#include "daemon/snapshot/snapshot.h"

namespace memstat {

/// The other names of a snapshot's rows. The snapshot must outlive this object. Thread safety: immutable.
class MergedNames {
 public:
  explicit MergedNames(const Snapshot& snapshot);

  /// Other names of this row that have no row of their own, sorted. Usually empty.
  [[nodiscard]] std::vector<std::string_view> of(std::size_t row) const;

 private:
  const Snapshot& snapshot_;
  std::vector<std::string_view> listed_;  // slab caches with a row of their own
};

}  // namespace memstat
