// SPDX-License-Identifier: BSD-2-Clause
// The subset of the Protocol Buffers wire encoding that a page needs.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace memstat {

inline constexpr std::size_t kVarintRoom = 10;

/// Size of a number as a varint, 1 to 10.
inline std::size_t varint_size(std::uint64_t value) {
  return (static_cast<std::size_t>(std::bit_width(value | 1U)) + 6) / 7;
}

/// Writes a varint at `at`, which must have varint_size() bytes. Returns its end.
inline char* write_varint(char* at, std::uint64_t value) {
  while (value >= 0x80) {
    *at++ = static_cast<char>(value | 0x80U);
    value >>= 7U;
  }
  *at++ = static_cast<char>(value);
  return at;
}

/// Maps signed numbers so that small amounts of either sign are small varints (sint32, sint64).
inline std::uint64_t zigzag(std::int64_t value) {
  return (static_cast<std::uint64_t>(value) << 1U) ^ (value < 0 ? ~std::uint64_t{0} : 0);
}

/// Writes eight bytes, little-endian. Returns their end.
inline char* write_fixed64(char* at, std::uint64_t value) {
  if constexpr (std::endian::native == std::endian::little) {
    std::memcpy(at, &value, 8);
  } else {
    for (unsigned i = 0; i < 8; ++i) at[i] = static_cast<char>(value >> (8 * i));
  }
  return at + 8;
}
inline char* write_fixed64(char* at, double value) { return write_fixed64(at, std::bit_cast<std::uint64_t>(value)); }

/// The first byte of a field. Requires number < 16, which holds for all fields used here.
constexpr char varint_tag(unsigned number) { return static_cast<char>(number << 3U); }
constexpr char fixed64_tag(unsigned number) { return static_cast<char>(number << 3U | 1U); }
constexpr char bytes_tag(unsigned number) { return static_cast<char>(number << 3U | 2U); }

/// Builds a message field by field, outside the hot path.
class ProtobufMessage {
 public:
  ProtobufMessage& varint(unsigned number, std::uint64_t value) {
    bytes_ += varint_tag(number);
    append_varint(value);
    return *this;
  }
  ProtobufMessage& fixed(unsigned number, double value) {
    char bytes[8];
    write_fixed64(bytes, value);
    bytes_ += fixed64_tag(number);
    bytes_.append(bytes, sizeof bytes);
    return *this;
  }
  ProtobufMessage& bytes(unsigned number, std::string_view value) {
    bytes_ += bytes_tag(number);
    append_varint(value.size());
    bytes_ += value;
    return *this;
  }
  [[nodiscard]] std::string_view view() const { return bytes_; }

 private:
  void append_varint(std::uint64_t value) {
    char bytes[kVarintRoom];
    bytes_.append(bytes, static_cast<std::size_t>(write_varint(bytes, value) - bytes));
  }
  std::string bytes_;
};

}  // namespace memstat
