// SPDX-License-Identifier: BSD-2-Clause
// The system call filter.
#pragma once

#include "core/base/result.h"
#include "daemon/privileges/privileges.h"

namespace memstat {

/// Activates the filter for `calls` in this thread and those that it starts. If that fails: a note; or kNoMemory
/// without any filter. The process must have one thread, with no_new_privs.
Result<void> enter_seccomp(SystemCalls calls, PrivilegeReport& report);

}  // namespace memstat
