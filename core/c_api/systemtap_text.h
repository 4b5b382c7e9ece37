// SPDX-License-Identifier: BSD-2-Clause
// Amounts of memory in the format of the SystemTap memory tapset.
#pragma once

#include <cstdint>

#include "core/base/ascii.h"
#include "core/parse/statm.h"

namespace memstat {

/// Like the tapset's bytes_to_string: below 1024 the number itself, otherwise in the largest unit of K, M and G that gives
/// at least one, with one decimal below 100. Truncated, not rounded: 102399 is "99.9K" and 102400 "100K". Five characters,
/// right-aligned; more from 10000 G on.
StackText<16> bytes_to_string(std::uint64_t bytes);

/// Like the tapset's proc_mem_string: "size: 301m, rss: 11m, shr: 8m, txt: 52k, data: 2248k". Each amount is exact if four
/// digits suffice (in the largest unit that divides it), otherwise as in bytes_to_string. Units are lower-case.
StackText<128> proc_mem_string(const ProcessMemory& memory);

}  // namespace memstat
