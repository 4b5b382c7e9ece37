// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/serve/query.h"

#include <utility>

#include "core/base/text.h"
#include "daemon/http/rules.h"

namespace memstat {

Error client_error(const std::string& detail) { return make_error(ErrorCode::kData, {}, detail); }

std::string shown_to_client(std::string_view text) {
  constexpr std::size_t kMax = 60;
  return "\"" + std::string(text.substr(0, kMax)) + (text.size() > kMax ? "...\"" : "\"");
}

Result<void> for_each_parameter(std::string_view query, const std::function<void(std::string_view, std::string&&)>& take) {
  std::string key;
  std::string value;
  while (!query.empty()) {
    const std::string_view parameter = query.substr(0, query.find('&'));
    query.remove_prefix(parameter.size() < query.size() ? parameter.size() + 1 : query.size());
    if (parameter.empty()) continue;
    const std::size_t equals = parameter.find('=');
    const std::string_view raw_value = equals == std::string_view::npos ? std::string_view() : parameter.substr(equals + 1);
    if (!decode_percent(parameter.substr(0, equals), true, key) || !decode_percent(raw_value, true, value)) {
      return client_error(shown_to_client(parameter) + " has a '%' without two hexadecimal digits after it");
    }
    take(key, std::move(value));
  }
  return {};
}

Result<PageRequest> parse_page_request(std::string_view query) {
  PageRequest request;
  if (query.empty()) return request;  // the usual request of a scraper
  std::optional<Error> wrong;
  const Result<void> read = for_each_parameter(query, [&](std::string_view key, std::string&& value) {
    if (wrong) return;
    std::vector<std::string>* const list = key == "allocator[]" ? &request.allocators
                                           : key == "type[]"    ? &request.types
                                           : key == "name[]"    ? &request.names
                                                                : nullptr;
    if (list == nullptr) {
      wrong = client_error(shown_to_client(key) +
                           " is not a parameter; the parameters are allocator[], type[] and name[], each repeatable");
    } else if (value.empty()) {
      wrong = client_error(std::string(key) + " has no value; write " + std::string(key) + "=WORD, or leave it out");
    } else {
      list->push_back(std::move(value));
    }
  });
  if (wrong) return *wrong;  // report the first error
  if (!read) return read.error();
  return request;
}

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
    const auto repeated = [&] { wrong = client_error(std::string(key) + " is given twice; write it once"); };
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
