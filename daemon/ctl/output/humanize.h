// SPDX-License-Identifier: BSD-2-Clause
// Figures in a form for people, by the rules of the humanize modifier that FreeBSD 15's vmstat -m uses.
#pragma once

#include <cstdint>
#include <string>

namespace memstat::ctl {

enum class Base { k1000, k1024 };

/// 2295 is "2.3k" (k1000) or "2.2K" (k1024). The unit is the largest that leaves at least 1; what is below 9.95 of a unit
/// has one decimal when `has_decimal`, all else none. Values from 2^63 on are negative ones (two counters read a moment
/// apart).
std::string humanize(std::uint64_t value, Base base, bool has_decimal);

}  // namespace memstat::ctl
