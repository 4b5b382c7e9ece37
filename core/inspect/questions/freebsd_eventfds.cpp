// SPDX-License-Identifier: BSD-2-Clause
// Descriptors from eventfd(2).
#include "core/inspect/freebsd_processes.h"

namespace memstat::inspections::freebsd_eventfds {
namespace {

Result<void> look(Inspector& inspector) { return count_exported_files(inspector, DescriptorType::kEventFd); }

}  // namespace

extern const Inspection inspection;
const Inspection inspection{.name = "eventfds",
                            .question = "Which processes hold eventfds",
                            .kind = "process",
                            .things = "eventfds",
                            .needs = kSeeOthers,
                            .os = OperatingSystem::kFreeBsd,
                            .look = look};

}  // namespace memstat::inspections::freebsd_eventfds
