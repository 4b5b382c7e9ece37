// SPDX-License-Identifier: BSD-2-Clause
// Thread names for `top -H`, `ps -T` and debuggers.
#pragma once

namespace memstat {

/// Names the calling thread. The kernel truncates the name to 15 characters.
void name_thread(const char* name);

}  // namespace memstat
