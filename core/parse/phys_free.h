// SPDX-License-Identifier: BSD-2-Clause
// The sysctl vm.phys_free of FreeBSD (sysctl_vm_phys_free() in sys/vm/vm_phys.c): free blocks of the buddy allocator by
// domain, free list and order, with a row for each order and a column for each pool:
//
//   DOMAIN 0:
//
//   FREE LIST 0:
//
//     ORDER (SIZE)  |  NUMBER
//                   |  POOL 0  |  POOL 1
//   --            -- --      -- --      --
//     12 ( 16384K)  |       3  |       0
//
// Kernels before 10.0 print no line with the domain. Other lines are skipped.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace memstat {

/// One free list of one domain. A block of order n is 2^n pages.
struct PhysFreeList {
  static constexpr std::size_t kMaxOrders = 32;

  std::uint32_t domain = 0;
  std::uint32_t list = 0;
  std::size_t orders = 0;                          ///< The highest order plus one.
  std::array<std::uint64_t, kMaxOrders> blocks{};  ///< Free blocks of all pools, by order.

  /// Pages of the largest free block; 0 if none is free.
  [[nodiscard]] std::uint64_t largest_block() const;
};

/// Reads the free lists one after another, in ascending order, as the kernel prints them. Allocates nothing.
class PhysFreeReader {
 public:
  /// `text` is borrowed. A NUL ends it.
  explicit PhysFreeReader(std::string_view text) : text_(text.substr(0, text.find('\0'))) {}

  /// Reads the next free list. Returns false after the last one, and at a malformed line, whose offset error() then
  /// returns.
  bool next(PhysFreeList& list);
  /// The offset of the malformed line; nothing if there was none.
  [[nodiscard]] std::optional<std::size_t> error() const { return error_; }

 private:
  bool take_row(std::string_view line, PhysFreeList& list);

  std::string_view text_;
  std::size_t at_ = 0;
  bool has_title_ = false;
  std::uint32_t domain_ = 0;
  std::optional<std::uint32_t> list_;  // the one whose title was read last
  std::optional<std::size_t> error_;
};

}  // namespace memstat
