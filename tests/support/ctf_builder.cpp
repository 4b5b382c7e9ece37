// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>

#include "tests/support/fake_freebsd_dump.h"

namespace memstat {
namespace {

std::uint32_t adler32_of(std::string_view bytes) {
  std::uint32_t low = 1, high = 0;
  for (const char byte : bytes) {
    low = (low + static_cast<unsigned char>(byte)) % 65521;
    high = (high + low) % 65521;
  }
  return high << 16U | low;
}

/// Blocks of deflate with uncompressed bytes.
std::string stored_blocks(std::string_view bytes) {
  std::string blocks;
  do {
    const auto size = static_cast<std::uint16_t>(std::min<std::size_t>(bytes.size(), 65535));
    blocks += static_cast<char>(size == bytes.size() ? 1 : 0);
    blocks += raw_bytes(size, static_cast<std::uint16_t>(~size));
    blocks += bytes.substr(0, size);
    bytes.remove_prefix(size);
  } while (!bytes.empty());
  return blocks;
}

std::string as_zlib(std::string_view bytes) {
  return std::string("\x78\x01") + stored_blocks(bytes) + raw_bytes(__builtin_bswap32(adler32_of(bytes)));
}

}  // namespace

std::string as_zstd(std::string_view bytes) {
  // One segment with its size in 8 bytes, no checksum; blocks of uncompressed bytes.
  std::string packed = std::string("\x28\xb5\x2f\xfd\xe0", 5) + raw_bytes(std::uint64_t{bytes.size()});
  constexpr std::size_t kBlock = 64U << 10U;
  do {
    const auto size = static_cast<std::uint32_t>(std::min(bytes.size(), kBlock));
    packed += raw_bytes(size << 3U | (size == bytes.size() ? 1U : 0U)).substr(0, 3);
    packed += bytes.substr(0, size);
    bytes.remove_prefix(size);
  } while (!bytes.empty());
  return packed;
}

std::string CtfBuilder::word(std::uint32_t number) const {
  return version_ == 2 ? raw_bytes(static_cast<std::uint16_t>(number)) : raw_bytes(number);
}

std::uint32_t CtfBuilder::add(const std::string& name, std::uint32_t kind, std::uint32_t count, std::uint64_t last,
                              bool is_size, std::string_view extra) {
  const std::uint32_t behind = version_ == 2 ? 0xffff : 0xffff'ffff;
  const bool is_behind = is_size && last >= behind;
  types_ += raw_bytes(string_at(name));
  types_ += word(version_ == 2 ? kind << 11U | 1U << 10U | count : kind << 26U | 1U << 25U | count);
  types_ += word(is_behind ? behind : static_cast<std::uint32_t>(last));
  if (is_behind) types_ += raw_bytes(static_cast<std::uint32_t>(last >> 32U), static_cast<std::uint32_t>(last));
  types_ += extra;
  return ++count_;
}

std::string CtfBuilder::array(std::uint32_t element, std::uint32_t count) const {
  return word(element) + word(1) + raw_bytes(count);
}
std::uint32_t CtfBuilder::add_function(std::uint32_t arguments) {
  std::string extra;
  for (std::uint32_t i = 0; i < arguments; ++i) extra += word(1);
  if (extra.size() % 4 != 0) extra += word(0);
  constexpr std::uint32_t kFunction = 5;
  return add("", kFunction, arguments, 1, false, extra);
}
std::uint32_t CtfBuilder::add_struct(const std::string& name, std::uint64_t size, const std::vector<Member>& members) {
  const bool is_large = size >= (version_ == 2 ? 1U << 13U : 1U << 29U);
  std::string extra;
  for (const Member& member : members) {
    extra += raw_bytes(string_at(member.name)) + word(member.type);
    const std::uint64_t bits = member.offset * 8;
    if (!is_large) {
      extra += word(static_cast<std::uint32_t>(bits));
      continue;
    }
    if (version_ == 2) extra += word(0);
    extra += raw_bytes(static_cast<std::uint32_t>(bits >> 32U), static_cast<std::uint32_t>(bits));
  }
  return add(name, kinds_.structure, static_cast<std::uint32_t>(members.size()), size, true, extra);
}

std::string CtfBuilder::bytes(bool is_packed) const {
  std::string header = raw_bytes(std::uint16_t{0xcff1});
  header += static_cast<char>(version_);
  header += static_cast<char>(is_packed ? 1 : 0);
  header += std::string(24, '\0') + raw_bytes(static_cast<std::uint32_t>(types_.size())) +
            raw_bytes(static_cast<std::uint32_t>(strings_.size()));
  const std::string body = types_ + strings_;
  return header + (is_packed ? as_zlib(body) : body);
}

}  // namespace memstat
