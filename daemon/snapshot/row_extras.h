// SPDX-License-Identifier: BSD-2-Clause
// Facts about rows that are not figures: tasks of control groups and their limits, and other names of slab caches.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/snapshot/snapshot.h"

namespace memstat {

/// The tasks of the control groups of a snapshot. The snapshot must outlive this object. Thread safety: immutable.
class GroupTasks {
 public:
  explicit GroupTasks(const Snapshot& snapshot);

  struct Use {
    std::uint64_t tasks = 0;
    std::uint64_t limit = 0;
  };
  /// Nothing for a group without limit, and for rows of other allocators.
  [[nodiscard]] std::optional<Use> of(std::size_t row) const;

 private:
  using Values = std::vector<std::pair<std::string_view, std::uint64_t>>;  // by the escaped name of the group, sorted
  [[nodiscard]] Values values_of(const SystemMetric& metric) const;

  const Snapshot& snapshot_;
  Values tasks_;
  Values limits_;
};

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
