// SPDX-License-Identifier: BSD-2-Clause
// The parameters of requests: of a page (allocator[], type[], name[]) and below /api/v1/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

#include "daemon/snapshot/filter.h"

namespace memstat {

/// Calls `take(key, value)` for each parameter of a query, decoded; a missing value is "". Errors: kData with `detail` for a
/// client at the first invalid escape.
Result<void> for_each_parameter(std::string_view query, const std::function<void(std::string_view, std::string&&)>& take);

/// Makes a kData error with a text for the client, which becomes status 400.
Error client_error(const std::string& detail);

/// A client's text in quotes, truncated for use in a message.
std::string shown_to_client(std::string_view text);

/// Parses "allocator[]=slab&type[]=dentry": percent-encoded keys and values, '+' for a blank, '[' and ']' plain or encoded.
/// An empty query is the whole page. Errors: kData with `detail` for a client, for an unknown parameter, one without a
/// value, or an invalid escape. (Ignoring a parameter would give an unexpected page.)
Result<PageRequest> parse_page_request(std::string_view query);

/// The decoded parameters of a request below /api/v1/.
struct ApiRequest {
  static constexpr std::int64_t kMaxSeconds = 24 * 60 * 60;
  static constexpr std::size_t kMaxPoints = 500;

  std::optional<std::string> allocator;
  std::optional<std::string> type;
  std::int64_t seconds = 60 * 60;  ///< time to look back, 1 to kMaxSeconds
  std::size_t points = 30;         ///< 2 to kMaxPoints
};

/// Parses "allocator=slab&type=dentry&seconds=3600&points=30", percent-encoded, each at most once. Errors: kData with
/// `detail` for a client, for an unknown or repeated parameter, an invalid escape, a number out of range, or a type without
/// its allocator.
Result<ApiRequest> parse_api_request(std::string_view query);

}  // namespace memstat
