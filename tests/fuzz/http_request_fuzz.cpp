// SPDX-License-Identifier: BSD-2-Clause
// libFuzzer target: any bytes as the parts of a request that any client may send: the header with its path, Host and lists,
// the credentials in "Authorization", and the query, below /metrics and below /api/v1/. Aborts if two results contradict
// each other, or exceed their bounds.
#include <string>

#include "core/base/text.h"
#include "daemon/http/rules.h"
#include "daemon/serve/authentication.h"
#include "daemon/serve/query.h"
#include "tests/fuzz/fuzz_target.h"

namespace memstat {
namespace {

void judge_header(std::string_view bytes) {
  // A header that is complete stays complete, whatever follows it.
  const std::size_t length = header_length(bytes, 0);
  MEMSTAT_FUZZ_REQUIRE(length <= bytes.size());
  if (length != 0) MEMSTAT_FUZZ_REQUIRE(header_length(std::string(bytes) + "x", 0) != 0);
  if (is_strict_header(bytes)) MEMSTAT_FUZZ_REQUIRE(length == bytes.size());
  std::string text;
  if (decode_percent(bytes, false, text)) MEMSTAT_FUZZ_REQUIRE(text.size() <= bytes.size());
  std::string path;
  if (decode_path(bytes, path))
    MEMSTAT_FUZZ_REQUIRE(path.starts_with('/') && path.find('\0') == std::string::npos && path == text);
  if (is_header_name(bytes)) MEMSTAT_FUZZ_REQUIRE(bytes.find_first_of(" \t\r\n:,\"") == std::string_view::npos);
  if (is_loopback_host(bytes)) MEMSTAT_FUZZ_REQUIRE(bytes.find_first_of(" /@#?") == std::string_view::npos);
  if (list_contains(bytes, "close")) MEMSTAT_FUZZ_REQUIRE(list_contains(std::string(bytes) + ",x", "close"));
  const auto credentials = parse_basic_credentials(bytes);
  if (!credentials) return;
  MEMSTAT_FUZZ_REQUIRE(credentials->name.find(':') == std::string::npos);
  MEMSTAT_FUZZ_REQUIRE(credentials->name.size() + credentials->password.size() <= bytes.size());
}

template <typename Request>
bool is_accepted(const Result<Request>& request) {
  if (!request) MEMSTAT_FUZZ_REQUIRE(!request.error().detail.empty() && request.error().detail.size() <= 400);
  return request.has_value();
}

void judge_query(std::string_view query) {
  if (const auto request = parse_api_request(query); is_accepted(request)) {
    MEMSTAT_FUZZ_REQUIRE(request->seconds >= 1 && request->seconds <= ApiRequest::kMaxSeconds);
    MEMSTAT_FUZZ_REQUIRE(request->points >= 2 && request->points <= ApiRequest::kMaxPoints);
    MEMSTAT_FUZZ_REQUIRE(!request->type || (request->allocator && request->type->size() <= query.size()));
  }
  if (const auto request = parse_page_request(query); is_accepted(request)) {
    std::size_t decoded = 0;
    for (const auto* list : {&request->allocators, &request->types, &request->names}) {
      for (const std::string& word : *list) {
        MEMSTAT_FUZZ_REQUIRE(!word.empty());
        decoded += word.size();
      }
    }
    MEMSTAT_FUZZ_REQUIRE(decoded <= query.size());
  }
}

}  // namespace
}  // namespace memstat

void memstat::fuzz(std::string_view bytes) {
  judge_header(bytes);
  judge_query(bytes);
}
