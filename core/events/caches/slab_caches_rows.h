// SPDX-License-Identifier: BSD-2-Clause
// Converts the records of a pass over the slab caches (bpf/slab_caches_layout.h) to the table of the source
// linux_slab_bpf.
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
                                              "is not a type with nine numbers, or a node or CPU of one"};

/// Replaces the content of `out` with the table. Errors: kIo with the offset of an incomplete record. Does not allocate
/// once `out` is large enough. Thread safety: none for `out`.
Result<void> write_slab_caches_rows(std::string_view records, Buffer& out);

}  // namespace memstat::events
