// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/serve/query.h"

#include <optional>
#include <utility>

#include "daemon/http/rules.h"

namespace memstat {

Error client_error(std::string detail) {
  Error error;
  error.code = ErrorCode::kData;
  error.detail = std::move(detail);
  return error;
}

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
  if (query.empty()) return request;  // as almost every scraper asks
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
  if (wrong) return *wrong;  // it came first
  if (!read) return read.error();
  return request;
}

}  // namespace memstat
