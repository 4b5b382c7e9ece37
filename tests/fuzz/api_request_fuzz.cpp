// SPDX-License-Identifier: BSD-2-Clause
// The parameters of a request below /api/v1/: any bytes give a request within its bounds or a reason of bounded length.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "daemon/serve/query.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view query(reinterpret_cast<const char*>(data), size);
  const auto request = memstat::parse_api_request(query);
  if (!request) {
    if (request.error().detail.empty() || request.error().detail.size() > 400) std::abort();
    return 0;
  }
  if (request->seconds < 1 || request->seconds > memstat::ApiRequest::kMaxSeconds) std::abort();
  if (request->points < 2 || request->points > memstat::ApiRequest::kMaxPoints) std::abort();
  if (request->type && !request->allocator) std::abort();
  if (request->type && request->type->size() > size) std::abort();
  return 0;
}
