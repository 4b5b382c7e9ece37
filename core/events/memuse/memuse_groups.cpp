// SPDX-License-Identifier: BSD-2-Clause
#include "core/events/memuse/memuse_groups.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace memstat::events {
namespace {

// The time in which old blocks can have been allocated is divided into this many parts. A growing leak left some in
// each.
constexpr std::size_t kParts = 4;
// It looks like a leak if less than one block in this many was freed.
constexpr std::uint64_t kFewFrees = 10;
// A leak that has stopped is recognized by its size: starting programs keep a few blocks of many kinds.
constexpr std::uint64_t kManyBlocks = 100;

// Callers of the allocator for parts of cached objects, and for the allocator's own data. Their caches are not marked
// as reclaimable, but the memory is freed with the inode, the directory entry or the slab.
constexpr std::array<std::string_view, 5> kCachingFunctions{"alloc_inode", "inode_init_always", "inode_init_always_gfp",
                                                            "__d_alloc", "alloc_slab_obj_exts"};

struct Amount {
  std::uint64_t blocks = 0;
  std::uint64_t bytes = 0;
};

using Process = std::pair<std::uint32_t, std::string>;

/// A group under construction.
struct Collected {
  std::map<std::uint64_t, Amount> stacks;  // by key
  std::map<std::string, Amount> types;
  std::map<Process, Amount> processes;
  std::map<std::uint64_t, Amount> control_groups;  // by key
  std::array<std::uint64_t, kParts> old_parts{};   // old blocks by time of allocation
  std::uint64_t reclaimable_bytes = 0;
  MemuseGroup group;
};

/// The type of a block whose cache is unknown: the kmalloc() cache for its size.
std::string type_of_size(std::uint32_t bytes) {
  constexpr std::uint32_t kLargest = 8192;
  if (bytes > kLargest) return "kmalloc above 8k";
  return bytes >= 1024 ? "kmalloc-" + std::to_string(bytes / 1024) + "k" : "kmalloc-" + std::to_string(bytes);
}

template <typename Map>
const typename Map::value_type& largest(const Map& amounts, std::uint64_t Amount::*figure) {
  return *std::max_element(amounts.begin(), amounts.end(),
                           [&](const auto& a, const auto& b) { return a.second.*figure < b.second.*figure; });
}

class Grouping {
 public:
  Grouping(const MemuseTable& table, std::size_t match, const NameOfCaller& name_of)
      : table_(table), match_(match), name_of_(name_of) {
    for (const MemuseStack& stack : table.stacks) stacks_.emplace(stack.key, &stack);
    for (const MemuseCache& cache : table.caches) caches_.emplace(cache.key, &cache);
    for (const ControlGroupPath& group : table.control_groups) control_groups_.emplace(group.key, &group);
  }

  void add(const MemuseBlock& block, std::string_view wanted) {
    const auto cache = caches_.find(block.cache);
    const bool is_named = cache != caches_.end();
    const std::string type = is_named ? cache->second->name : type_of_size(block.bytes);
    if (!wanted.empty() && type != wanted) return;
    Collected& into = collected_[beginning_of(block.stack)];
    for (Amount* const amount :
         {&into.stacks[block.stack], &into.types[type], &into.processes[Process(block.process, block.command)],
          &into.control_groups[block.control_group]}) {
      ++amount->blocks;
      amount->bytes += block.bytes;
    }
    if (is_named && cache->second->is_reclaimable) into.reclaimable_bytes += block.bytes;
    MemuseGroup& group = into.group;
    ++group.blocks;
    group.bytes += block.bytes;
    group.oldest_ns = std::max(group.oldest_ns, block.age_ns);
    if (block.age_ns < table_.older_ns) return;
    ++group.old_blocks;
    group.old_bytes += block.bytes;
    ++into.old_parts[part_of(block.age_ns)];
  }

  std::vector<MemuseGroup> finish() {
    for (const MemuseStack& stack : table_.stacks) {
      const auto found = collected_.find(beginning_of(stack.key));
      if (found == collected_.end()) continue;
      MemuseGroup& group = found->second.group;
      group.allocations += stack.allocations;
      group.old_frees += stack.old_frees;
      group.silent_frees += stack.silent_frees;
    }
    std::vector<MemuseGroup> groups;
    for (auto& [frames, collected] : collected_) groups.push_back(finished(collected));
    const auto key = [](const MemuseGroup& group) {
      return std::tuple(group.verdict != MemuseVerdict::kSuspect, ~group.bytes, ~group.blocks);
    };
    std::stable_sort(groups.begin(), groups.end(), [&](const auto& a, const auto& b) { return key(a) < key(b); });
    return groups;
  }

