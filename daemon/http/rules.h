// SPDX-License-Identifier: BSD-2-Clause
// Rules for HTTP requests, independent of sockets: who may connect, decoding paths, recognizing this machine's Host, strict
// headers. Everything here is pure.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "core/base/ip_address.h"

namespace memstat {

/// Whether a client may connect: loopback always may, others from these networks.
bool may_connect(const IpAddress& address, std::span<const IpNetwork> allow);

/// As decode_percent, for a path. Also returns false for an escaped NUL, or if the path does not begin with '/'.
bool decode_path(std::string_view raw, std::string& path);

/// Whether a Host header (or the authority of a URL) is this machine's loopback: localhost, 127.x.x.x or [::1], with or
/// without a port. This rejects web pages whose own host name resolves to 127.0.0.1 (DNS rebinding).
bool is_loopback_host(std::string_view host);

/// Whether a token of RFC 9110 may contain this character.
constexpr bool is_token_char(char c) {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  return is_letter || kMarks.find(c) != std::string_view::npos;
}

/// Whether the text is a valid header name: a token of RFC 9110.
bool is_header_name(std::string_view text);

/// Whether a header's comma-separated list contains `token`, case-insensitive.
bool list_contains(std::string_view list, std::string_view token);

/// Length of the first request header in `bytes`; 0 while it is incomplete. The first `seen` bytes contain no end. A
/// control character ends it, and is_strict_header then rejects it.
std::size_t header_length(std::string_view bytes, std::size_t seen);

/// Whether a complete header conforms to RFC 9112: three words separated by single blanks, header names immediately
/// followed by a colon, CR LF after each line, no control characters and no folded lines. civetweb tolerates each of
/// these, and each has been used to make two parsers see different requests (request smuggling).
bool is_strict_header(std::string_view header);

}  // namespace memstat
