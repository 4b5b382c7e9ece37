// SPDX-License-Identifier: BSD-2-Clause
// What well-known memory types are: the names that users of FreeBSD and Linux meet most.
#pragma once

#include <span>
#include <string_view>

namespace memstat {

/// What is known of a type, or of all types whose name matches a pattern. Sentences on one line. Thread safety: a constant.
struct KnownType {
  std::string_view allocator;  ///< "slab", "uma", ...
  std::string_view pattern;    ///< The name; '*' stands for any characters.
  std::string_view what;       ///< What one object is.
  std::string_view growth;     ///< What to look at when it grows.
};

/// All of them; of several that match a name, the first is the best.
std::span<const KnownType> known_types();

/// Whether the whole of `name` matches; '*' stands for any characters.
bool matches_pattern(std::string_view pattern, std::string_view name);

}  // namespace memstat
