// SPDX-License-Identifier: BSD-2-Clause
// The compiled BPF programs: ELF files in memory, embedded by embed.cmake.
#pragma once

#include <span>

namespace memstat::events {

/// Slab events, for kernels that report an object's cache (6.13 and later).
std::span<const unsigned char> slab_events_with_owner();
/// Slab events, for older kernels.
std::span<const unsigned char> slab_events_by_size();
/// A pass over the slab caches.
std::span<const unsigned char> slab_caches();
/// Slab events by caller, control group and command.
std::span<const unsigned char> call_sites();
/// Events other than those of slab caches.
std::span<const unsigned char> vm_events();
/// Blocks in use, for kernels that report an object's cache.
std::span<const unsigned char> memuse_with_owner();
/// Blocks in use, for older kernels.
std::span<const unsigned char> memuse_by_size();

}  // namespace memstat::events
