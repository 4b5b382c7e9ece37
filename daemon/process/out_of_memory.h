// SPDX-License-Identifier: BSD-2-Clause
// Ends the process when an allocation fails where nothing can catch it.
#pragma once

#include <exception>
#include <string_view>

namespace memstat {

inline constexpr std::string_view kOutOfMemory = "out of memory";

/// After this call a std::bad_alloc that escapes from a thread, a destructor or a noexcept function ends the process with a
/// line on standard error and status 1, like other failures, instead of SIGABRT. Other escaping exceptions are bugs and
/// still abort, to leave a core file. Call it before main.
void end_clearly_when_out_of_memory();

/// exception.what() for people; kOutOfMemory for std::bad_alloc. Allocates nothing. Lives as long as `exception`.
std::string_view why(const std::exception& exception);

}  // namespace memstat
