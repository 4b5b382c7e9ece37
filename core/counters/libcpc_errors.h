// SPDX-License-Identifier: BSD-2-Clause
// Error reporting of libcpc.h's functions.
#pragma once

#include "core/counters/counter_system.h"
#include "core/include/libcpc.h"

namespace memstat::counters {

/// Calls the handle's error handler, or writes to standard error, and sets errno. Returns -1.
int report(cpc_t* cpc, const char* function, const Refused& refused);
/// Same, for a constant text.
int report(cpc_t* cpc, const char* function, Refusal refusal, int system_errno, const char* text);

}  // namespace memstat::counters
