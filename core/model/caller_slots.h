// SPDX-License-Identifier: BSD-2-Clause
// Storage of the caller-owned slots: one column per slot, allocated on first use and zero-initialized.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace memstat {

/// Slots of each kind, per type and per type and CPU. libmemstat's MEMSTAT_MAXCALLER.
inline constexpr std::size_t kCallerSlotCount = 16;

/// 16 columns with one value per type.
template <typename T>
class SlotColumns {
 public:
  [[nodiscard]] T get(std::size_t slot, std::size_t row) const {
    if (slot >= kCallerSlotCount || row >= columns_[slot].size()) return T{};
    return columns_[slot][row];
  }
  /// False if the slot is out of range. Throws std::bad_alloc, but only on the first use of a column.
  bool set(std::size_t slot, std::size_t row, T value) {
    if (slot >= kCallerSlotCount) return false;
    if (row >= columns_[slot].size()) columns_[slot].resize(row < row_count_ ? row_count_ : row + 1);
    columns_[slot][row] = value;
    return true;
  }
  /// Makes room for `row_count` rows in every column in use.
  void grow(std::size_t row_count) {
    for (std::vector<T>& column : columns_) {
      if (!column.empty() && column.size() < row_count) column.resize(row_count);
    }
    if (row_count > row_count_) row_count_ = row_count;
  }
  void clear_row(std::size_t row) {
    for (std::vector<T>& column : columns_) {
      if (row < column.size()) column[row] = T{};
    }
  }
  /// Frees the rows from `row_count` on.
  void shrink(std::size_t row_count) {
    for (std::vector<T>& column : columns_) {
      if (column.size() > row_count) column.resize(row_count);
      column.shrink_to_fit();
    }
    row_count_ = row_count;
  }

 private:
  std::array<std::vector<T>, kCallerSlotCount> columns_;
  std::size_t row_count_ = 0;
};

/// 16 columns with one value per type and CPU. The CPUs of a type take memory once one of them is set.
template <typename T>
class CpuSlotColumns {
 public:
  [[nodiscard]] T get(std::size_t slot, std::size_t row, std::uint32_t cpu) const {
    if (slot >= kCallerSlotCount || row >= columns_[slot].size()) return T{};
    const Cells& cells = columns_[slot][row];
    return cpu < cells.count ? cells.values[cpu] : T{};
  }
  /// False if the slot is out of range or `cpu` is not below `cpu_count`.
  bool set(std::size_t slot, std::size_t row, std::uint32_t cpu, std::uint32_t cpu_count, T value) {
    if (slot >= kCallerSlotCount || cpu >= cpu_count) return false;
    if (row >= columns_[slot].size()) columns_[slot].resize(row + 1);
    Cells& cells = columns_[slot][row];
    if (cpu >= cells.count) {
      std::unique_ptr<T[]> grown(new T[cpu_count]());
      for (std::uint32_t i = 0; i < cells.count; ++i) grown[i] = cells.values[i];
      cells.values = std::move(grown);
      cells.count = cpu_count;
    }
    cells.values[cpu] = value;
    return true;
  }
  void clear_row(std::size_t row) {
    for (std::vector<Cells>& column : columns_) {
      if (row < column.size()) column[row] = Cells{};
    }
  }
  void shrink(std::size_t row_count) {
    for (std::vector<Cells>& column : columns_) {
      if (column.size() > row_count) column.resize(row_count);
      column.shrink_to_fit();
    }
  }

 private:
  struct Cells {
    std::unique_ptr<T[]> values;
    std::uint32_t count = 0;
  };
  std::array<std::vector<Cells>, kCallerSlotCount> columns_;
};

/// All slots of one list. The list assigns the rows.
struct CallerSlots {
  SlotColumns<std::uint64_t> integers;
  SlotColumns<void*> pointers;
  CpuSlotColumns<std::uint64_t> cpu_integers;
  CpuSlotColumns<void*> cpu_pointers;

  void clear_row(std::size_t row) {
    integers.clear_row(row);
    pointers.clear_row(row);
    cpu_integers.clear_row(row);
    cpu_pointers.clear_row(row);
  }
  void shrink(std::size_t row_count) {
    integers.shrink(row_count);
    pointers.shrink(row_count);
    cpu_integers.shrink(row_count);
    cpu_pointers.shrink(row_count);
  }
};

}  // namespace memstat
