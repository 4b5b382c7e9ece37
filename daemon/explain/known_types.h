// SPDX-License-Identifier: BSD-2-Clause
// Descriptions of well-known memory types: the names that users of FreeBSD and Linux see most often.
#pragma once

#include <span>
#include <string_view>

namespace memstat {

/// Describes a type, or all types that match a pattern. Each text is one line.
struct KnownType {
  std::string_view allocator;  ///< "slab", "uma", ...
  std::string_view pattern;    ///< The name; '*' matches any characters.
  std::string_view what;       ///< What one object is.
  std::string_view growth;     ///< What to check when it grows.
};

/// known_types.txt, embedded when it is built.
std::string_view known_types_text();

/// All of them, best match first.
std::span<const KnownType> known_types();

/// Whether all of `name` matches; '*' matches any characters.
bool matches_pattern(std::string_view pattern, std::string_view name);

}  // namespace memstat
