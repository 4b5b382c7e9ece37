// SPDX-License-Identifier: BSD-2-Clause
// A regular expression that a whole name must match, as in Prometheus: `slab` does not match `slab-1`, `slab.*` does.
//
// POSIX extended syntax by <regex.h>: std::regex recurses per character and overflows the stack on a hostile 4 KiB name.
// Only what POSIX defines is accepted, so that one file means the same on Linux and FreeBSD: no \d, no (?:...), no
// back-references (which also take exponential time). What a pattern may cost is bounded, because some systems expand
// repetitions when they compile.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace memstat {

/// A compiled pattern. Copies share the compiled state and are cheap.
/// Thread safety: immutable; `matches` may be called by several threads at once on one object (POSIX promises that for
/// regexec on a constant regex_t; glibc takes a lock inside, so such calls take turns).
class NamePattern {
 public:
  /// Longest pattern in bytes that `compile` takes.
  static constexpr std::size_t kMaxPatternBytes = 1024;

  /// Matches every name; its text is ".*".
  NamePattern() = default;

  /// Errors: kData with `detail` "what is wrong; what would be right" for a pattern that is empty, too long, too costly,
  /// or no POSIX extended regular expression; kNoMemory.
  static Result<NamePattern> compile(std::string_view pattern);

  /// Whether the whole of `name` matches. `name` may hold any bytes and have any length; '.' matches each byte but NUL.
  /// False when the system has no memory left for the match. Allocates and costs microseconds: ask once per type and keep
  /// the answer, not once per poll.
  [[nodiscard]] bool matches(std::string_view name) const;

  /// The pattern as it was written.
  [[nodiscard]] const std::string& text() const { return text_; }

  /// Same text.
  friend bool operator==(const NamePattern& a, const NamePattern& b) { return a.text_ == b.text_; }

 private:
  struct Compiled;

  std::string text_ = ".*";
  std::shared_ptr<const Compiled> compiled_;  ///< Null: everything matches.
};

}  // namespace memstat
