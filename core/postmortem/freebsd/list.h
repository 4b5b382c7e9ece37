// SPDX-License-Identifier: BSD-2-Clause
// Walking a FreeBSD kernel's lists in memory that may be damaged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "core/postmortem/freebsd/image.h"

namespace memstat::postmortem {

/// One list, from its first entry to the 0 that ends it; it never goes in a circle and has an end. Thread safety: none.
class ListWalk {
 public:
  static constexpr std::size_t kMostEntries = 65536;

  /// `name` is for people.
  explicit ListWalk(std::string_view name) : name_(name) {}

  /// Whether there is an entry at that address that was not there before.
  bool goes_on(std::uint64_t address);
  /// The entry cannot be read or kept, so neither it nor those behind it are known.
  void stop(const Error& error) { stop(to_string(error)); }
  void stop(std::string_view why) { end(seen_.size() - 1, why); }
  /// "" when the list was read to its end.
  [[nodiscard]] const std::string& damage() const { return damage_; }

 private:
  void end(std::size_t count, std::string_view why);

  std::string name_;
  std::unordered_set<std::uint64_t> seen_;
  std::string damage_;
};

/// The string at that address as records hold it; "?" and `damage` when it cannot be read.
std::string read_name(FreeBsdKernel& kernel, std::uint64_t address, std::string& damage);

/// Adds "subject: what" unless `what` is "", at most 1000 of them.
void add_damage(std::vector<std::string>& to, const std::string& subject, std::string_view what);

/// The error where the kernel file has no such struct, or not with the members that are read.
Error missing_type(FreeBsdKernel& kernel, std::string_view name);

}  // namespace memstat::postmortem
