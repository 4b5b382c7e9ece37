// SPDX-License-Identifier: BSD-2-Clause
// Counters from /proc/vmstat, one "name value" per line. Some form families with one counter per zone kind: pgalloc_dma,
// pgalloc_dma32, pgalloc_normal, ... (mm/vmstat.c, TEXTS_FOR_ZONES).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "core/parse/key_values.h"

namespace memstat {

/// The counters of one family, in the order of the text.
class ZoneCounters {
 public:
  struct Counter {
    std::string_view zone;    ///< The zone's usual name: "DMA32" for "pgalloc_dma32". Borrows the text.
    std::uint64_t value = 0;  ///< Since boot.
  };

  /// `prefix` is the part before the zone kind: "pgalloc_". It must outlive this object.
  explicit ZoneCounters(std::string_view prefix) : prefix_(prefix) {}

  [[nodiscard]] std::string_view prefix() const { return prefix_; }
  [[nodiscard]] std::span<const Counter> counters() const { return {counters_.data(), size_}; }
  /// Adds the counter named `key`, which must begin with the prefix. Ignores a key without a zone kind, a duplicate, and
  /// more kinds than any kernel has.
  void add(std::string_view key, std::uint64_t value);

 private:
  std::string_view prefix_;
  std::array<Counter, 8> counters_;  // kernels have six zone kinds
  std::size_t size_ = 0;
};

/// Fills `numbers` and `zones` from `text` in one pass. Fastest if they are in the order of the text. Of duplicate names the
/// first line counts; numbers without a line get no value. Returns the offset of the first wanted line without a newline or
/// without a number of at most 64 bits; nothing on success. Allocates nothing.
std::optional<std::size_t> read_vm_counters(std::string_view text, std::span<KeyedNumber> numbers, ZoneCounters& zones);
/// The same without zone counters.
std::optional<std::size_t> read_vm_counters(std::string_view text, std::span<KeyedNumber> numbers);

}  // namespace memstat
