// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/serve/api_request.h"

#include <utility>

#include "core/base/text.h"
#include "daemon/serve/query.h"

namespace memstat {
namespace {

/// The number, when it is in the range.
Result<std::uint64_t> number_of(std::string_view key, std::string_view text, std::uint64_t least, std::uint64_t most) {
  const auto number = parse_u64(text);
  if (number && *number >= least && *number <= most) return *number;
  return client_error(std::string(key) + " must be a whole number from " + std::to_string(least) + " to " +
                      std::to_string(most));
}

}  // namespace

Result<ApiRequest> parse_api_request(std::string_view query) {
  ApiRequest request;
  bool has_seconds = false;
  bool has_points = false;
  std::optional<Error> wrong;
  const Result<void> read = for_each_parameter(query, [&](std::string_view key, std::string&& value) {
    if (wrong) return;
    const auto repeated = [&] { wrong = client_error(std::string(key) + " is there twice; write it once"); };
    if (key == "allocator" || key == "type") {
      std::optional<std::string>& place = key == "type" ? request.type : request.allocator;
      if (place) return repeated();
      place = std::move(value);
    } else if (key == "seconds" || key == "points") {
      const bool is_seconds = key == "seconds";
      if (std::exchange(is_seconds ? has_seconds : has_points, true)) return repeated();
      const auto number =
          is_seconds ? number_of(key, value, 1, ApiRequest::kMaxSeconds) : number_of(key, value, 2, ApiRequest::kMaxPoints);
      if (!number) {
        wrong = number.error();
      } else if (is_seconds) {
        request.seconds = static_cast<std::int64_t>(*number);
      } else {
        request.points = *number;
      }
    } else {
      wrong =
          client_error(shown_to_client(key) + " is not a parameter; the parameters are allocator, type, seconds and points");
    }
  });
  if (!read) return read.error();
  if (wrong) return *wrong;
  if (request.type && !request.allocator) return client_error("type has no meaning without allocator; write both");
  return request;
}

}  // namespace memstat
