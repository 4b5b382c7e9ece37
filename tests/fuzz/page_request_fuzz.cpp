// SPDX-License-Identifier: BSD-2-Clause
// The query of a request: any bytes give a request, or a reason of bounded length.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "daemon/serve/query.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view query(reinterpret_cast<const char*>(data), size);
  const auto request = memstat::parse_page_request(query);
  if (!request) {
    if (request.error().detail.empty() || request.error().detail.size() > 400) std::abort();
    return 0;
  }
  std::size_t decoded = 0;
  for (const auto* list : {&request->allocators, &request->types, &request->names}) {
    for (const std::string& word : *list) {
      if (word.empty()) std::abort();
      decoded += word.size();
    }
  }
  if (decoded > size) std::abort();
  return 0;
}
