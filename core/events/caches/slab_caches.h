// SPDX-License-Identifier: BSD-2-Clause
// Linux's slab caches, examined by a BPF program in one pass, as a table for the source linux_slab_bpf.
#pragma once

#include <memory>

#include "core/kernel/kernel_view.h"

namespace memstat::events {

/// The slab caches of this machine. open() loads the program, which needs CAP_BPF and CAP_PERFMON (or root). It is
/// attached to no event: it runs when read() asks for it. read() needs no privilege, only bpf(2) with BPF_ITER_CREATE,
/// and takes none of the allocator's locks. Nothing is pinned, so the program goes away with the table. Errors of open:
/// kNotPresent (built without libbpf, no BTF, or no such iterator, which Linux has since 6.13), kPermission (with the
/// missing privilege), kIo. Never null.
std::unique_ptr<TextTableSource> make_slab_caches();

}  // namespace memstat::events
