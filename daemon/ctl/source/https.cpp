// SPDX-License-Identifier: BSD-2-Clause
// https through libcurl, which is loaded on demand: memstatd itself serves plain HTTP, so few users need it.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>

#include "core/base/text.h"
#include "core/kernel/dynamic_library.h"
#include "daemon/ctl/source/http_client.h"

namespace memstat::ctl {
namespace {

// Values from curl/curl.h. They are the library's ABI, so they never change.
enum CurlOption : int {
  kConnectTimeout = 78,
  kHttpVersion = 84,
  kNoSignal = 99,
  kProtocols = 181,
  kHeaderInOutput = 42,
  kNoProgress = 43,
  kTimeoutMs = 155,
  kWriteData = 10001,
  kUrl = 10002,
  kErrorText = 10010,
  kRequestHeaders = 10023,
  kCaFile = 10065,
  kProgressData = 10057,
  kWriteFunction = 20011,
  kProgressFunction = 20219
};
constexpr long kHttp10 = 1;
constexpr long kOnlyHttps = 2;

/// libcurl's functions.
struct Curl : DynamicLibrary {
  Curl() : DynamicLibrary({"libcurl.so.4", "libcurl-gnutls.so.4", "libcurl.so"}) {}
  void* (*init)() = find("curl_easy_init");
  int (*set)(void* handle, int option, ...) = find("curl_easy_setopt");
  int (*perform)(void* handle) = find("curl_easy_perform");
  void (*cleanup)(void* handle) = find("curl_easy_cleanup");
  void* (*append)(void* list, const char* text) = find("curl_slist_append");
  void (*free_list)(void* list) = find("curl_slist_free_all");
};

struct Received {
  std::string& bytes;
  std::size_t most;
};

/// Stores received bytes. Returning fewer bytes ends the transfer.
std::size_t take(const char* bytes, std::size_t size, std::size_t count, void* context) {
  auto& received = *static_cast<Received*>(context);
  if (received.bytes.size() + size * count > received.most) return 0;
  received.bytes.append(bytes, size * count);
  return size * count;
}

/// Called about once per second. A curl_off_t has 64 bits.
int update_line(void* context, std::int64_t /*total*/, std::int64_t /*now*/, std::int64_t /*total_up*/,
                std::int64_t /*now_up*/) {
  static_cast<WaitingLine*>(context)->update();
  return 0;
}

}  // namespace

std::string https_get(const HttpUrl& url, const HttpsRequest& request, std::string& bytes) {
  static const Curl curl;
  if (!curl.is_complete()) {
    return "https needs libcurl, which is not installed here (package libcurl4 or curl); or give http://HOST:PORT through "
           "an "
           "SSH tunnel";
  }
  void* const handle = curl.init();
  if (handle == nullptr) return "libcurl cannot be initialized";
  void* headers = nullptr;
  for (const char* line : {"Accept: application/json", "Connection: close", "User-Agent: memstatctl"}) {
    headers = curl.append(headers, line);
  }
  if (!request.etag.empty()) headers = curl.append(headers, ("If-None-Match: " + std::string(request.etag)).c_str());
  if (!url.credentials.empty()) headers = curl.append(headers, ("Authorization: Basic " + url.credentials).c_str());
  for (const std::string& header : url.headers) headers = curl.append(headers, header.c_str());
  const std::string address = "https://" + url.authority + url.prefix + std::string(request.path);
  std::array<char, 256> error{};  // CURL_ERROR_SIZE
  Received received{.bytes = bytes, .most = request.most};
  WaitingLine line(url);
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(request.deadline - system_clock().now()).count();
  curl.set(handle, kUrl, address.c_str());
  curl.set(handle, kProtocols, kOnlyHttps);
  curl.set(handle, kHttpVersion, kHttp10);
  curl.set(handle, kHeaderInOutput, 1L);
  curl.set(handle, kNoSignal, 1L);
  curl.set(handle, kConnectTimeout, static_cast<long>(kHttpConnectSeconds));
  curl.set(handle, kTimeoutMs, static_cast<long>(std::max<std::int64_t>(1, left)));
  curl.set(handle, kNoProgress, 0L);
  curl.set(handle, kProgressFunction, update_line);
  curl.set(handle, kProgressData, &line);
  curl.set(handle, kRequestHeaders, headers);
  curl.set(handle, kWriteFunction, take);
  curl.set(handle, kWriteData, &received);
  curl.set(handle, kErrorText, error.data());
  const char* const authorities = std::getenv("SSL_CERT_FILE");  // NOLINT(concurrency-mt-unsafe)
  if (authorities != nullptr) curl.set(handle, kCaFile, authorities);
  const int status = curl.perform(handle);
  curl.free_list(headers);
  curl.cleanup(handle);
  if (status == 0) return {};
  return error[0] == '\0' ? "libcurl failed with code " + std::to_string(status) : std::string(trim(error.data()));
}

}  // namespace memstat::ctl
