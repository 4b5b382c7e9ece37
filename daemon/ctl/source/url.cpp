// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/source/url.h"

#include <sys/un.h>

#include <algorithm>

#include "core/base/ascii.h"
#include "core/base/text.h"

namespace memstat::ctl {
namespace {

/// Removes a prefix, case-insensitive. Returns false if the text does not begin with it.
bool cut_beginning(std::string_view& text, std::string_view beginning) {
  if (!equals_ignoring_case(text.substr(0, beginning.size()), beginning)) return false;
  text.remove_prefix(beginning.size());
  return true;
}

/// Decodes escapes: %41 is 'A'. Invalid ones are kept.
std::string unescaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_escape =
        text[i] == '%' && i + 2 < text.size() && hex_digit(text[i + 1]) >= 0 && hex_digit(text[i + 2]) >= 0;
    out += is_escape ? static_cast<char>(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2])) : text[i];
    if (is_escape) i += 2;
  }
  return out;
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    unsigned group = 0;
    for (std::size_t j = i; j < i + 3; ++j)
      group = group << 8U | (j < bytes.size() ? static_cast<unsigned char>(bytes[j]) : 0U);
    for (std::size_t j = 0; j < 4; ++j) text += i + j <= bytes.size() ? kDigits[group >> (18 - 6 * j) & 63U] : '=';
  }
  return text;
}

ParsedUrl refused(const char* why) { return {.url = {}, .problem = why}; }

ParsedUrl parse_socket(std::string_view text, std::string_view path) {
  if (!path.starts_with('/') || path.size() > sizeof(sockaddr_un::sun_path) - 1) {
    return refused("is not the path of a socket: give unix:/run/memstatd/memstatd.sock");
  }
  HttpUrl url{
      .socket = std::string(path), .host = "localhost", .port = "80", .prefix = {}, .credentials = {}, .for_logs = {}};
  url.for_logs = text;
  return {.url = std::move(url), .problem = {}};
}

}  // namespace

bool is_url(std::string_view reference) {
  return cut_beginning(reference, "http://") || cut_beginning(reference, "https://") || reference.starts_with("unix:");
}

ParsedUrl parse_url(std::string_view text) {
  const std::string_view whole = text;
  if (cut_beginning(text, "unix:")) return parse_socket(whole, text);
  const bool has_bad_byte = std::any_of(text.begin(), text.end(), [](char c) { return c <= ' ' || c == '\x7f'; });
  if (has_bad_byte || text.find_first_of("?#") != std::string_view::npos) {
    return refused("is not the URL of a memstatd: give http://HOST:PORT, without blanks, '?' and '#'");
  }
  HttpUrl url;
  url.is_https = cut_beginning(text, "https://");
  if (!url.is_https && !cut_beginning(text, "http://"))
    return refused("is not the URL of a memstatd: give http://HOST:PORT");
  const std::size_t slash = std::min(text.find('/'), text.size());
  url.prefix = text.substr(slash);
  url.prefix.erase(url.prefix.find_last_not_of('/') + 1);
  text = text.substr(0, slash);
  if (const std::size_t at = text.rfind('@'); at != std::string_view::npos) {
    url.credentials = base64(unescaped(text.substr(0, at)));
    text.remove_prefix(at + 1);
  }
  url.for_logs = std::string(url.is_https ? "https://" : "http://").append(text).append(url.prefix);
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) return refused("has an IPv6 address without its ']': give http://[::1]:8947");
    url.host = text.substr(1, end - 1);
    text.remove_prefix(end + 1);
    if (!text.empty() && text[0] != ':') return refused("is not the URL of a memstatd: give http://[::1]:8947");
  } else {
    url.host = text.substr(0, text.find(':'));
    text.remove_prefix(url.host.size());
  }
  if (url.host.empty()) return refused("has no host: give http://HOST:PORT");
  url.port = !text.empty() ? std::string(text.substr(1)) : url.is_https ? "443" : "80";
  const auto port = parse_u64(url.port);
  if (!port || *port == 0 || *port > 65535) {
    return refused("has an invalid port: give http://HOST:PORT, such as http://127.0.0.1:8947");
  }
  return {.url = std::move(url), .problem = {}};
}

}  // namespace memstat::ctl