 private:
  /// The frames that identify a block's group.
  [[nodiscard]] std::vector<std::uint64_t> beginning_of(std::uint64_t stack) const {
    const auto found = stacks_.find(stack);
    if (found == stacks_.end()) return {};
    const std::vector<std::uint64_t>& frames = found->second->frames;
    return {frames.begin(), frames.begin() + static_cast<std::ptrdiff_t>(std::min(match_, frames.size()))};
  }

  /// The part of the time of old blocks in which a block of this age was allocated.
  [[nodiscard]] std::size_t part_of(std::int64_t age_ns) const {
    const std::int64_t span_ns = std::max<std::int64_t>(1, table_.watched_ns - table_.older_ns);
    const double place = static_cast<double>(table_.watched_ns - age_ns) / static_cast<double>(span_ns);
    return static_cast<std::size_t>(std::clamp(place, 0.0, 0.999) * kParts);
  }

  [[nodiscard]] bool is_cached(const Collected& collected) const {
    if (collected.reclaimable_bytes * 2 > collected.group.bytes) return true;
    const auto& frames = collected.group.frames;
    return std::any_of(frames.begin(), frames.end(), [&](std::uint64_t frame) {
      return std::find(kCachingFunctions.begin(), kCachingFunctions.end(), name_of_(frame)) != kCachingFunctions.end();
    });
  }

  [[nodiscard]] MemuseVerdict verdict_of(const Collected& collected) const {
    const MemuseGroup& group = collected.group;
    const std::uint64_t frees = group.allocations - std::min(group.allocations, group.blocks);
    const bool is_kept = group.old_blocks >= kManyBlocks && frees * kFewFrees < group.blocks;
    if (!group.is_growing && !is_kept) return MemuseVerdict::kInUse;
    if (group.silent_frees * kFewFrees >= group.old_blocks) return MemuseVerdict::kNotKnown;
    if (group.old_frees * kFewFrees >= group.old_blocks) return MemuseVerdict::kInUse;
    return is_cached(collected) ? MemuseVerdict::kCached : MemuseVerdict::kSuspect;
  }

  MemuseGroup finished(Collected& collected) const {
    MemuseGroup& group = collected.group;
    const auto stack = stacks_.find(largest(collected.stacks, &Amount::blocks).first);
    if (stack != stacks_.end()) group.frames = stack->second->frames;
    group.stacks = collected.stacks.size();
    group.type = largest(collected.types, &Amount::bytes).first;
    group.types = collected.types.size();
    std::tie(group.process, group.command) = largest(collected.processes, &Amount::blocks).first;
    group.processes = collected.processes.size();
    const auto control_group = control_groups_.find(largest(collected.control_groups, &Amount::blocks).first);
    if (control_group != control_groups_.end()) group.control_group = control_group->second->path;
    const auto& parts = collected.old_parts;
    group.is_growing = std::find(parts.begin(), parts.end(), 0) == parts.end();
    group.verdict = stack == stacks_.end() ? MemuseVerdict::kNotKnown : verdict_of(collected);
    return std::move(group);
  }

  const MemuseTable& table_;
  std::size_t match_;
  const NameOfCaller& name_of_;
  std::unordered_map<std::uint64_t, const MemuseStack*> stacks_;
  std::unordered_map<std::uint64_t, const MemuseCache*> caches_;
  std::unordered_map<std::uint64_t, const ControlGroupPath*> control_groups_;
  std::map<std::vector<std::uint64_t>, Collected> collected_;
};

}  // namespace

std::string_view to_string(MemuseVerdict verdict) {
  constexpr std::array<std::string_view, 4> kWords{"in use", "suspect", "cached", "not known"};
  return kWords[static_cast<std::size_t>(verdict)];
}

std::vector<MemuseGroup> group_blocks(const MemuseTable& table, std::size_t match, std::string_view type,
                                      const NameOfCaller& name_of) {
  Grouping grouping(table, match, name_of);
  for (const MemuseBlock& block : table.blocks) grouping.add(block, type);
  return grouping.finish();
}

}  // namespace memstat::events
