// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/snapshot/merged_names.h"

#include <algorithm>

namespace memstat {
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
