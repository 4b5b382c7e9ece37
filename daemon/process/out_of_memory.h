// SPDX-License-Identifier: BSD-2-Clause
// How the process ends when memory runs out where nothing can catch it.
#pragma once

#include <exception>
#include <string_view>

namespace memstat {

/// What the log says when std::bad_alloc is why something failed.
inline constexpr std::string_view kOutOfMemory = "out of memory";

/// From now on an exception for lack of memory that leaves a thread, a destructor or another place that lets none out ends
/// the process with a line on standard error and status 1, as any other failure does, and not with SIGABRT. Other exceptions
/// that leave such places are mistakes in the program and still abort, so that there is a core. Before main.
void end_clearly_when_out_of_memory();

/// exception.what() for people: kOutOfMemory for std::bad_alloc. Allocates nothing; lives as long as `exception`.
std::string_view why(const std::exception& exception);

}  // namespace memstat
