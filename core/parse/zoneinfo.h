// SPDX-License-Identifier: BSD-2-Clause
// Linux's /proc/zoneinfo, zone by zone, and the words by which its neighbours name a zone, too. Printed by mm/vmstat.c
// (zoneinfo_show_print), node by node in ascending order, the zones of each node from low to high addresses:
//
//   Node 0, zone    DMA32
//     per-node stats                   only below a node's first zone with memory; passed over
//         nr_inactive_anon 142
//         ...
//     pages free     84379             on the buddy allocator's lists; the sets of CPUs are not among them
//           boost    0                 newer kernels only: what the watermarks contain after fragmentation
//           min      4567              watermarks
//           ...
//           promo    7990              newer kernels only
//           cma      0                 5.12 and newer
//           present  98206             0: no such memory; then the zone ends with `protection`
//           managed  92552
//           protection: (0, 0, 0)
//         numa_hit     6568            with CONFIG_NUMA
//         nr_free_cma  0               of areas of contiguous memory, which only movable pages may take
//         ...
//     pagesets
//       cpu: 0                         CPUs that are online, ascending
//                 count:    951
//                 ...
//     node_unreclaimable:  0           1: kswapd has given up on the node (all_unreclaimable before 4.12)
//     start_pfn:           1           newer kernels add lines behind it
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace memstat {

/// Which zone something is about.
struct ZoneKey {
  /// B; the kernel's longest is 7 (Movable), what is longer is no name, and is cut.
  static constexpr std::size_t kLongestName = 64;

  std::uint64_t node = 0;  ///< Below 2^31.
  std::string_view name;   ///< Any bytes but blanks; at least one. Lives as long as the text.
};

/// Cuts "Node 0, zone Normal" off `line`, whatever the blanks. False, with `line` anywhere, when it begins otherwise.
bool take_zone(std::string_view& line, ZoneKey& key);

/// One zone. Amounts are pages, now. Thread safety: a plain value.
struct ZoneInfo {
  static constexpr std::array<std::string_view, 4> kWatermarks = {"min", "low", "high", "promo"};
  static constexpr std::array<std::string_view, 6> kNumaEvents = {"hit", "miss", "foreign", "interleave", "local", "other"};

  ZoneKey key;
  std::size_t offset = 0;  ///< Of its first line in the text.
  std::uint64_t free = 0;
  std::uint64_t present = 0;  ///< 0: a zone that this machine has no memory in
  std::uint64_t managed = 0;  ///< What the allocator has to give; 0 also for memory that is not its, as of devices.
  std::array<std::optional<std::uint64_t>, kWatermarks.size()> watermarks;
  std::optional<std::uint64_t> boost;
  std::optional<std::uint64_t> cma;  ///< Of areas of contiguous memory, free or not.
  /// These, too, are complete after the last page set.
  std::optional<std::uint64_t> free_cma;
  std::optional<std::uint64_t> unreclaimable;  ///< Of the node: 1 while kswapd has given up on it.
  /// Since boot. Nothing: this kernel does not count. Complete after the last page set.
  std::array<std::optional<std::uint64_t>, kNumaEvents.size()> numa_events;
};

/// Pages that wait in the set of one CPU of a zone.
struct PageSet {
  std::uint64_t cpu = 0;
  std::uint64_t pages = 0;
};

/// Reads the text forward, once. Allocates nothing. Thread safety: none.
class ZoneInfoReader {
 public:
  struct Problem {
    std::size_t offset;       ///< Of the line that is wrong, or of the zone that is.
    std::string_view detail;  ///< Lives forever.
  };

  explicit ZoneInfoReader(std::string_view text) : text_(text), rest_(text) {}

  /// The next zone; false after the last one and when something is wrong. Its page sets are to be asked for before the next
  /// zone is.
  bool next_zone(ZoneInfo& zone);
  /// The next page set of the zone read last; false after the last one, when the rest of `zone` is filled in, too, and when
  /// something is wrong.
  bool next_page_set(ZoneInfo& zone, PageSet& set);

  /// What is wrong; nothing: nothing so far.
  [[nodiscard]] const std::optional<Problem>& problem() const { return problem_; }

 private:
  /// Looks at the next line that is not empty. False at the end and when it lacks its end.
  bool peek(std::string_view& line);
  void skip() { rest_.remove_prefix(line_size_); }
  [[nodiscard]] std::size_t offset() const { return text_.size() - rest_.size(); }
  bool fail(std::size_t offset, std::string_view detail);
  bool read_head(ZoneInfo& zone);

  std::string_view text_;
  std::string_view rest_;
  std::size_t line_size_ = 0;  // of the line peeked at, with its end
  bool is_first_ = true;
  bool is_whole_ = true;              // nothing more has to follow in this zone
  std::uint64_t node_ = 0;            // of the zone read last
  std::optional<std::uint64_t> cpu_;  // named last in this zone
  std::optional<Problem> problem_;
};

}  // namespace memstat
