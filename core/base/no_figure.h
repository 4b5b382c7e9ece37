// SPDX-License-Identifier: BSD-2-Clause
// What stands for a figure of a CPU that has none.
#pragma once

#include <cstdint>

namespace memstat {

/// In the place of a per-CPU gauge: the kernel lists no such CPU at the moment, because it is off or was never plugged in.
/// It has no series then, and the C API, which cannot say so, has 0. No kernel counts as far. Counters have it nowhere:
/// theirs go on.
inline constexpr std::uint64_t kNoFigure = ~std::uint64_t{0};

}  // namespace memstat
