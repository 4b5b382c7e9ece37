// SPDX-License-Identifier: BSD-2-Clause
// Resident anonymous memory, including huge pages: RssAnon of /proc/PID/status. Shared pages count in each process.
#include "core/inspect/processes.h"

namespace memstat::inspections::anonymous {

extern const Inspection inspection{.name = "anonymous",
                                   .question = "Which processes have anonymous memory",
                                   .things = "of anonymous memory",
                                   .parts = "processes",
                                   .look = [](Inspector& inspector) { return look_at_status(inspector, "RssAnon"); }};

}  // namespace memstat::inspections::anonymous
