// SPDX-License-Identifier: BSD-2-Clause
// Headroom: bytes that a control group can still allocate before the kernel kills a process in it, or slows it down. The
// least, over the group, all groups above it and the machine, of the limit less what reclaim cannot give back.
//
// Reclaim gives back the file cache on the kernel's lists of pages, which contain neither locked pages nor tmpfs; dirty
// pages take longer. It does not give back program memory, tmpfs, locked pages, page tables, stacks, pipes and socket
// buffers, unless there is swap for the first two. Of caches such as dentries it gives back what is not in use, which no
// file reports, so each amount has two bounds. Cache within memory.min of a sibling stays; memory.low yields before a kill.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/model/staging.h"

namespace memstat {

/// Bytes that can be allocated for certain, and at most.
struct Room {
  static constexpr std::uint64_t kUnlimited = ~std::uint64_t{0};
  std::uint64_t sure = kUnlimited;
  std::uint64_t possible = kUnlimited;

  /// Whether the bounds differ by at most 8 MiB or 5 %.
  [[nodiscard]] bool is_certain() const {
    constexpr std::uint64_t kMaxDoubt = 8U << 20U;
    return possible - std::min(sure, possible) <= std::max(kMaxDoubt, sure / 20);
  }
  [[nodiscard]] std::uint64_t middle() const { return sure + (possible - std::min(sure, possible)) / 2; }
};

/// What a headroom is not certain for.
enum class HeadroomDoubt : std::uint8_t {
  kNone,
  kHidden,   ///< Groups above are outside of memstatd's namespace.
  kNotRead,  ///< A group above is not read, or memory.stat or /proc/meminfo is not.
  kKernel,   ///< Much kernel memory, such as dentries, of which reclaim may give back all or nothing.
  kSwap,     ///< Swap that a group below may not use, that is not read yet, or that itself takes memory.
};
/// The label of memstat_memcg_headroom_uncertain: "kernel_memory"; "" for kNone.
std::string_view to_string(HeadroomDoubt doubt);
/// The reason of that label in words; "" for an unknown one.
std::string_view doubt_words(std::string_view label);

/// The machine's part in the headroom of its groups, in bytes.
struct MachineRoom {
  Room room;
  Room swap;  ///< Free swap; nothing is sure of swap that is kept in memory (zswap).
};

/// Amounts of control groups, in bytes, one row a group. Each group follows the one above it. The storage is borrowed, so
/// that a poll allocates nothing.
class GroupTable {
 public:
  enum Word : std::size_t {
    kParent,  ///< Row of the group above.
    kUsage,
    kLimit,      ///< memory.max
    kHigh,       ///< memory.high
    kBothUsage,  ///< Version 1: memory and swap together.
    kBothMax,
    kClean,      ///< File cache that reclaim gives back.
    kDoubtful,   ///< Kernel memory of which reclaim may give back any part.
    kMin,        ///< memory.min
    kSwapUsage,  ///< 0 in version 1, which has no count of its own.
    kSwapMax,
    kInputs,
    // Computed. Least of the groups above: without swap, with it, and of memory and swap together.
    kProtected = kInputs,  ///< Cache of the groups directly below within their memory.min.
    kSwapSure,             ///< Swap left to the group.
    kSwapPossible,
    kAboveSure,
    kAbovePossible,
    kAboveBoth,
    kAboveSetBy,  ///< Row of the group that sets kAboveSure.
    kDoubt,       ///< HeadroomDoubt of the groups above.
    kWords
  };
  /// An amount that the kernel does not report, and the row of nothing.
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};
  static constexpr std::uint64_t kMachine = kNone - 1;

  explicit GroupTable(std::vector<std::uint64_t>& words) : words_(words) {}
  void add() { words_.insert(words_.end(), kWords, kNone); }
  [[nodiscard]] std::size_t size() const { return words_.size() / kWords; }
  [[nodiscard]] std::uint64_t& at(std::size_t row, Word word) { return words_[row * kWords + word]; }
  /// The amount, or `otherwise` if it is not reported.
  [[nodiscard]] std::uint64_t known(std::size_t row, Word word, std::uint64_t otherwise = 0) const {
    const std::uint64_t amount = words_[row * kWords + word];
    return amount == kNone ? otherwise : amount;
  }

 private:
  std::vector<std::uint64_t>& words_;
};

struct Headroom {
  Room room;
  std::uint64_t set_by = GroupTable::kNone;  ///< Row of the group whose limit it is, or kMachine; kNone: there is no limit.
  HeadroomDoubt doubt = HeadroomDoubt::kNone;
};

/// Computes what the groups above and below a group mean for its headroom until `limit` (kLimit or kHigh). `doubt`: of all
/// groups. Requires kParent of each row to be an earlier row, or kNone.
void prepare_headrooms(GroupTable& groups, GroupTable::Word limit, const Room& swap, HeadroomDoubt doubt);
/// The headroom of a group, after prepare_headrooms(). The machine's memory counts only until kLimit.
Headroom headroom_of(GroupTable& groups, std::size_t row, GroupTable::Word limit, const Room& machine);

/// Adds the headroom of all groups with a limit, or with one above them, to the metrics of `staging`, whose types are the
/// rows of the table by name. Fills in kParent.
void stage_headrooms(GroupTable& groups, const MachineRoom& machine, HeadroomDoubt doubt, Staging& staging);

}  // namespace memstat
