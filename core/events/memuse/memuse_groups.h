// SPDX-License-Identifier: BSD-2-Clause
// Groups blocks in use by call stack, and decides which groups look like leaks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/events/memuse/memuse.h"

namespace memstat::events {

/// The verdict on a group's blocks.
enum class MemuseVerdict : std::uint8_t {
  kInUse,     ///< No sign of a leak.
  kSuspect,   ///< Old blocks accumulated throughout, or many at once, and hardly any were freed.
  kCached,    ///< Same, but the kernel frees them when memory is short.
  kNotKnown,  ///< Some are freed without an event, so it is unknown which are in use.
};
/// "in use", "suspect", "cached", "not known".
std::string_view to_string(MemuseVerdict verdict);

/// Blocks allocated through the same calls.
struct MemuseGroup {
  std::vector<std::uint64_t> frames = {};  ///< The stack with most of the blocks, the allocator's caller first.
  std::size_t stacks = 0;                  ///< Number of different stacks in the group.
  std::uint64_t blocks = 0;                ///< in use
  std::uint64_t bytes = 0;                 ///< in use
  std::uint64_t old_blocks = 0;            ///< in use, and older than the requested age
  std::uint64_t old_bytes = 0;             ///< in these
  std::uint64_t allocations = 0;           ///< during the watch
  std::uint64_t old_frees = 0;             ///< Freed blocks that had become old.
  std::uint64_t silent_frees = 0;          ///< Blocks allocated again although no event had freed them.
  std::int64_t oldest_ns = 0;              ///< Age of the oldest block.
  std::string type = {};                   ///< The slab cache of most of its bytes.
  std::size_t types = 0;                   ///< Number of slab caches.
  std::string command = {};                ///< Name of the process that allocated most of the blocks.
  std::uint32_t process = 0;
  std::size_t processes = 0;       ///< Number of processes that allocated them.
  std::string control_group = {};  ///< The control group whose processes allocated most of the blocks; "": unknown.
  bool is_growing = false;         ///< Old blocks accumulated throughout the watch.
  MemuseVerdict verdict = MemuseVerdict::kInUse;
};

/// Returns the name of the function that contains a return address; "" if unknown.
using NameOfCaller = std::function<std::string(std::uint64_t)>;

/// Groups the blocks; kSuspect first, then by bytes. Blocks are in one group if the first `match` frames of their
/// stacks are equal; those without a stack are one group. `type`: only blocks of that type; "": all. Throws std::bad_alloc.
std::vector<MemuseGroup> group_blocks(const MemuseTable& table, std::size_t match, std::string_view type,
                                      const NameOfCaller& name_of);

}  // namespace memstat::events
