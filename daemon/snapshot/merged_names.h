// SPDX-License-Identifier: BSD-2-Clause
// What else a row's objects are: the names behind a merged slab cache.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "daemon/snapshot/snapshot.h"

namespace memstat {

/// The other names of the rows of a snapshot, which must outlive this. Thread safety: immutable.
class MergedNames {
 public:
  explicit MergedNames(const Snapshot& snapshot);

  /// The names that the kernel gives to the row of this name, too, and to no other row; sorted. Empty for most.
  [[nodiscard]] std::vector<std::string_view> of(std::size_t row) const;

 private:
  const Snapshot& snapshot_;
  std::vector<std::string_view> listed_;  // slab caches that have a row of their own
};

}  // namespace memstat
