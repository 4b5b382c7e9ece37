// SPDX-License-Identifier: BSD-2-Clause
// Whether a source may use what an earlier read found.
#pragma once

#include <cstdint>

#include "core/kernel/kernel_view.h"

namespace memstat {

/// Whether the content of an earlier read may be used again: the kernel is this machine's, and polls need not be complete.
inline bool may_reuse(const KernelView& view) { return view.reads_this_machine() && !view.wants_whole_polls(); }

/// Number of reads from one reading of slowly changing data to the next: 40 s at the default interval.
inline constexpr std::uint32_t kSeldomReads = 4;

/// Whether slowly changing data may be skipped in this read: all but every `each`-th read, if may_reuse(). `reads`: number
/// of reads before this one.
inline bool may_skip(const KernelView& view, std::uint32_t reads, std::uint32_t each = kSeldomReads) {
  return may_reuse(view) && reads % each != 0;
}

}  // namespace memstat
