// SPDX-License-Identifier: BSD-2-Clause
// libFuzzer target: any bytes as input of the checks before and after civetweb parses a request: end of header, path, Host,
// header names and lists. Aborts if two results contradict each other.
#include <cstdlib>
#include <string>

#include "daemon/http/rules.h"
#include "tests/fuzz/fuzz_target.h"

namespace memstat {
namespace {

void require(bool is_so) {
  if (!is_so) std::abort();
}

void judge(std::string_view bytes) {
  // A header that is complete stays complete, whatever follows it.
  const std::size_t length = header_length(bytes, 0);
  require(length <= bytes.size());
  if (length != 0) require(header_length(std::string(bytes) + "x", 0) != 0);
  if (is_strict_header(bytes)) require(length == bytes.size());
  std::string text;
  if (decode_percent(bytes, false, text)) require(text.size() <= bytes.size());
  std::string path;
  if (decode_path(bytes, path)) require(path.starts_with('/') && path.find('\0') == std::string::npos && path == text);
  if (is_header_name(bytes)) require(bytes.find_first_of(" \t\r\n:,\"") == std::string_view::npos);
  if (is_loopback_host(bytes)) require(bytes.find_first_of(" /@#?") == std::string_view::npos);
  if (list_contains(bytes, "close")) require(list_contains(std::string(bytes) + ",x", "close"));
}

}  // namespace
}  // namespace memstat

void memstat::fuzz(std::string_view bytes) { judge(bytes); }
