// SPDX-License-Identifier: BSD-2-Clause
// A regular expression that must match the whole name, as in Prometheus: `slab` does not match `slab-1`, `slab.*` does.
//
// The syntax is RE2's, like Prometheus's: no back-references, and matching time is linear in the length of the name, so
// neither a hostile name nor a hostile pattern delays a poll.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace re2 {
class RE2;
}

namespace memstat {

/// A compiled pattern. Copies share the compiled state and are cheap.
/// Thread safety: immutable; `matches` may be called by several threads at once on one object.
class NamePattern {
 public:
  /// Maximum length of a pattern in bytes.
  static constexpr std::size_t kMaxPatternBytes = 1024;

  /// Matches every name; its text is ".*".
  NamePattern() = default;

  /// Errors: kData with `detail` "what is wrong; what would be right" for a pattern that is empty, too long, too large
  /// once its repetitions are expanded, or not a regular expression.
  static Result<NamePattern> compile(std::string_view pattern);

  /// Whether all of `name` matches. `name` may hold any bytes and have any length; '.' matches each byte. Allocates,
  /// and takes microseconds: call it once per type and keep the result, not at every poll.
  [[nodiscard]] bool matches(std::string_view name) const;

  /// The original text of the pattern.
  [[nodiscard]] const std::string& text() const { return text_; }

  /// Compares the texts.
  friend bool operator==(const NamePattern& a, const NamePattern& b) { return a.text_ == b.text_; }

 private:
  std::string text_ = ".*";
  std::shared_ptr<const re2::RE2> compiled_;  ///< Null: matches everything.
};

/// Whether one of the patterns matches.
bool matches_any(std::span<const NamePattern> patterns, std::string_view name);

}  // namespace memstat
