// SPDX-License-Identifier: BSD-2-Clause
// Rules on the text of an HTTP request, free of any socket: what a path means, which Host is this machine, which connection
// stays open. Everything here is pure. Thread safety: safe.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace memstat {

/// Decodes the percent escapes of `raw` into `text` (its old content goes), and '+' as a blank where queries want it. False
/// when an escape is malformed.
bool decode_percent(std::string_view raw, bool plus_is_blank, std::string& text);

/// The same of a path. False also when an escape stands for NUL, or when the path does not start with '/'.
bool decode_path(std::string_view raw, std::string& path);

/// Whether a Host header (or the authority of a URL) names this machine's loopback: localhost, 127.x.x.x or [::1], with any
/// port or none. A web page that had its own name resolve to 127.0.0.1 fails this.
bool is_loopback_host(std::string_view host);

/// Whether the text may be the name of a header: letters, digits and the marks that no list or quotation needs (a token of
/// RFC 9110).
bool is_header_name(std::string_view text);

/// Whether the comma-separated list of a header contains `token`, regardless of case.
bool list_contains(std::string_view list, std::string_view token);

/// The length of the first request header in `bytes`, of which the first `seen` hold no end; 0 while it is incomplete. A
/// control character ends it: is_strict_header refuses what comes of it.
std::size_t header_length(std::string_view bytes, std::size_t seen);

/// Whether a complete header is written as RFC 9112 wants it: three words and one blank each between them, a header name
/// directly before each colon, CR LF after each line, no control characters and no folded lines. civetweb forgives each of
/// these; each has been used to make two readers see different requests.
bool is_strict_header(std::string_view header);

/// The standard's words for a status ("Not Found"); "Unknown" for one that this server does not use.
std::string_view status_words(int status);

}  // namespace memstat
