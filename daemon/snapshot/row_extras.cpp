// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/snapshot/row_extras.h"

#include <algorithm>

#include "core/model/group_metrics.h"

namespace memstat {

GroupTasks::GroupTasks(const Snapshot& snapshot)
    : snapshot_(snapshot), tasks_(values_of(kMemcgTasks)), limits_(values_of(kMemcgTasksLimit)) {}

GroupTasks::Values GroupTasks::values_of(const SystemMetric& metric) const {
  Values values;
  for (const Snapshot::MachineSample& sample : snapshot_.samples(metric)) {
    snapshot_.labels_at(sample.labels, metric.label_names()).for_each([&](std::string_view, std::string_view group) {
      values.emplace_back(group, sample.bits);
    });
  }
  std::sort(values.begin(), values.end());
  return values;
}

std::optional<GroupTasks::Use> GroupTasks::of(std::size_t row) const {
  const Snapshot::Row& entry = snapshot_.rows()[row];
  if (entry.allocator != Allocator::kMemcg) return std::nullopt;
  const std::string_view group = entry.labels(snapshot_.label_bytes().data()).escaped_type();
  const auto find = [group](const Values& values) -> std::optional<std::uint64_t> {
    const auto found = std::lower_bound(values.begin(), values.end(), std::pair(group, std::uint64_t{0}));
    return found == values.end() || found->first != group ? std::nullopt : std::optional(found->second);
  };
  const auto tasks = find(tasks_);
  const auto limit = find(limits_);
  if (!tasks || !limit) return std::nullopt;
  return Use{.tasks = *tasks, .limit = *limit};
}

namespace {

/// A name with escaped characters does not match a link.
std::string_view cache_of(const Snapshot& snapshot, const Snapshot::Row& row) {
  return row.labels(snapshot.label_bytes().data()).escaped_type();
}

}  // namespace

MergedNames::MergedNames(const Snapshot& snapshot) : snapshot_(snapshot) {
  if (snapshot.merged_slabs == nullptr || snapshot.merged_slabs->empty()) return;
  for (const Snapshot::Row& row : snapshot.rows()) {
    if (row.allocator == Allocator::kSlab) listed_.push_back(cache_of(snapshot, row));
  }
  std::sort(listed_.begin(), listed_.end());
}

std::vector<std::string_view> MergedNames::of(std::size_t row) const {
  std::vector<std::string_view> names;
  const Snapshot::Row& entry = snapshot_.rows()[row];
  if (listed_.empty() || entry.allocator != Allocator::kSlab) return names;
  for (const std::string& name : snapshot_.merged_slabs->names_of(cache_of(snapshot_, entry))) {
    if (!std::binary_search(listed_.begin(), listed_.end(), name)) names.push_back(name);
  }
  return names;
}

}  // namespace memstat
