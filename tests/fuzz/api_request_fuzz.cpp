// SPDX-License-Identifier: BSD-2-Clause
// The parameters of a request below /api/v1/: any bytes give a request within its bounds or a reason of bounded length.
#include <cstdlib>

#include "daemon/serve/query.h"
#include "tests/fuzz/fuzz_target.h"

void memstat::fuzz(std::string_view query) {
  const auto request = parse_api_request(query);
  if (!request) {
    if (request.error().detail.empty() || request.error().detail.size() > 400) std::abort();
    return;
  }
  if (request->seconds < 1 || request->seconds > ApiRequest::kMaxSeconds) std::abort();
  if (request->points < 2 || request->points > ApiRequest::kMaxPoints) std::abort();
  if (request->type && !request->allocator) std::abort();
  if (request->type && request->type->size() > query.size()) std::abort();
}
