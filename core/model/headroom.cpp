// SPDX-License-Identifier: BSD-2-Clause
#include "core/model/headroom.h"

#include <array>
#include <utility>

#include "core/base/arithmetic.h"
#include "core/model/group_metrics.h"

namespace memstat {
namespace {

using Word = GroupTable::Word;
constexpr std::uint64_t kNone = GroupTable::kNone;

/// The cache of a group that reclaim of the group above leaves, because of memory.min.
std::uint64_t protected_cache(const GroupTable& groups, std::size_t row) {
  const std::uint64_t clean = groups.known(row, Word::kClean);
  const std::uint64_t fixed = without(groups.known(row, Word::kUsage), clean);
  return std::min(clean, without(groups.known(row, Word::kMin), fixed));
}

/// Room below the limit `most`, of which `used` is taken, without swap.
Room room_of(const GroupTable& groups, std::size_t row, std::uint64_t most, std::uint64_t used, std::uint64_t kept) {
  if (most == kNone) return {};
  const std::uint64_t clean = groups.known(row, Word::kClean, kNone);
  const std::uint64_t taken = saturating_sum(used, kept);
  if (clean == kNone) return {.sure = without(most, taken), .possible = most};
  const std::uint64_t possible = saturating_sum(clean, groups.known(row, Word::kDoubtful));
  return {.sure = without(saturating_sum(most, clean), taken), .possible = without(saturating_sum(most, possible), taken)};
}

/// The least of a group and those above it. `sure` is without swap.
struct Least {
  Room room;
  std::uint64_t both = kNone;
  std::uint64_t set_by = kNone;

  static Least above(const GroupTable& groups, std::size_t row) {
    return {.room = {.sure = groups.known(row, Word::kAboveSure, kNone),
                     .possible = groups.known(row, Word::kAbovePossible, kNone)},
            .both = groups.known(row, Word::kAboveBoth, kNone),
            .set_by = groups.known(row, Word::kAboveSetBy, kNone)};
  }

