// SPDX-License-Identifier: BSD-2-Clause
// What the tables of events are written with: figures that the kernel may be changing, numbers, names on a line of their
// own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/base/buffer.h"

namespace memstat::events {

/// A figure that the kernel may be changing. Thread safety: any.
inline std::uint64_t figure_now(const unsigned long long& figure) { return __atomic_load_n(&figure, __ATOMIC_RELAXED); }

/// Appends a number in decimal.
void append_number(Buffer& out, std::uint64_t number);
/// Appends "WORD NUMBER\n".
void append_line(Buffer& out, std::string_view word, std::uint64_t number);
/// Appends a name of the kernel up to its NUL, or all `size` bytes, with '?' for the one byte that the text has a meaning
/// for.
void append_kernel_name(Buffer& out, const char* name, std::size_t size);

}  // namespace memstat::events
