// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/snapshot/row_extras.h"

#include <algorithm>
#include <array>

#include "core/model/group_metrics.h"

namespace memstat {

GroupFacts::GroupFacts(const Snapshot& snapshot) : snapshot_(snapshot) {
  using Labels = std::array<std::string_view, kMaxSystemMetricLabels>;
  const auto take = [&](const SystemMetric& metric, auto set) {
    for (const Snapshot::MachineSample& sample : snapshot.samples(metric)) {
      Labels labels;
      std::size_t count = 0;
      snapshot.labels_at(sample.labels, metric.label_names()).for_each([&](std::string_view, std::string_view value) {
        labels[count++] = value;
      });
      set(facts_[labels[0]], labels, sample.bits);
    }
  };
  take(kMemcgTasks, [](Facts& facts, const Labels&, std::uint64_t tasks) { facts.tasks = tasks; });
  take(kMemcgTasksLimit, [](Facts& facts, const Labels&, std::uint64_t limit) { facts.tasks_limit = limit; });
  take(kMemcgHeadroom, [](Facts& facts, const Labels& labels, std::uint64_t bytes) {
    (labels[1] == "max" ? facts.headroom.bytes : facts.headroom.until_high) = bytes;
  });
  take(kMemcgHeadroomSetBy, [](Facts& facts, const Labels& labels, std::uint64_t) {
    if (labels[1] == "max") facts.headroom.set_by = unescaped_label(labels[2]);
  });
  take(kMemcgHeadroomUncertain, [](Facts& facts, const Labels& labels, std::uint64_t) {
    if (labels[1] == "max") facts.headroom.uncertain = unescaped_label(labels[2]);
  });
}

void write_headroom(JsonWriter& json, const GroupHeadroom& headroom) {
  if (headroom.bytes) json.field("headroom_bytes", *headroom.bytes);
  if (!headroom.set_by.empty()) json.field("headroom_set_by", headroom.set_by);
  if (!headroom.uncertain.empty()) json.field("headroom_uncertain", headroom.uncertain);
  if (headroom.until_high) json.field("headroom_until_high_bytes", *headroom.until_high);
}

const GroupFacts::Facts& GroupFacts::of(std::size_t row) const {
  static const Facts kNoFacts;
  const Snapshot::Row& entry = snapshot_.rows()[row];
  if (entry.allocator != Allocator::kMemcg) return kNoFacts;
  const auto found = facts_.find(entry.labels(snapshot_.label_bytes().data()).escaped_type());
  return found == facts_.end() ? kNoFacts : found->second;
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
