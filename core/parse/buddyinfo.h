// SPDX-License-Identifier: BSD-2-Clause
// Free blocks of a buddy allocator by order, and how fragmented they are.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace memstat {

/// How many free blocks there are of each order: one of order n is 2^n pages. Thread safety: a plain value.
class FreeBlocks {
 public:
  /// Kernels have 11 orders and, configured so, a few more (CONFIG_ARCH_FORCE_MAX_ORDER).
  static constexpr std::size_t kMaxOrders = 32;

  /// Reads a row of counts, order 0 first. A count may have a '>' before it: there are at least that many. Nothing:
  /// something else stands there, none at all or more than kMaxOrders. Allocates nothing.
  static std::optional<FreeBlocks> parse(std::string_view row);

  [[nodiscard]] std::size_t orders() const { return orders_; }
  /// Requires an order below orders().
  [[nodiscard]] std::uint64_t count(std::size_t order) const { return counts_[order]; }

  /// Pages of the largest free block; 0: none is free.
  [[nodiscard]] std::uint64_t largest_block() const;
  /// Why a request of this order would fail, as Linux computes it (mm/vmstat.c, __fragmentation_index): towards 0 for lack
  /// of memory, towards 1 for fragmentation, 0 when nothing is free at all, and -1 when it would not fail.
  [[nodiscard]] double fragmentation_index(std::size_t order) const;
  /// The part of the free pages that is in blocks too small for a request of this order (mm/vmstat.c, unusable_free_index):
  /// 0 to 1, and 1 when nothing is free.
  [[nodiscard]] double unusable_ratio(std::size_t order) const;

 private:
  std::array<std::uint64_t, kMaxOrders> counts_{};
  std::array<double, kMaxOrders> pages_from_{};  // in free blocks of this order and above
  double blocks_ = 0;                            // of all orders
  std::size_t orders_ = 0;
};

}  // namespace memstat
