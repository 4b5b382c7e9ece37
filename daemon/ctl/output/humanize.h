// SPDX-License-Identifier: BSD-2-Clause
// Short figures, by the rules of the humanize modifier in FreeBSD 15's vmstat -m.
#pragma once

#include <cstdint>
#include <string>

namespace memstat::ctl {

enum class Base { k1000, k1024 };

/// 2295 is "2.3k" (k1000) or "2.2K" (k1024). Uses the largest unit with a value of at least 1. With `has_decimal`,
/// values below 9.95 have one decimal; all others have none. Values from 2^63 on are negative (two counters that were
/// not read at the same instant).
std::string humanize(std::uint64_t value, Base base, bool has_decimal);

}  // namespace memstat::ctl
