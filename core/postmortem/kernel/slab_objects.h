// SPDX-License-Identifier: BSD-2-Clause
// The allocated objects of one memory type of a kernel that stopped: of a slab cache of Linux, or a zone of FreeBSD.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace memstat::postmortem {

/// One object. Thread safety: a plain value.
struct SlabObject {
  /// Who allocated it, where the kernel keeps that.
  struct Origin {
    std::string caller;              ///< "function+0x1f/0x80", "0x..." where no function is known.
    std::vector<std::string> stack;  ///< The same of each call, the innermost first; may be empty.
    std::uint64_t pid = 0;           ///< Of the thread.
    std::uint64_t cpu = 0;
    std::optional<std::uint64_t> age_ns;
  };
  std::uint64_t address = 0;         ///< As the kernel uses it.
  std::vector<std::uint64_t> words;  ///< The first kWords of 64 bits, or as many as it has; none where the dump lacks them.
  std::optional<Origin> origin;
};

struct SlabObjects {
  static constexpr std::size_t kWords = 4;

  std::uint64_t count = 0;          ///< All that are allocated.
  std::uint64_t counted = 0;        ///< How many that must be by the counters of the cache or zone.
  std::vector<SlabObject> objects;  ///< The first of these by address, as many as were asked for.
  bool has_origins = false;         ///< Whether the kernel keeps who allocated these objects.
  std::vector<std::string> notes;   ///< What was wrong with the slabs, for people; none as a rule.
};

}  // namespace memstat::postmortem
