// SPDX-License-Identifier: BSD-2-Clause
// The allocated objects of a memory type in a crashed kernel: a Linux slab cache, or a FreeBSD zone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace memstat::postmortem {

/// An allocated object.
struct SlabObject {
  /// The allocation, if the kernel recorded it.
  struct Origin {
    std::string caller;              ///< "function+0x1f/0x80"; "0x..." if the function is unknown.
    std::vector<std::string> stack;  ///< The call stack in the same form, innermost first; may be empty.
    std::uint64_t pid = 0;           ///< Number of the thread.
    std::uint64_t cpu = 0;
    std::optional<std::uint64_t> age_ns;
  };
  std::uint64_t address = 0;  ///< Virtual address.
  std::vector<std::uint64_t>
      words;  ///< The object's first kWords 64-bit words, or fewer if it is smaller; empty if they are not in the dump.
  std::optional<Origin> origin;
};

struct SlabObjects {
  static constexpr std::size_t kWords = 4;

  std::uint64_t count = 0;          ///< All allocated objects.
  std::uint64_t counted = 0;        ///< The expected number, by the counters of the cache or zone.
  std::vector<SlabObject> objects;  ///< The requested number of objects, lowest addresses first.
  bool has_origins = false;         ///< Whether the kernel recorded who allocated these objects.
  std::vector<std::string> notes;   ///< Problems with the slabs, for display; usually none.
};

}  // namespace memstat::postmortem
