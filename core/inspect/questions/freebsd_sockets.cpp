// SPDX-License-Identifier: BSD-2-Clause
// Descriptors of sockets.
#include "core/inspect/freebsd_processes.h"

namespace memstat::inspections::freebsd_sockets {
namespace {

Result<void> look(Inspector& inspector) { return count_exported_files(inspector, DescriptorType::kSocket); }

}  // namespace

extern const Inspection inspection;
const Inspection inspection{.name = "sockets",
                            .question = "Which processes hold sockets",
                            .kind = "process",
                            .things = "sockets",
                            .needs = kSeeOthers,
                            .os = OperatingSystem::kFreeBsd,
                            .elsewhere = "on Linux ss -p shows them, and memstatctl who files counts them with other files",
                            .look = look};

}  // namespace memstat::inspections::freebsd_sockets
