// SPDX-License-Identifier: BSD-2-Clause
// The records of a pass over the slab caches (bpf/slab_caches_layout.h) as the table that the source linux_slab_bpf reads.
#pragma once

#include <string_view>

#include "core/base/buffer.h"
#include "core/base/result.h"
#include "core/events/table/table.h"

namespace memstat::events {

inline constexpr RowFormat kSlabCachesRows[] = {
    {"type", "nnnnnnnnnt"}, {"type_about", "nnnnnnnnnt"}, {"node", "nnnnnn"}, {"cpu", "nnnn"}};
/// The grammar is in sources/linux_slab_bpf.cpp.
inline constexpr TableFormat kSlabCachesTable{"linux_slab_bpf", "slab_caches 1", kSlabCachesRows,
                                              "is no type with its nine numbers, or node or CPU of one"};

/// Replaces the content of `out` with the table. Errors: kIo with the offset of an incomplete record. Does not allocate
/// once `out` is large enough. Thread safety: none for `out`.
Result<void> write_slab_caches_rows(std::string_view records, Buffer& out);

}  // namespace memstat::events
