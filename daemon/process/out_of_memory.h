// SPDX-License-Identifier: BSD-2-Clause
// Ends the process when an allocation fails where nothing can catch it.
#pragma once

namespace memstat {

/// After this call a std::bad_alloc that escapes from a thread, a destructor or a noexcept function ends the process with a
/// line on standard error and status 1, like other failures, instead of SIGABRT. Other escaping exceptions are bugs and
/// still abort, to leave a core file. Call it before main.
void end_clearly_when_out_of_memory();

}  // namespace memstat
