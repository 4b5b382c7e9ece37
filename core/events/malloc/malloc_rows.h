// SPDX-License-Identifier: BSD-2-Clause
// Collects DTrace's aggregations of FreeBSD's malloc(9), element by element in any order, into the table that the
// source freebsd_dtmalloc parses and captures contain.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>

#include "core/base/buffer.h"
#include "core/events/table/table.h"

namespace memstat::events {

inline constexpr RowFormat kMallocTableRows[] = {
    {"unplaced", "n"}, {"dropped", "n"}, {"probe", "t"}, {"size", "nnnn"}, {"large", "nnnnn"}};
/// The grammar is in sources/freebsd_dtmalloc.cpp.
inline constexpr TableFormat kMallocTable{"freebsd_dtmalloc", "dtmalloc 1", kMallocTableRows,
                                          "is neither a probe nor a size with its four numbers, or not in order"};

/// The amounts of a row, in the order of the text.
enum class MallocAmount : std::uint8_t { kAllocations, kAllocatedBytes, kFrees, kFreedBytes };

/// The rows, one for each probe, CPU and size. They persist between reads of the aggregations, so only new rows
/// allocate.
class MallocRows {
 public:
  /// The size that stands for all allocations above the size classes.
  static constexpr std::uint64_t kLarge = ~std::uint64_t{0};
  /// Maximum number of rows: four thousand types on few CPUs, or a few hundred on 64.
  static constexpr std::size_t kMaxRows = 65536;

  /// Call before the elements of a read.
  void begin() { unplaced_ = 0; }
  /// Sets one amount of a row. Amounts never shrink. `probe`: the type's name in the probe. Bytes that are not
  /// printable ASCII become '?', and names are truncated to 191 bytes, the kernel's maximum. If there is no room for
  /// the row and the amount counts events, it is added to the unplaced events.
  void set(std::string_view probe, std::uint32_t cpu, std::uint64_t size, MallocAmount amount, std::uint64_t value);
  /// Replaces the content of `out` with the table. `dropped`: events that DTrace dropped.
  void write(std::uint64_t dropped, Buffer& out) const;

 private:
  using Key = std::tuple<std::string, std::uint32_t, std::uint64_t>;
  using KeyView = std::tuple<std::string_view, std::uint32_t, std::uint64_t>;
  struct Less {
    using is_transparent = void;
    template <typename K>
    static KeyView view_of(const K& key) {
      return {std::get<0>(key), std::get<1>(key), std::get<2>(key)};
    }
    template <typename A, typename B>
    bool operator()(const A& a, const B& b) const {
      return view_of(a) < view_of(b);
    }
  };
  std::map<Key, std::array<std::uint64_t, 4>, Less> rows_;
  std::string name_;  // name in the current element
  std::uint64_t unplaced_ = 0;
};

}  // namespace memstat::events
