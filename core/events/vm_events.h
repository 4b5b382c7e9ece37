// SPDX-License-Identifier: BSD-2-Clause
// The events of Linux's memory management beside those of slab caches, counted in the kernel by BPF programs, as a table for
// the source linux_vm_events.
#pragma once

#include <memory>
#include <string_view>

#include "core/kernel/kernel_view.h"

namespace memstat::events {

/// The events of this machine. `mode`: what key events.mode says; anything but "counters" attaches to rare events only.
/// open() loads the programs and attaches them, which needs CAP_BPF and CAP_PERFMON (or root); an event that this kernel or
/// its policy does not give is left out, and the text says why. read() needs nothing and makes no system call but a pread()
/// a program. Errors of open: kNotPresent (built without libbpf; no BTF, no BPF; no event at all), kPermission (with what is
/// needed), kIo. Never null. Thread safety: as LiveTable.
std::unique_ptr<LiveTable> make_vm_events(std::string_view mode);

}  // namespace memstat::events
