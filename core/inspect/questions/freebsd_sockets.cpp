// SPDX-License-Identifier: BSD-2-Clause
// Descriptors of sockets.
#include "core/inspect/freebsd_processes.h"

namespace memstat::inspections::freebsd_sockets {

extern const Inspection inspection{
    .name = "sockets",
    .os = OperatingSystem::kFreeBsd,
    .question = "Which processes hold sockets",
    .things = "sockets",
    .needs = kSeeOthers,
    .elsewhere = "on Linux ss -p shows them, and memstatctl who files counts them with other files",
    .look = [](Inspector& inspector) { return count_exported_files(inspector, DescriptorType::kSocket); }};

}  // namespace memstat::inspections::freebsd_sockets
