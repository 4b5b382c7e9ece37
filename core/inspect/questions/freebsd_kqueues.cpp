// SPDX-License-Identifier: BSD-2-Clause
// Descriptors of kqueues. The kernel exports no number of events for each.
#include "core/inspect/freebsd_processes.h"

namespace memstat::inspections::freebsd_kqueues {

extern const Inspection inspection{
    .name = "kqueues",
    .os = OperatingSystem::kFreeBsd,
    .question = "Which processes hold kqueues",
    .things = "kqueues",
    .needs = kSeeOthers,
    .elsewhere = "Linux has epoll instead: memstatctl who watches",
    .look = [](Inspector& inspector) { return count_exported_files(inspector, DescriptorType::kKqueue); }};

}  // namespace memstat::inspections::freebsd_kqueues
