// SPDX-License-Identifier: BSD-2-Clause
// Pages without JavaScript.
#pragma once

#include <string>
#include <string_view>

namespace memstat {

/// The start of a page, up to and with <body>; the page ends with "</body></html>".
extern const std::string_view kPlainHead;

/// Appends text with what HTML means something by escaped, in element content and in quoted attributes.
void append_html(std::string& out, std::string_view text);

}  // namespace memstat
