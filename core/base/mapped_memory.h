// SPDX-License-Identifier: BSD-2-Clause
// Memory that a buffer has from the system and not from the heap, so that it is gone when it is given back.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/sanitizer.h"

namespace memstat {

/// From how many bytes on a buffer is mapped by itself. A sanitizer watches the bounds of the heap only, so never there.
#if defined(MEMSTAT_SANITIZED)
inline constexpr std::size_t kMappedFrom = SIZE_MAX;
#else
inline constexpr std::size_t kMappedFrom = std::size_t{1} << 20;
#endif

/// At least that number of bytes of zeros, more than 0. Throws std::bad_alloc. Thread safety of both: safe.
char* map_memory(std::size_t bytes);
/// Gives them back: `memory` from map_memory with the same number of bytes.
void unmap_memory(char* memory, std::size_t bytes);

}  // namespace memstat
