// SPDX-License-Identifier: BSD-2-Clause
// How much of each type is on the page.
#pragma once

namespace memstat {

/// Key `tier`: each has all metrics of the ones before it.
enum class Tier { kMinimal, kDefault, kFull };

}  // namespace memstat
