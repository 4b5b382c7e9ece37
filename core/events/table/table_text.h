// SPDX-License-Identifier: BSD-2-Clause
// What the tables of events are written with: figures that the kernel may be changing, numbers, names on a line of their
// own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>

#include "core/base/buffer.h"
#include "core/events/bpf/gfp.h"
#include "core/events/bpf/sizes.h"

namespace memstat::events {

/// A figure that the kernel may be changing. Thread safety: any.
inline std::uint64_t figure_now(const unsigned long long& figure) { return __atomic_load_n(&figure, __ATOMIC_RELAXED); }

/// Appends a number in decimal.
void append_number(Buffer& out, std::uint64_t number);
/// Appends " NUMBER" for each.
void append_numbers(Buffer& out, std::span<const std::uint64_t> numbers);
/// Appends "WORD NUMBER...\n".
void append_row(Buffer& out, std::string_view word, std::initializer_list<std::uint64_t> numbers);
/// Appends "WORD NUMBER\n".
void append_line(Buffer& out, std::string_view word, std::uint64_t number);
/// Allocations by size, of memstat_size_bucket().
using SizeCounts = std::span<const std::uint64_t, MEMSTAT_SIZES>;
/// Appends "sizes ALLOCATOR BYTES COUNT...\n", the allocations of an allocator by what was asked for, and all bytes of them.
void append_sizes(Buffer& out, std::string_view allocator, std::uint64_t bytes, SizeCounts counts);
/// Adds what the kernel counted, and may be changing, to `sums`.
void add_gfp_counts(const memstat_gfp_counts& counts, memstat_gfp_counts& sums);
/// Appends "gfp ALLOCATOR CLASS ALLOCATIONS FAILURES\n" for each class.
void append_gfp_counts(Buffer& out, std::string_view allocator, const memstat_gfp_counts& counts);
/// Appends a name of the kernel up to its NUL, or all `size` bytes, with '?' for the one byte that the text has a meaning
/// for.
void append_kernel_name(Buffer& out, const char* name, std::size_t size);

}  // namespace memstat::events
