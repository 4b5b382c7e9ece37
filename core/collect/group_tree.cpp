// SPDX-License-Identifier: BSD-2-Clause
#include "core/collect/group_tree.h"

#include <algorithm>
#include <array>
#include <functional>

#include "core/base/hysteresis.h"

namespace memstat {

void KnownGroup::note_usage(std::uint64_t bytes) {
  moves = bytes != usage;
  usage = bytes;
  const auto gap = static_cast<std::int64_t>(bytes - slow_usage);  // may be negative
  slow_usage = slow_usage == 0 ? bytes : slow_usage + static_cast<std::uint64_t>(gap / 8);
}

void KnownGroup::note_kills(std::uint64_t count, std::uint32_t read) {
  if (is_looked_at && count > kills) last_kill = read;
  kills = count;
}

void GroupTree::clear() {
  groups_.assign(1, KnownGroup());
  free_ = KnownGroup::kNone;
  count_ = 0;
}

std::uint32_t GroupTree::add(std::uint32_t parent, std::string_view name) {
  std::uint32_t index = free_;
  if (index == KnownGroup::kNone) {
    index = static_cast<std::uint32_t>(groups_.size());
    groups_.emplace_back();
  } else {
    free_ = groups_[index].next;
    groups_[index].next = KnownGroup::kNone;
  }
  KnownGroup& group = groups_[index];
  group.name = name;
  group.parent = parent;
  group.depth = static_cast<std::uint8_t>(std::min(groups_[parent].depth + 1, 255));
  ++count_;
  return index;
}

/// Recursion ends at the depth of the tree, which the bounds of a walk limit.
void GroupTree::remove(std::uint32_t index) {
  for (std::uint32_t below = groups_[index].first_below; below != KnownGroup::kNone;) {
    const std::uint32_t next = groups_[below].next;
    remove(below);
    below = next;
  }
  groups_[index] = KnownGroup();
  groups_[index].next = free_;
  free_ = index;
  --count_;
}

void GroupTree::set_below(std::uint32_t parent, std::span<const std::string_view> names) {
  std::uint32_t known = groups_[parent].first_below;
  std::uint32_t last = KnownGroup::kNone;
  groups_[parent].below = groups_[parent].unlisted = 0;
  groups_[parent].first_below = KnownGroup::kNone;
  const auto remove_until = [&](const std::string_view* name) {
    while (known != KnownGroup::kNone && (name == nullptr || groups_[known].name < *name)) {
      const std::uint32_t next = groups_[known].next;
      remove(known);
      known = next;
    }
  };
  for (const std::string_view& name : names) {
    remove_until(&name);
    std::uint32_t index = known;
    if (known != KnownGroup::kNone && groups_[known].name == name) {
      known = groups_[known].next;
      groups_[index].next = KnownGroup::kNone;
    } else if (count_ < kMaxGroups) {
      index = add(parent, name);
    } else {
      ++groups_[parent].unlisted;
      continue;
    }
    ++groups_[parent].below;
    (last == KnownGroup::kNone ? groups_[parent].first_below : groups_[last].next) = index;
    last = index;
  }
  remove_until(nullptr);
}

bool GroupTree::append_path(std::uint32_t index, FixedPath& path) const {
  std::array<std::uint32_t, 256> above;  // from the group up to the root, which has no name
  std::size_t depth = 0;
  for (; index != kRoot && depth < above.size(); index = groups_[index].parent) above[depth++] = index;
  while (depth > 0) {
    if (!path.append("/") || !path.append(groups_[above[--depth]].name)) return false;
  }
  return true;
}

namespace {

constexpr std::uint32_t kReadsOfKills = 360;
constexpr double kWeightOfKill = 1e30;  // above any number of bytes

/// The read since which a kill counts, so that at most `most` of the candidates have one that does.
std::uint32_t first_read_of_kills(const GroupTree& tree, std::span<std::uint32_t> candidates, std::uint64_t most,
                                  std::uint32_t read) {
  const std::uint32_t oldest = read > kReadsOfKills ? read - kReadsOfKills : 1;
  const auto killed = [&](std::uint32_t index) { return tree[index].last_kill >= oldest; };
  const auto end = std::partition(candidates.begin(), candidates.end(), killed);
  if (static_cast<std::uint64_t>(end - candidates.begin()) <= most) return oldest;
  const auto newest = candidates.begin() + static_cast<std::ptrdiff_t>(most);
  std::nth_element(candidates.begin(), newest, end,
                   [&](std::uint32_t a, std::uint32_t b) { return tree[a].last_kill > tree[b].last_kill; });
  return tree[*newest].last_kill + 1;
}

double weight_of(const KnownGroup& group, std::uint32_t first_read_of_kills) {
  const auto bytes = [](std::uint64_t amount) { return static_cast<double>(amount); };
  const bool is_near_limit = group.limit < kNoGroupLimit && group.usage >= group.limit / 10 * 9;
  double weight = bytes(group.usage) * (is_near_limit ? 4 : 1);
  if (group.usage > group.slow_usage) weight += 16 * bytes(group.usage - group.slow_usage);
  if (group.is_chosen) weight = weight_of_chosen(weight);
  return group.last_kill >= first_read_of_kills ? weight + kWeightOfKill : weight;
}

}  // namespace

void choose_groups(GroupTree& tree, std::span<const std::uint32_t> order, std::uint64_t most, std::uint32_t read,
                   GroupWeights& scratch) {
  std::vector<std::uint32_t>& candidates = scratch.candidates;
  candidates.clear();
  for (const std::uint32_t index : order) {
    if (tree[index].is_present()) candidates.push_back(index);
  }
  const auto choose = [&](bool is_chosen) {
    for (const std::uint32_t index : candidates) tree[index].is_chosen = is_chosen;
  };
  if (candidates.size() <= most) return choose(true);
  const std::uint32_t since = first_read_of_kills(tree, candidates, most / 2, read);
  std::vector<double>& weights = scratch.weights;
  weights.assign(tree.end_index(), 0);
  for (const std::uint32_t index : candidates) weights[index] = weight_of(tree[index], since);
  // A group counts at least as much as any below it.
  for (std::size_t i = order.size(); i-- > 1;) {
    double& above = weights[tree[order[i]].parent];
    above = std::max(above, weights[order[i]]);
  }
  choose(false);
  // In a tie, groups of higher levels come first, so that none is chosen without the one above it.
  std::nth_element(candidates.begin(), candidates.begin() + static_cast<std::ptrdiff_t>(most), candidates.end(),
                   [&](std::uint32_t a, std::uint32_t b) {
                     if (weights[a] != weights[b]) return weights[a] > weights[b];
                     return tree[a].depth != tree[b].depth ? tree[a].depth < tree[b].depth : a < b;
                   });
  candidates.resize(most);
  choose(true);
}

}  // namespace memstat