  /// Adds a group whose groups below keep `kept` of its cache.
  void add(const GroupTable& groups, std::size_t row, Word limit, std::uint64_t kept) {
    const Room own = room_of(groups, row, groups.known(row, limit, kNone), groups.known(row, Word::kUsage), kept);
    take(own.sure, saturating_sum(own.possible, groups.known(row, Word::kSwapPossible)), row);
    if (limit != Word::kLimit) return;
    const std::uint64_t used = groups.known(row, Word::kBothUsage, kNone);
    if (used == kNone) return;
    const Room with_swap = room_of(groups, row, groups.known(row, Word::kBothMax, kNone), used, kept);
    if (with_swap.sure < std::min(both, room.sure)) set_by = row;
    both = std::min(both, with_swap.sure);
    room.possible = std::min(room.possible, with_swap.possible);
  }
  void take(std::uint64_t sure, std::uint64_t possible, std::uint64_t row) {
    if (sure < std::min(both, room.sure)) set_by = row;
    room.sure = std::min(room.sure, sure);
    room.possible = std::min(room.possible, possible);
  }
};

void prepare_swap(GroupTable& groups, std::size_t row, const Room& machine) {
  const std::uint64_t parent = groups.at(row, Word::kParent);
  Room swap = parent == kNone ? machine : Room{groups.at(parent, Word::kSwapSure), groups.at(parent, Word::kSwapPossible)};
  const std::uint64_t used = groups.at(row, Word::kSwapUsage);
  const std::uint64_t left = used == kNone ? 0 : without(groups.at(row, Word::kSwapMax), used);
  swap.sure = std::min(swap.sure, left);
  if (used != kNone) swap.possible = std::min(swap.possible, left);
  groups.at(row, Word::kSwapSure) = swap.sure;
  groups.at(row, Word::kSwapPossible) = swap.possible;
}

}  // namespace

std::string_view to_string(HeadroomDoubt doubt) {
  constexpr std::array<std::string_view, 5> kNames = {"", "hidden_groups", "not_read", "kernel_memory", "swap"};
  return kNames[static_cast<std::size_t>(doubt)];
}

std::string_view doubt_words(std::string_view label) {
  for (const auto& [doubt, words] : std::array<std::pair<HeadroomDoubt, std::string_view>, 4>{
           {{HeadroomDoubt::kHidden, "memstatd does not see the groups above it, which may have lower limits"},
            {HeadroomDoubt::kNotRead, "a group above it, its memory.stat or /proc/meminfo is not read"},
            {HeadroomDoubt::kKernel, "it has much kernel memory, of which reclaim may give back all or nothing"},
            {HeadroomDoubt::kSwap, "it is not known how much of the swap it can use"}}}) {
    if (to_string(doubt) == label) return words;
  }
  return {};
}

void prepare_headrooms(GroupTable& groups, Word limit, const Room& swap, HeadroomDoubt doubt) {
  for (std::size_t row = 0; row < groups.size(); ++row) groups.at(row, Word::kProtected) = 0;
  for (std::size_t row = 0; row < groups.size(); ++row) {
    if (const std::uint64_t parent = groups.at(row, Word::kParent); parent != kNone) {
      std::uint64_t& kept = groups.at(parent, Word::kProtected);
      kept = saturating_sum(kept, protected_cache(groups, row));
    }
  }
  for (std::size_t row = 0; row < groups.size(); ++row) {
    prepare_swap(groups, row, swap);
    const std::uint64_t parent = groups.at(row, Word::kParent);
    Least above;
    if (parent != kNone) {
      above = Least::above(groups, parent);
      // What the group allocates uses up its own memory.min, which then protects none of its cache.
      above.add(groups, parent, limit, without(groups.at(parent, Word::kProtected), protected_cache(groups, row)));
    }
    const std::uint64_t doubt_above = parent == kNone ? static_cast<std::uint64_t>(doubt) : groups.at(parent, Word::kDoubt);
    if (groups.at(row, Word::kDoubt) == kNone || parent != kNone) groups.at(row, Word::kDoubt) = doubt_above;
    groups.at(row, Word::kAboveSure) = above.room.sure;
    groups.at(row, Word::kAbovePossible) = above.room.possible;
    groups.at(row, Word::kAboveBoth) = above.both;
    groups.at(row, Word::kAboveSetBy) = above.set_by;
  }
}

Headroom headroom_of(GroupTable& groups, std::size_t row, Word limit, const Room& machine) {
  Least least = Least::above(groups, row);
  least.add(groups, row, limit, groups.at(row, Word::kProtected));
  if (least.set_by == kNone) return {};
  Headroom headroom{.room = {.sure = std::min(saturating_sum(least.room.sure, groups.at(row, Word::kSwapSure)), least.both),
                             .possible = least.room.possible},
                    .set_by = least.set_by,
                    .doubt = static_cast<HeadroomDoubt>(groups.at(row, Word::kDoubt))};
  if (limit == Word::kLimit) {
    if (machine.sure < headroom.room.sure) headroom.set_by = GroupTable::kMachine;
    headroom.room = {.sure = std::min(headroom.room.sure, machine.sure),
                     .possible = std::min(headroom.room.possible, machine.possible)};
  }
  if (headroom.doubt != HeadroomDoubt::kNone || headroom.room.is_certain()) return headroom;
  const bool is_group = headroom.set_by != GroupTable::kMachine;
  const bool is_read = !is_group || groups.at(headroom.set_by, Word::kClean) != kNone;
  const std::uint64_t half = (headroom.room.possible - headroom.room.sure) / 2;
  const bool is_kernel =
      is_group ? groups.known(headroom.set_by, Word::kDoubtful) >= half : groups.at(row, Word::kSwapPossible) < half;
  headroom.doubt = !is_read ? HeadroomDoubt::kNotRead : is_kernel ? HeadroomDoubt::kKernel : HeadroomDoubt::kSwap;
  return headroom;
}

namespace {

/// Finds the group above each. The types are in the order of a walk, level by level, so groups above come in the order of
/// those below.
void find_parents(GroupTable& groups, const Staging& staging) {
  const auto name_of = [&](std::size_t row) { return staging.types()[row].name; };
  std::string_view last;
  std::uint64_t parent = kNone;
  std::size_t next = 0;  // no group above comes before
  for (std::size_t row = 0; row < groups.size(); ++row) {
    const std::string_view name = name_of(row);
    if (name == "/") continue;
    const std::string_view above = name.substr(0, std::max<std::size_t>(1, name.rfind('/')));
    if (above != last) {
      std::size_t found = next;
      while (found < row && name_of(found) != above) ++found;
      parent = found < row ? found : kNone;
      if (found < row) next = found;
      last = above;
    }
    groups.at(row, Word::kParent) = parent;
    if (parent != kNone || above == "/") continue;
    groups.at(row, Word::kDoubt) = static_cast<std::uint64_t>(HeadroomDoubt::kNotRead);
  }
}

bool has_any(GroupTable& groups, Word word) {
  std::size_t row = 0;
  while (row < groups.size() && groups.at(row, word) == kNone) ++row;
  return row < groups.size();
}

}  // namespace

void stage_headrooms(GroupTable& groups, const MachineRoom& machine, HeadroomDoubt doubt, Staging& staging) {
  struct Until {
    Word limit;
    std::string_view word;
  };
  find_parents(groups, staging);
  for (const Until& until : {Until{Word::kLimit, "max"}, Until{Word::kHigh, "high"}}) {
    if (until.limit == Word::kHigh && !has_any(groups, Word::kHigh)) continue;
    prepare_headrooms(groups, until.limit, machine.swap, doubt);
    for (std::size_t row = 0; row < groups.size(); ++row) {
      const Headroom headroom = headroom_of(groups, row, until.limit, machine.room);
      if (headroom.set_by == kNone) continue;
      StagedStatistics& statistics = staging.statistics();
      const std::string_view group = staging.types()[row].name;
      if (headroom.doubt != HeadroomDoubt::kNone) {
        statistics.add(kMemcgHeadroomUncertain, 1, {group, until.word, to_string(headroom.doubt)});
        continue;
      }
      statistics.add(kMemcgHeadroom, headroom.room.middle(), {group, until.word});
      if (headroom.set_by == row) continue;
      const bool is_machine = headroom.set_by == GroupTable::kMachine;
      statistics.add(kMemcgHeadroomSetBy, 1,
                     {group, until.word, is_machine ? "machine" : staging.types()[headroom.set_by].name});
    }
  }
}

}  // namespace memstat
