// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/http/rules.h"

#include <algorithm>

#include "core/base/ascii.h"
#include "core/base/text.h"

namespace memstat {

bool may_connect(const IpAddress& address, std::span<const IpNetwork> allow) {
  return is_loopback(address) ||
         std::any_of(allow.begin(), allow.end(), [&](const IpNetwork& network) { return network.holds(address); });
}

bool decode_path(std::string_view raw, std::string& path) {
  return raw.starts_with('/') && decode_percent(raw, false, path) && path.find('\0') == std::string::npos;
}

bool is_loopback_host(std::string_view host) {
  const std::size_t bracket = host.rfind(']');
  const std::size_t colon = host.rfind(':');
  if (colon != std::string_view::npos && (bracket == std::string_view::npos || colon > bracket)) {
    const std::string_view port = host.substr(colon + 1);
    if (!port.empty() && !parse_u64(port)) return false;
    host = host.substr(0, colon);
  }
  if (equals_ignoring_case(host, "localhost") || host == "[::1]") return true;
  const auto address = parse_ip(host);
  return address && is_loopback(*address);
}

bool is_header_name(std::string_view text) { return !text.empty() && std::all_of(text.begin(), text.end(), is_token_char); }

bool list_contains(std::string_view list, std::string_view token) {
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    if (equals_ignoring_case(trim(list.substr(0, comma)), token)) return true;
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return false;
}

std::size_t header_length(std::string_view bytes, std::size_t seen) {
  for (std::size_t i = seen; i < bytes.size(); ++i) {
    const auto c = static_cast<unsigned char>(bytes[i]);
    if (c == '\n') {
      // civetweb also accepts "\n\n" and "\n\r\n" as the end of a header. is_strict_header rejects the bare line feeds.
      const std::string_view before = bytes.substr(0, i);
      if (before.ends_with('\n') || before.ends_with("\n\r")) return i + 1;
    } else if ((c < 0x20 && c != '\r') || c == 0x7f) {
      return bytes.size();
    }
  }
  return 0;
}

bool is_strict_header(std::string_view header) {
  for (bool is_first = true;; is_first = false) {
    const std::size_t end = header.find('\r');
    if (end == std::string_view::npos || header.substr(end, 2) != "\r\n") return false;
    const std::string_view line = header.substr(0, end);
    header.remove_prefix(end + 2);
    if (line.empty()) return !is_first && header.empty();
    if (std::any_of(line.begin(), line.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; })) return false;
    if (is_first) {
      const std::size_t first = line.find(' ');
      const std::size_t last = line.rfind(' ');
      const bool has_three_words =
          first != 0 && first != std::string_view::npos && first + 1 < last && last + 1 < line.size();
      if (!has_three_words || line.substr(first + 1, last - first - 1).find(' ') != std::string_view::npos) return false;
    } else if (!is_header_name(line.substr(0, line.find(':'))) || line.find(':') == std::string_view::npos) {
      return false;
    }
  }
}

}  // namespace memstat
