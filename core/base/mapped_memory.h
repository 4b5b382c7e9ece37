// SPDX-License-Identifier: BSD-2-Clause
// Memory mapped for one buffer instead of taken from the heap, so that freeing it returns it to the system.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/sanitizer.h"

namespace memstat {

/// Buffers of at least this size are mapped. Never in sanitizer builds, which check the bounds of heap memory only.
#if defined(MEMSTAT_SANITIZED)
inline constexpr std::size_t kMappedFrom = SIZE_MAX;
#else
inline constexpr std::size_t kMappedFrom = std::size_t{1} << 20;
#endif

/// Maps at least `bytes` zeroed bytes; `bytes` must not be 0. Throws std::bad_alloc.
char* map_memory(std::size_t bytes);
/// Unmaps `memory`, which map_memory() returned for the same `bytes`.
void unmap_memory(char* memory, std::size_t bytes);

}  // namespace memstat
