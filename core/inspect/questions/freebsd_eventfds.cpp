// SPDX-License-Identifier: BSD-2-Clause
// Descriptors from eventfd(2).
#include "core/inspect/freebsd_processes.h"

namespace memstat::inspections::freebsd_eventfds {

extern const Inspection inspection{
    .name = "eventfds",
    .os = OperatingSystem::kFreeBsd,
    .question = "Which processes hold eventfds",
    .things = "eventfds",
    .needs = kSeeOthers,
    .look = [](Inspector& inspector) { return count_exported_files(inspector, DescriptorType::kEventFd); }};

}  // namespace memstat::inspections::freebsd_eventfds
