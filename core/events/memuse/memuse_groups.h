// SPDX-License-Identifier: BSD-2-Clause
// Blocks in use, put together by who allocated them, and which of these look like leaks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/events/memuse/memuse.h"

namespace memstat::events {

/// What is to be thought of the blocks of a group.
enum class MemuseVerdict : std::uint8_t {
  kInUse,     ///< Nothing speaks for a leak.
  kSuspect,   ///< Old blocks of it came all the time, or many at once, and hardly any of them went.
  kCached,    ///< The same, but the kernel gives them back when memory is short.
  kNotKnown,  ///< Some are freed without an event, so that what is in use cannot be known.
};
/// "in use", "suspect", "cached", "not known".
std::string_view to_string(MemuseVerdict verdict);

/// Blocks that were allocated through the same calls. Thread safety: a plain value.
struct MemuseGroup {
  std::vector<std::uint64_t> frames = {};  ///< Of the stack that has most of its blocks, the allocator's caller first.
  std::size_t stacks = 0;                  ///< Different ones that are equal as far as they must be.
  std::uint64_t blocks = 0;                ///< in use
  std::uint64_t bytes = 0;                 ///< of these
  std::uint64_t old_blocks = 0;            ///< of these, older than asked for
  std::uint64_t old_bytes = 0;             ///< of these
  std::uint64_t allocations = 0;           ///< while watching
  std::uint64_t old_frees = 0;             ///< Blocks that were freed when they were old.
  std::uint64_t silent_frees = 0;          ///< Blocks that were allocated again though no event had freed them.
  std::int64_t oldest_ns = 0;              ///< Age of the oldest.
  std::string type = {};                   ///< The slab cache that most of its bytes come from.
  std::size_t types = 0;                   ///< How many they come from.
  std::string command = {};                ///< The process that asked for most of its blocks.
  std::uint32_t process = 0;
  std::size_t processes = 0;       ///< How many asked for them.
  std::string control_group = {};  ///< Whose processes asked for most of its blocks; "": it is not known.
  bool is_growing = false;         ///< Old blocks of it came all the time.
  MemuseVerdict verdict = MemuseVerdict::kInUse;
};

/// The name of the function that a return address is in; "" where it is not known.
using NameOfCaller = std::function<std::string(std::uint64_t)>;

/// Groups, those of the verdict kSuspect first, then by bytes. Two blocks are of one group when the first `match` frames of
/// their stacks are equal; blocks without a stack are a group. `type`: blocks of that type only; "": all. Thread safety: a
/// function of its arguments. Throws std::bad_alloc.
std::vector<MemuseGroup> group_blocks(const MemuseTable& table, std::size_t match, std::string_view type,
                                      const NameOfCaller& name_of);

}  // namespace memstat::events
