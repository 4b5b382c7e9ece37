// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <array>

#include "tests/support/fake_freebsd_dump.h"
#include "tests/support/fake_linux_dump.h"

namespace memstat {
namespace {

enum BuiltCtfKind : std::uint32_t {
  kIntegerKind = 1,
  kPointerKind = 3,
  kArrayKind = 4,
  kFunctionKind = 5,
  kStructKind = 6,
  kEnumKind = 8,
  kTypedefKind = 10
};

std::uint32_t adler32_of(std::string_view bytes) {
  std::uint32_t low = 1, high = 0;
  for (const char byte : bytes) {
    low = (low + static_cast<unsigned char>(byte)) % 65521;
    high = (high + low) % 65521;
  }
  return high << 16U | low;
}

std::uint32_t crc32_of(std::string_view bytes) {
  static const std::array<std::uint32_t, 256> table = [] {
    std::array<std::uint32_t, 256> made{};
    for (std::uint32_t i = 0; i < made.size(); ++i) {
      std::uint32_t value = i;
      for (int bit = 0; bit < 8; ++bit) value = (value & 1U) != 0 ? value >> 1U ^ 0xedb88320U : value >> 1U;
      made[i] = value;
    }
    return made;
  }();
  std::uint32_t sum = ~0U;
  for (const char byte : bytes) sum = table[(sum ^ static_cast<unsigned char>(byte)) & 0xffU] ^ sum >> 8U;
  return ~sum;
}

/// Blocks of deflate with uncompressed bytes.
std::string stored_blocks(std::string_view bytes) {
  std::string blocks;
  do {
    const auto size = static_cast<std::uint16_t>(std::min<std::size_t>(bytes.size(), 65535));
    blocks += static_cast<char>(size == bytes.size() ? 1 : 0);
    blocks += raw_bytes(size) + raw_bytes(static_cast<std::uint16_t>(~size));
    blocks += bytes.substr(0, size);
    bytes.remove_prefix(size);
  } while (!bytes.empty());
  return blocks;
}

std::string as_zlib(std::string_view bytes) {
  return std::string("\x78\x01") + stored_blocks(bytes) + raw_bytes(__builtin_bswap32(adler32_of(bytes)));
}

}  // namespace

std::string as_gzip(std::string_view bytes) {
  return std::string("\x1f\x8b\x08\0\0\0\0\0\0\xff", 10) + stored_blocks(bytes) + raw_bytes(crc32_of(bytes)) +
         raw_bytes(static_cast<std::uint32_t>(bytes.size()));
}

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

std::uint32_t CtfBuilder::string_at(const std::string& text) {
  if (text.empty()) return 0;
  const auto at = static_cast<std::uint32_t>(strings_.size());
  strings_ += text + '\0';
  return at;
}

std::uint32_t CtfBuilder::add(const std::string& name, std::uint32_t kind, std::uint32_t count, std::uint64_t last,
                              bool is_size, std::string_view extra) {
  const std::uint32_t behind = version_ == 2 ? 0xffff : 0xffff'ffff;
  const bool is_behind = is_size && last >= behind;
  types_ += raw_bytes(string_at(name));
  types_ += word(version_ == 2 ? kind << 11U | 1U << 10U | count : kind << 26U | 1U << 25U | count);
  types_ += word(is_behind ? behind : static_cast<std::uint32_t>(last));
  if (is_behind) types_ += raw_bytes(static_cast<std::uint32_t>(last >> 32U)) + raw_bytes(static_cast<std::uint32_t>(last));
  types_ += extra;
  return ++count_;
}

std::uint32_t CtfBuilder::add_integer(const std::string& name, std::uint32_t size) {
  return add(name, kIntegerKind, 0, size, true, raw_bytes(size * 8));
}
std::uint32_t CtfBuilder::add_pointer(std::uint32_t target) { return add("", kPointerKind, 0, target, false, {}); }
std::uint32_t CtfBuilder::add_typedef(const std::string& name, std::uint32_t target) {
  return add(name, kTypedefKind, 0, target, false, {});
}
std::uint32_t CtfBuilder::add_array(std::uint32_t element, std::uint32_t count) {
  return add("", kArrayKind, 0, 0, false, word(element) + word(1) + raw_bytes(count));
}
std::uint32_t CtfBuilder::add_function(std::uint32_t arguments) {
  std::string extra;
  for (std::uint32_t i = 0; i < arguments; ++i) extra += word(1);
  if (extra.size() % 4 != 0) extra += word(0);
  return add("", kFunctionKind, arguments, 1, false, extra);
}
std::uint32_t CtfBuilder::add_enum(const std::string& name,
                                   const std::vector<std::pair<std::string, std::uint32_t>>& constants) {
  std::string extra;
  for (const auto& [constant, value] : constants) extra += raw_bytes(string_at(constant)) + raw_bytes(value);
  return add(name, kEnumKind, static_cast<std::uint32_t>(constants.size()), 4, true, extra);
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
    extra += raw_bytes(static_cast<std::uint32_t>(bits >> 32U)) + raw_bytes(static_cast<std::uint32_t>(bits));
  }
  return add(name, kStructKind, static_cast<std::uint32_t>(members.size()), size, true, extra);
}

std::string CtfBuilder::bytes(bool is_packed) const {
  std::string header = raw_bytes(std::uint16_t{0xcff1});
  header += static_cast<char>(version_);
  header += static_cast<char>(is_packed ? 1 : 0);
  const auto types_size = static_cast<std::uint32_t>(types_.size());
  for (const std::uint32_t number : {0U, 0U, 0U, 0U, 0U, 0U, types_size, static_cast<std::uint32_t>(strings_.size())}) {
    header += raw_bytes(number);
  }
  const std::string body = types_ + strings_;
  return header + (is_packed ? as_zlib(body) : body);
}

}  // namespace memstat
