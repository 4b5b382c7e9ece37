// SPDX-License-Identifier: BSD-2-Clause
// What a request below /api/v1/ asks for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace memstat {

/// The parameters, decoded. Thread safety: a plain value.
struct ApiRequest {
  static constexpr std::int64_t kMaxSeconds = 24 * 60 * 60;
  static constexpr std::size_t kMaxPoints = 500;

  std::optional<std::string> allocator;
  std::optional<std::string> type;
  std::int64_t seconds = 60 * 60;  ///< how far back, 1 to kMaxSeconds
  std::size_t points = 30;         ///< 2 to kMaxPoints
};

/// Reads "allocator=slab&type=dentry&seconds=3600&points=30", percent-encoded, each at most once. Error kData with `detail`
/// for a client: an unknown or repeated parameter, a broken escape, a number out of its range, a type without its allocator.
Result<ApiRequest> parse_api_request(std::string_view query);

}  // namespace memstat
