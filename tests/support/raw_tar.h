// SPDX-License-Identifier: BSD-2-Clause
// Headers of tar archives byte by byte, also those that no archiver would write.
#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

#include "core/capture/tar.h"

namespace memstat {

/// A header, without its checksum, which is added later. All fields except the name are empty.
struct RawTarHeader {
  std::array<char, kTarBlock> bytes{};

  explicit RawTarHeader(const std::string& name, char type = '0') {
    put(0, name);
    bytes[156] = type;
  }
  RawTarHeader& put(std::size_t at, std::string_view text) {
    std::memcpy(&bytes[at], text.data(), text.size());
    return *this;
  }
  RawTarHeader& size(std::uint64_t size) {
    char text[13];
    std::snprintf(text, sizeof text, "%011llo", static_cast<unsigned long long>(size));
    return put(124, text);
  }
  template <typename Byte = unsigned char>
  [[nodiscard]] std::string summed() const {
    std::string block(bytes.data(), bytes.size());
    std::memset(&block[148], ' ', 8);
    int sum = 0;
    for (const char byte : block) sum += static_cast<Byte>(byte);
    std::snprintf(&block[148], 8, "%06o", static_cast<unsigned>(sum));
    return block;
  }
};

inline std::string padded(std::string bytes) { return bytes.append(tar_padding(bytes.size()), '\0'); }

}  // namespace memstat
