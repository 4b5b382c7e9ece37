// SPDX-License-Identifier: BSD-2-Clause
// For tests of answers that a page gives without a server.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "daemon/http/server.h"

namespace memstat {

/// The value of its first header of that name, as written; nothing if it has none.
inline std::optional<std::string> header_of(const HttpResponse& response, std::string_view wanted) {
  for (const auto& [name, value] : response.headers) {
    if (name == wanted) return value;
  }
  return std::nullopt;
}

inline std::string body_of(const HttpResponse& response) {
  std::string body;
  for (const std::string_view piece : response.pieces) body += piece;
  return body + response.text;
}

}  // namespace memstat
