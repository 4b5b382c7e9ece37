// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/serve/revalidation.h"

#include <algorithm>
#include <utility>

namespace memstat {

bool has_entity(const HttpRequest& request, std::string_view etag) {
  const auto header = request.header("If-None-Match");
  if (!header) return false;
  for (std::string_view left = *header; !left.empty();) {
    std::string_view one = left.substr(0, left.find(','));
    left.remove_prefix(std::min(left.size(), one.size() + 1));
    while (one.starts_with(' ') || one.starts_with('\t')) one.remove_prefix(1);
    while (one.ends_with(' ') || one.ends_with('\t')) one.remove_suffix(1);
    if (one == "*") return true;
    if (one.starts_with("W/")) one.remove_prefix(2);
    if (one == etag.substr(etag.starts_with("W/") ? 2 : 0)) return true;
  }
  return false;
}

HttpResponse revalidated(const HttpRequest& request, std::string etag) {
  HttpResponse response;
  response.cache_control = "no-cache";
  if (has_entity(request, etag)) response.status = 304;
  response.headers.emplace_back("ETag", std::move(etag));
  response.headers.emplace_back("Vary", "Accept-Encoding");
  return response;
}

}  // namespace memstat
