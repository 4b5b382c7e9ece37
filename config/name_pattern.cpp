// SPDX-License-Identifier: BSD-2-Clause
#include "config/name_pattern.h"

#include <re2/re2.h>

#include <algorithm>
#include <utility>

#include "config/values.h"

namespace memstat {
namespace {

/// Maximum memory of a pattern in B, compiled, with its cache. "kmalloc-.*" takes 2 KiB.
constexpr std::int64_t kMaxPatternMemory = 256 << 10;

Error refuse(std::string_view pattern, std::string_view why) {
  return make_error(ErrorCode::kData, {},
                    quoted(pattern) + " is not a regular expression: " + shortened(why) +
                        "; write one for the whole name, such as kmalloc-.*");
}

}  // namespace

Result<NamePattern> NamePattern::compile(std::string_view pattern) {
  if (pattern.empty()) return refuse(pattern, "it is empty");
  if (pattern.size() > kMaxPatternBytes) return refuse(pattern, "it is longer than 1024 bytes");
  if (pattern.find('\0') != std::string_view::npos) return refuse(pattern, "it holds a NUL byte");
  RE2::Options options(RE2::Latin1);  // names are bytes
  options.set_dot_nl(true);
  options.set_log_errors(false);
  options.set_never_capture(true);
  options.set_max_mem(kMaxPatternMemory);
  NamePattern result;
  result.text_ = pattern;
  auto compiled = std::make_shared<const RE2>(result.text_, options);
  if (!compiled->ok()) return refuse(pattern, compiled->error());
  result.compiled_ = std::move(compiled);
  return result;
}

bool NamePattern::matches(std::string_view name) const {
  return compiled_ == nullptr || RE2::FullMatch(re2::StringPiece(name.data(), name.size()), *compiled_);
}

bool matches_any(std::span<const NamePattern> patterns, std::string_view name) {
  return std::any_of(patterns.begin(), patterns.end(), [&](const NamePattern& pattern) { return pattern.matches(name); });
}

}  // namespace memstat
