// SPDX-License-Identifier: BSD-2-Clause
// The zones of a Linux machine: /proc/zoneinfo, the zone names that related files use too, and the rows of /proc/buddyinfo.
// In zoneinfo the kernel (mm/vmstat.c, zoneinfo_show_print) lists nodes in ascending order, and the zones of each node from
// low to high addresses:
//
//   Node 0, zone    DMA32
//     per-node stats                   only in a node's first zone with memory
//         nr_slab_reclaimable 142      of the node since 4.13; before, of the zone, after `protection` since 4.8
//         ...
//     pages free     84379             on the buddy allocator's lists, without the per-CPU page sets
//           boost    0                 newer kernels only: part of the watermarks, raised after fragmentation
//           min      4567              watermarks
//           ...
//           promo    7990              newer kernels only
//           cma      0                 since 5.12
//           present  98206             0: no such memory; the zone then ends with `protection`
//           managed  92552             since 3.9; before, `present` has what the allocator manages
//           protection: (0, 0, 0)
//         numa_hit     6568            with CONFIG_NUMA; before `protection` until 4.7
//         nr_free_cma  0               in contiguous memory areas, which only movable pages may use
//         ...
//     pagesets
//       cpu: 0                         online CPUs, ascending
//                 count:    951
//                 ...
//     node_unreclaimable:  0           1: kswapd has given up on the node (all_unreclaimable before 4.12; until 4.7, on
//                                      the zone)
//     start_pfn:           1           newer kernels append lines
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace memstat {

struct ZoneKey {
  /// B. The kernel's longest name is 7 (Movable). Longer input is not a valid name and is truncated.
  static constexpr std::size_t kMaxNameSize = 64;

  std::uint64_t node = 0;  ///< Below 2^31.
  std::string_view name;   ///< Any bytes except blanks; at least one. Borrows the text.
};

/// Removes "Node 0, zone Normal" from `line`, with any number of blanks. False if it begins otherwise; `line` is then
/// unspecified.
bool take_zone(std::string_view& line, ZoneKey& key);

/// One zone. Amounts are pages, now.
struct ZoneInfo {
  static constexpr std::array<std::string_view, 4> kWatermarks = {"min", "low", "high", "promo"};
  static constexpr std::array<std::string_view, 6> kNumaEvents = {"hit", "miss", "foreign", "interleave", "local", "other"};
  static constexpr std::array<std::string_view, 2> kSlabKinds = {"slab_reclaimable", "slab_unreclaimable"};

  ZoneKey key;
  std::size_t offset = 0;  ///< Offset of its first line in the text.
  std::uint64_t free = 0;
  std::uint64_t present = 0;  ///< 0: the machine has no memory in this zone
  std::uint64_t managed =
      0;  ///< Pages that the allocator manages; 0 also for memory that it does not own, such as device memory.
  std::array<std::optional<std::uint64_t>, kWatermarks.size()> watermarks;
  std::optional<std::uint64_t> boost;
  std::optional<std::uint64_t> cma;  ///< Pages in contiguous memory areas, free or not.
  // The rest is complete only after the last page set.
  std::optional<std::uint64_t> free_cma;
  std::optional<std::uint64_t> unreclaimable;  ///< 1 while kswapd has given up on the node, or before 4.8 on the zone.
  /// Since boot. Nothing if this kernel does not count them.
  std::array<std::optional<std::uint64_t>, kNumaEvents.size()> numa_events;
  /// Pages of slabs, of the whole node in its first zone, or before 4.13 of each zone.
  std::array<std::optional<std::uint64_t>, kSlabKinds.size()> slab;
};

/// Pages in the page set of one CPU of a zone.
struct PageSet {
  std::uint64_t cpu = 0;
  std::uint64_t pages = 0;
};

/// Reads the text forward, once. Allocates nothing.
class ZoneInfoReader {
 public:
  struct Problem {
    std::size_t offset;       ///< Offset of the malformed line or zone.
    std::string_view detail;  ///< Static.
  };

  explicit ZoneInfoReader(std::string_view text) : text_(text), rest_(text) {}

  /// Reads the next zone. False after the last one and on an error. Read its page sets before the next zone.
  bool next_zone(ZoneInfo& zone);
  /// Reads the next page set of the current zone. False after the last one, when the rest of `zone` is filled in as well,
  /// and on an error.
  bool next_page_set(ZoneInfo& zone, PageSet& set);

  [[nodiscard]] const std::optional<Problem>& problem() const { return problem_; }

 private:
  /// Peeks at the next line that is not empty. False at the end and if the line has no newline.
  bool peek(std::string_view& line);
  void skip() { rest_.remove_prefix(line_size_); }
  [[nodiscard]] std::size_t offset() const { return text_.size() - rest_.size(); }
  bool fail(std::size_t offset, std::string_view detail);
  bool read_head(ZoneInfo& zone);
  /// Stores a count that `word` names. False: it names none, or problem() has what is wrong with it.
  bool take_count(std::string_view word, std::string_view rest, ZoneInfo& zone);

  std::string_view text_;
  std::string_view rest_;
  std::size_t line_size_ = 0;  // size of the peeked line, with its newline
  bool is_first_ = true;
  bool is_whole_ = true;              // nothing more is required in this zone
  std::uint64_t node_ = 0;            // node of the last zone
  std::optional<std::uint64_t> cpu_;  // last CPU in this zone
  std::optional<Problem> problem_;
};

/// The number of free blocks of each order in a buddy allocator, and their fragmentation. A block of order n is 2^n pages.
class FreeBlocks {
 public:
  /// Kernels have 11 orders or, depending on CONFIG_ARCH_FORCE_MAX_ORDER, a few more.
  static constexpr std::size_t kMaxOrders = 32;

  /// Parses a row of counts, order 0 first. A count may be preceded by '>': at least that many. Nothing if the row contains
  /// anything else, no count, or more than kMaxOrders. Allocates nothing.
  static std::optional<FreeBlocks> parse(std::string_view row);

  [[nodiscard]] std::size_t orders() const { return orders_; }
  /// Requires order < orders().
  [[nodiscard]] std::uint64_t count(std::size_t order) const { return counts_[order]; }

  /// Pages of the largest free block; 0 if none is free.
  [[nodiscard]] std::uint64_t largest_block() const;
  /// Why a request of this order would fail, as Linux computes it (mm/vmstat.c, __fragmentation_index): near 0 for lack of
  /// memory, near 1 for fragmentation, 0 if no memory is free, and -1 if it would succeed.
  [[nodiscard]] double fragmentation_index(std::size_t order) const;
  /// Share of the free pages that is in blocks too small for a request of this order (mm/vmstat.c, unusable_free_index): 0
  /// to 1, and 1 if no memory is free.
  [[nodiscard]] double unusable_ratio(std::size_t order) const;

 private:
  std::array<std::uint64_t, kMaxOrders> counts_{};
  std::array<double, kMaxOrders> pages_from_{};  // in free blocks of this order and above
  double blocks_ = 0;                            // number of blocks of all orders
  std::size_t orders_ = 0;
};

}  // namespace memstat
