// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/snapshot/group_tasks.h"

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

}  // namespace memstat
