// SPDX-License-Identifier: BSD-2-Clause
// Free blocks of a buddy allocator by order, and their fragmentation.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace memstat {

/// The number of free blocks of each order. A block of order n is 2^n pages.
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
  double blocks_ = 0;                            // of all orders
  std::size_t orders_ = 0;
};

}  // namespace memstat
