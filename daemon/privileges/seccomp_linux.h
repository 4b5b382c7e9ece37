// SPDX-License-Identifier: BSD-2-Clause
// The filter of system calls.
#pragma once

#include "core/base/result.h"
#include "daemon/privileges/privileges.h"

namespace memstat {

/// Puts the filter that leaves `calls` in force for this thread and those that it starts. A note when it cannot be;
/// kNoMemory when for lack of memory, and then nothing is in force. Requires a process of one thread, with no_new_privs.
Result<void> enter_seccomp(SystemCalls calls, PrivilegeReport& report);

}  // namespace memstat
