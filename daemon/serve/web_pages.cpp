// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/serve/web_pages.h"

#include "daemon/serve/negotiation.h"

namespace memstat {
namespace {

constexpr std::string_view kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'";

std::string_view content_type_of(std::string_view name) {
  if (name.ends_with(".css")) return "text/css; charset=utf-8";
  if (name.ends_with(".js")) return "text/javascript; charset=utf-8";
  return "text/html; charset=utf-8";
}

const WebAsset* find_asset(std::string_view path) {
  if (!path.starts_with('/')) return nullptr;
  const std::string_view name = path == "/" ? "index.html" : path.substr(1);
  if (path == "/index.html") return nullptr;  // one URL per page
  for (const WebAsset& asset : web_assets()) {
    if (asset.name == name) return &asset;
  }
  return nullptr;
}

}  // namespace

bool WebPages::has(std::string_view path) { return find_asset(path) != nullptr; }

HttpResponse WebPages::respond(const HttpRequest& request) {
  const WebAsset& asset = *find_asset(request.path);
  HttpResponse response = revalidated(request, "W/" + std::string(asset.etag));
  response.headers.emplace_back("Content-Security-Policy", kPolicy);
  response.headers.emplace_back("Referrer-Policy", "no-referrer");
  if (response.status == 304) return response;
  response.content_type = content_type_of(asset.name);
  response.pieces.push_back(asset.bytes);
  const auto index = static_cast<std::size_t>(&asset - web_assets().data());
  if (index >= kMaxAssets || !can_gzip() || negotiate_coding(request.headers) != ContentCoding::kGzip) return response;
  const MutexLock lock(mutex_);
  Buffer& gzip = gzip_[index];
  if (gzip.view().empty() && !compressor_.compress(asset.bytes, gzip)) return response;
  response.headers.emplace_back("Content-Encoding", "gzip");
  response.pieces[0] = gzip.view();
  return response;
}

}  // namespace memstat
