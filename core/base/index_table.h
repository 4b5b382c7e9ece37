// SPDX-License-Identifier: BSD-2-Clause
// Finds the elements of a vector by hash, with open addressing.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace memstat {

/// The owner keeps the elements and their count. An entry is an index + 1, or 0 if it is free.
class IndexTable {
 public:
  /// The entry of the index for which is_same(index) holds, otherwise the free entry for it, which the caller sets. Requires
  /// reserve(). Valid until the next reserve().
  template <typename IsSame>
  [[nodiscard]] std::uint32_t& find(std::size_t hash, const IsSame& is_same) {
    const std::size_t mask = entries_.size() - 1;
    std::size_t at = hash & mask;
    while (entries_[at] != 0 && !is_same(entries_[at] - 1)) at = (at + 1) & mask;
    return entries_[at];
  }

  /// Makes room for `count` indexes. hash_of(index) is the hash of one in the table.
  template <typename HashOf>
  void reserve(std::size_t count, const HashOf& hash_of) {
    if (2 * count <= entries_.size()) return;
    std::vector<std::uint32_t> before(std::max<std::size_t>(64, std::bit_ceil(2 * count)));
    before.swap(entries_);
    for (const std::uint32_t entry : before) {
      if (entry != 0) find(hash_of(entry - 1), [](std::size_t) { return false; }) = entry;
    }
  }

  /// Removes all indexes and keeps the memory.
  void clear() { std::fill(entries_.begin(), entries_.end(), 0); }
  void free_memory() { entries_ = std::vector<std::uint32_t>(); }

 private:
  std::vector<std::uint32_t> entries_;
};

}  // namespace memstat
