// SPDX-License-Identifier: BSD-2-Clause
// What DTrace aggregated of FreeBSD's malloc(9), element by element and in any order, as the table that the source
// freebsd_dtmalloc parses and captures hold.
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
/// sources/freebsd_dtmalloc.cpp has the grammar.
inline constexpr TableFormat kMallocTable{"freebsd_dtmalloc", "dtmalloc 1", kMallocTableRows,
                                          "is neither a probe nor a size with its four numbers, or not in order"};

/// What one element of an aggregation says of its row. The text has them in this order.
enum class MallocAmount : std::uint8_t { kAllocations, kAllocatedBytes, kFrees, kFreedBytes };

/// The rows, one a probe, CPU and size. They stay from one reading of the aggregations to the next, so that only a row that
/// was not there yet allocates. Thread safety: none.
class MallocRows {
 public:
  /// The size of the row for all allocations beyond the size classes.
  static constexpr std::uint64_t kLarge = ~std::uint64_t{0};
  /// There are no more rows than that: four thousand types on few CPUs, or some hundred on 64.
  static constexpr std::size_t kMostRows = 65536;

  /// Before the elements of one reading.
  void begin() { unplaced_ = 0; }
  /// Sets one amount of a row, whose values only grow. `probe`: the name of the type as the probe has it; what is not
  /// printable ASCII becomes '?', and at most 191 bytes are kept, which is the longest that the kernel has. An element
  /// without room is counted by its value, where that is a number of events.
  void set(std::string_view probe, std::uint32_t cpu, std::uint64_t size, MallocAmount amount, std::uint64_t value);
  /// Writes the table into `out`, replacing what it held. `dropped`: events that DTrace had no room for.
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
  std::string name_;  // of the element at hand
  std::uint64_t unplaced_ = 0;
};

}  // namespace memstat::events
