// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/serve/credentials.h"

#include <cstdint>

#include "core/base/ascii.h"
#include "core/base/text.h"

namespace memstat {
namespace {

/// The value of a base64 digit, 0 to 63, or -1.
int sextet(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '+') return 62;
  return c == '/' ? 63 : -1;
}

std::optional<std::string> decode_base64(std::string_view text) {
  if (text.size() % 4 != 0) return {};
  std::size_t padding = 0;
  for (; padding < 2 && text.ends_with('='); ++padding) text.remove_suffix(1);
  std::string bytes;
  std::uint32_t bits = 0;
  unsigned have = 0;
  for (const char c : text) {
    const int value = sextet(c);
    if (value < 0) return {};
    bits = bits << 6U | static_cast<std::uint32_t>(value);
    have += 6;
    if (have < 8) continue;
    have -= 8;
    bytes += static_cast<char>(bits >> have & 0xFFU);
  }
  if ((bits & ((1U << have) - 1)) != 0) return {};  // reject other encodings of the same bytes
  return bytes;
}

}  // namespace

std::optional<Credentials> parse_basic_credentials(std::string_view value) {
  constexpr std::string_view kScheme = "Basic ";
  if (value.size() < kScheme.size() || !equals_ignoring_case(value.substr(0, kScheme.size()), kScheme)) return {};
  const auto text = decode_base64(trim(value.substr(kScheme.size())));
  const std::size_t colon = text ? text->find(':') : std::string::npos;
  if (colon == std::string::npos) return {};
  return Credentials{.name = text->substr(0, colon), .password = text->substr(colon + 1)};
}

}  // namespace memstat
