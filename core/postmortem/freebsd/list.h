// SPDX-License-Identifier: BSD-2-Clause
// Walks a FreeBSD kernel's lists in memory that may be damaged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "core/postmortem/freebsd/image.h"

namespace memstat::postmortem {

/// Walks a linked list up to its terminating 0. Detects circular lists.
class ListWalk {
 public:
  static constexpr std::size_t kMaxEntries = 65536;

  /// `name`: for messages.
  explicit ListWalk(std::string_view name) : name_(name) {}

  /// Whether there is an entry at this address that was not visited yet.
  bool goes_on(std::uint64_t address);
  /// Ends the walk because an entry cannot be read or stored, so that the rest is unknown.
  void stop(const Error& error) { stop(to_string(error)); }
  void stop(std::string_view why) { end(seen_.size() - 1, why); }
  /// "" if the list was walked to its end.
  [[nodiscard]] const std::string& damage() const { return damage_; }

 private:
  void end(std::size_t count, std::string_view why);

  std::string name_;
  std::unordered_set<std::uint64_t> seen_;
  std::string damage_;
};

/// Reads a name, truncated as in records. If it is unreadable, returns "?" and sets `damage`.
std::string read_name(FreeBsdKernel& kernel, std::uint64_t address, std::string& damage);

/// Adds "subject: what" unless `what` is "", up to 1000 lines.
void add_damage(std::vector<std::string>& to, const std::string& subject, std::string_view what);

/// The error for a struct that the kernel file lacks, or that lacks required members.
Error missing_type(FreeBsdKernel& kernel, std::string_view name);

}  // namespace memstat::postmortem
