// SPDX-License-Identifier: BSD-2-Clause
// Counters out of /proc/vmstat, "name value" a line, among which are families that have one counter for each kind of zone:
// pgalloc_dma, pgalloc_dma32, pgalloc_normal, ... (mm/vmstat.c, TEXTS_FOR_ZONES).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "core/parse/key_values.h"

namespace memstat {

/// The counters of one such family, in the order of the text. Thread safety: a plain value.
class ZoneCounters {
 public:
  struct Counter {
    std::string_view zone;    ///< As the zone is called elsewhere: "DMA32" of "pgalloc_dma32". Lives as long as the text.
    std::uint64_t value = 0;  ///< Since boot.
  };

  /// `prefix` is what stands before the kind: "pgalloc_". It must outlive this.
  explicit ZoneCounters(std::string_view prefix) : prefix_(prefix) {}

  [[nodiscard]] std::string_view prefix() const { return prefix_; }
  [[nodiscard]] std::span<const Counter> counters() const { return {counters_.data(), size_}; }
  /// Adds the counter named `key`, which begins with the prefix. What names no kind of zone, one that is there already, and
  /// more kinds than any kernel has are left out.
  void add(std::string_view key, std::uint64_t value);

 private:
  std::string_view prefix_;
  std::array<Counter, 8> counters_;  // kernels have six kinds of zones
  std::size_t size_ = 0;
};

/// Fills `numbers` and `zones` from `text` in one pass, which is quickest when they stand in the order of the text. Of
/// several lines of one name the first counts; numbers without a line get no value. Returns the offset of the first line
/// that is wanted and has no number of at most 64 bits, or that lacks its end, and nothing when all is well. Allocates
/// nothing.
std::optional<std::size_t> read_vm_counters(std::string_view text, std::span<KeyedNumber> numbers, ZoneCounters& zones);
/// The same without counters of zones.
std::optional<std::size_t> read_vm_counters(std::string_view text, std::span<KeyedNumber> numbers);

}  // namespace memstat
