// SPDX-License-Identifier: BSD-2-Clause
// The BPF programs as clang made them: ELF files in memory, which embed.cmake puts here. Thread safety: constants.
#pragma once

#include <span>

namespace memstat::events {

/// Slab events, for kernels that give the cache of an object (6.13 and later).
std::span<const unsigned char> slab_events_with_owner();
/// Slab events, for kernels that do not.
std::span<const unsigned char> slab_events_by_size();
/// A pass over the slab caches.
std::span<const unsigned char> slab_caches();
/// Slab events by caller, control group and command.
std::span<const unsigned char> call_sites();
/// Events beside those of slab caches.
std::span<const unsigned char> vm_events();
/// Blocks in use, for kernels that give the cache of an object.
std::span<const unsigned char> memuse_with_owner();
/// Blocks in use, for kernels that do not.
std::span<const unsigned char> memuse_by_size();

}  // namespace memstat::events
