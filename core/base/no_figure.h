// SPDX-License-Identifier: BSD-2-Clause
// Placeholder for a missing per-CPU figure.
#pragma once

#include <cstdint>

namespace memstat {

/// The value of a per-CPU gauge on a CPU that the kernel does not list now, because it is offline or was never plugged in.
/// Such a CPU has no series; the C API, which cannot express this, returns 0. No real figure is this large. Counters never
/// have this value, because theirs persist.
inline constexpr std::uint64_t kNoFigure = ~std::uint64_t{0};

}  // namespace memstat
