// SPDX-License-Identifier: BSD-2-Clause
// How functions of libcpc.h report what went wrong.
#pragma once

#include <string>

#include "core/counters/counter_system.h"
#include "core/include/libcpc.h"

namespace memstat::counters {

/// Calls the handle's error handler, or writes to the standard error output, and sets errno. Returns -1.
int report(cpc_t* cpc, const char* function, const Refused& refused);
/// The same for a text that is a constant.
int report(cpc_t* cpc, const char* function, Refusal refusal, int system_errno, const char* text);

}  // namespace memstat::counters
