// SPDX-License-Identifier: BSD-2-Clause
// The records of a pass over the slab caches (bpf/slab_caches_layout.h) as the text that the source linux_slab_bpf parses
// and captures hold.
#pragma once

#include <string_view>

#include "core/base/buffer.h"
#include "core/base/result.h"

namespace memstat::events {

/// Writes the table into `out`, replacing what it held; sources/linux_slab_bpf.cpp has the grammar. Errors: kIo when the
/// records are not whole, with the offset. Allocates nothing once `out` is large enough. Thread safety: none for `out`.
Result<void> write_slab_caches_text(std::string_view records, Buffer& out);

}  // namespace memstat::events
