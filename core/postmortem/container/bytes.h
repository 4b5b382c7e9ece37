// SPDX-License-Identifier: BSD-2-Clause
// Reads little-endian numbers from bytes that may be shorter than they claim. All supported kernels and machines are
// little-endian.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace memstat::postmortem {

/// Whether `size` bytes at `offset` lie within `bytes`; never overflows.
constexpr bool holds(std::string_view bytes, std::uint64_t offset, std::uint64_t size) {
  return offset <= bytes.size() && size <= bytes.size() - offset;
}

/// The number at `offset`; 0 if it is out of bounds. Check with holds() where that matters.
template <typename Number>
Number number_at(std::string_view bytes, std::uint64_t offset) {
  Number number = 0;
  if (holds(bytes, offset, sizeof(Number))) std::memcpy(&number, bytes.data() + offset, sizeof(Number));
  return number;
}

}  // namespace memstat::postmortem
