// SPDX-License-Identifier: BSD-2-Clause
// Facts about rows that are not figures: tasks and headroom of control groups, and other names of slab caches.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/json_writer.h"
#include "daemon/snapshot/snapshot.h"

namespace memstat {

/// What a control group can still allocate; core/model/headroom.h.
struct GroupHeadroom {
  std::optional<std::uint64_t> bytes = {};       ///< Until a process is killed.
  std::string set_by = {};                       ///< The group above whose limit it is, or "machine"; "": its own.
  std::string uncertain = {};                    ///< Why `bytes` is empty; "": it is not, or the group has no limit.
  std::optional<std::uint64_t> until_high = {};  ///< Until it is slowed down.
};

/// Writes the members of the object of a type.
void write_headroom(JsonWriter& json, const GroupHeadroom& headroom);

/// Metrics of the control groups of a snapshot. Thread safety: immutable.
class GroupFacts {
 public:
  explicit GroupFacts(const Snapshot& snapshot);

  struct Facts {
    std::optional<std::uint64_t> tasks = {};
    std::optional<std::uint64_t> tasks_limit = {};
    GroupHeadroom headroom = {};
  };
  /// Empty for a group without any, and for rows of other allocators. Valid as long as this object and the snapshot.
  [[nodiscard]] const Facts& of(std::size_t row) const;

 private:
  const Snapshot& snapshot_;
  std::unordered_map<std::string_view, Facts> facts_;  // by the escaped name of the group
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
