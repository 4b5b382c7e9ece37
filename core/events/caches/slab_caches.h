// SPDX-License-Identifier: BSD-2-Clause
// Linux's slab caches as a program of the kernel sees them in one pass, as a table for the source linux_slab_bpf.
#pragma once

#include <memory>

#include "core/kernel/kernel_view.h"

namespace memstat::events {

/// The caches of this machine. open() loads the program, which needs CAP_BPF and CAP_PERFMON (or root), and attaches it to
/// no event: it runs when a read asks for it. read() needs no privilege, but bpf(2) with BPF_ITER_CREATE, and takes no lock
/// of the allocator. The program goes with the table: nothing is pinned. Errors of open: kNotPresent (built without libbpf;
/// no BTF, no such iterator, which Linux has from 6.13 on), kPermission (with what is needed), kIo. Never null. Thread
/// safety: as TextTableSource.
std::unique_ptr<TextTableSource> make_slab_caches();

}  // namespace memstat::events
