// SPDX-License-Identifier: BSD-2-Clause
// Keeps a choice of the largest from flickering.
#pragma once

namespace memstat {

/// The weight in bytes of what is chosen already: another one replaces it only if that is larger by a quarter and 4 KiB.
inline double weight_of_chosen(double bytes) { return bytes * 1.25 + 4096; }

}  // namespace memstat
