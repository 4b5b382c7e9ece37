// SPDX-License-Identifier: BSD-2-Clause
// Numbers out of text that has one a line behind its name, as /proc/meminfo ("MemTotal:  16384 kB") and /proc/vmstat
// ("nr_free_pages 1024") have them. Lines that no caller wants are skipped: every kernel adds some.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace memstat {

/// One number that is wanted, and what was found. Thread safety: a plain value.
struct KeyedNumber {
  std::string_view key;                ///< Without the colon.
  std::optional<std::uint64_t> value;  ///< Nothing: the text has no such line. In bytes where the line says kB.
};

/// Fills `numbers` from `text`, in one pass that is quickest when they stand in the order of the text. Of several lines of
/// one name the first counts. Returns the offset of the first line that was wanted and whose value is no number of at most
/// 64 bits, or nothing when all is well. Allocates nothing.
std::optional<std::size_t> read_keyed_numbers(std::string_view text, std::span<KeyedNumber> numbers);

}  // namespace memstat
