// SPDX-License-Identifier: BSD-2-Clause
// The events of FreeBSD's malloc(9), from the DTrace provider dtmalloc, as a table for the source freebsd_dtmalloc.
#pragma once

#include <memory>

#include "core/kernel/kernel_view.h"

namespace memstat::events {

/// malloc(9) events of this machine, aggregated in the kernel by DTrace through libdtrace. open() needs root and the
/// kernel module dtmalloc; read() uses the descriptors of open(). The kernel ends the tracing with the process, and
/// after half a minute without a read. Errors of open: kNotPresent (built without libdtrace, or no kernel module),
/// kPermission, kIo. Never null.
std::unique_ptr<TextTableSource> make_malloc_events();

}  // namespace memstat::events
