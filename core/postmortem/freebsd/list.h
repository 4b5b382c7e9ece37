// SPDX-License-Identifier: BSD-2-Clause
// Walks a FreeBSD kernel's lists in memory that may be damaged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "core/base/text.h"
#include "core/postmortem/freebsd/image.h"
#include "core/postmortem/kernel/struct_reader.h"

namespace memstat::postmortem {

/// Walks a linked list of structs from `first` to its terminating 0: loads each and calls `take(address)`, which returns
/// whether there is room for it. Detects circular lists. `name`: for messages. Returns "" if the list was walked to its end.
template <typename Take>
std::string walk_list(std::string_view name, StructReader& type, std::uint64_t first, StructField next, Take take) {
  constexpr std::size_t kMaxEntries = 65536;
  std::unordered_set<std::uint64_t> seen;
  const auto end = [&](std::string_view why) {
    return std::string(name) + ": " + std::to_string(seen.size()) + " were read, then: " + std::string(why);
  };
  for (std::uint64_t at = first; at != 0; at = type.get(next)) {
    if (seen.size() == kMaxEntries) return end("it has no end");
    if (seen.contains(at)) return end("the list is circular");
    if (auto loaded = type.load(at); !loaded) return end(to_string(loaded.error()));
    if (!take(at)) return end("there are too many");
    seen.insert(at);
  }
  return {};
}

/// Reads a name, truncated as in records. If it is unreadable, returns "?" and sets `damage`.
inline std::string read_name(FreeBsdKernel& kernel, std::uint64_t address, std::string& damage) {
  constexpr std::size_t kMaxNameSize = 31;
  const auto text = kernel.read_string(address, kMaxNameSize);
  if (!text) {
    damage = "its name: " + to_string(text.error());
    return "?";
  }
  return *text;
}

inline constexpr std::size_t kMaxDamage = 1000;
/// Adds "subject: what" unless `what` is "", up to kMaxDamage lines.
inline void add_damage(std::vector<std::string>& to, const std::string& subject, std::string_view what) {
  if (!what.empty() && to.size() < kMaxDamage) to.push_back(make_label_text(subject) + ": " + std::string(what));
}

/// The error for a struct that the kernel file lacks, or that lacks required members.
inline Error missing_type(FreeBsdKernel& kernel, std::string_view name) {
  return make_error(ErrorCode::kKvmNoSymbol, kernel.file().name(),
                    "struct " + std::string(name) + ": its layout is not that of FreeBSD 13 to 15");
}

}  // namespace memstat::postmortem
