// SPDX-License-Identifier: BSD-2-Clause
// SipHash-2-4 of Aumasson and Bernstein, a keyed hash, implemented from its description.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <string_view>

namespace memstat {

/// 64 bits that reveal nothing of `text` without `key`.
inline std::uint64_t keyed_hash(const std::array<std::uint64_t, 2>& key, std::string_view text) {
  std::array<std::uint64_t, 4> v{key[0] ^ 0x736f6d6570736575U, key[1] ^ 0x646f72616e646f6dU, key[0] ^ 0x6c7967656e657261U,
                                 key[1] ^ 0x7465646279746573U};
  const auto rounds = [&v](int count) {
    for (int i = 0; i < count; ++i) {
      v[0] += v[1];
      v[2] += v[3];
      v[1] = std::rotl(v[1], 13) ^ v[0];
      v[3] = std::rotl(v[3], 16) ^ v[2];
      v[0] = std::rotl(v[0], 32);
      v[2] += v[1];
      v[0] += v[3];
      v[1] = std::rotl(v[1], 17) ^ v[2];
      v[3] = std::rotl(v[3], 21) ^ v[0];
      v[2] = std::rotl(v[2], 32);
    }
  };
  const auto word_at = [&text](std::size_t begin, std::size_t bytes) {
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < bytes; ++i) {
      word |= std::uint64_t{static_cast<unsigned char>(text[begin + i])} << (8 * i);
    }
    return word;
  };
  const auto take = [&](std::uint64_t word) {
    v[3] ^= word;
    rounds(2);
    v[0] ^= word;
  };
  std::size_t at = 0;
  for (; text.size() - at >= 8; at += 8) take(word_at(at, 8));
  take(word_at(at, text.size() - at) | std::uint64_t{text.size() & 0xFFU} << 56);
  v[2] ^= 0xFF;
  rounds(4);
  return v[0] ^ v[1] ^ v[2] ^ v[3];
}

}  // namespace memstat
