// SPDX-License-Identifier: BSD-2-Clause
// The query of a request: any bytes give a request, or a reason of bounded length.
#include <cstdlib>

#include "daemon/serve/query.h"
#include "tests/fuzz/fuzz_target.h"

void memstat::fuzz(std::string_view query) {
  const auto request = parse_page_request(query);
  if (!request) {
    if (request.error().detail.empty() || request.error().detail.size() > 400) std::abort();
    return;
  }
  std::size_t decoded = 0;
  for (const auto* list : {&request->allocators, &request->types, &request->names}) {
    for (const std::string& word : *list) {
      if (word.empty()) std::abort();
      decoded += word.size();
    }
  }
  if (decoded > query.size()) std::abort();
}
