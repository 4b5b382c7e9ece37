// SPDX-License-Identifier: BSD-2-Clause
// Loaded modules and the kernel itself, from kldstat(2). The count is the number of references.
#include "core/inspect/freebsd_calls.h"

namespace memstat::inspections::freebsd_modules {
namespace {

Result<void> look(Inspector& inspector) {
  ModulesTable table;
  return add_holders(inspector, "modules", table);
}

}  // namespace

extern const Inspection inspection{.name = "modules",
                                   .os = OperatingSystem::kFreeBsd,
                                   .question = "Which kernel modules are loaded; in a recording: since its first poll",
                                   .kind = "module",
                                   .things = "references",
                                   .is_about_new = true,
                                   .look = look};

}  // namespace memstat::inspections::freebsd_modules
