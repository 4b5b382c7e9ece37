// SPDX-License-Identifier: BSD-2-Clause
// Loaded modules and the kernel itself, from kldstat(2). The count is the number of references.
#include "core/inspect/freebsd_calls.h"
#include "core/inspect/inspection.h"

namespace memstat::inspections::freebsd_modules {
namespace {

Result<void> look(Inspector& inspector) {
  ModulesTable table;
  Buffer text;
  if (auto read = inspector.view().read_table("modules", table, text); !read) return read;
  for (NamedAmount& one : parse_amounts(text.view())) {
    if (!inspector.take_read()) break;
    Holder holder;
    holder.name = std::move(one.name);
    holder.count = one.count;
    holder.bytes = one.bytes;
    inspector.add(std::move(holder));
  }
  return {};
}

}  // namespace

extern const Inspection inspection;
const Inspection inspection{.name = "modules",
                            .question = "Which kernel modules are loaded; in a recording: since its first poll",
                            .kind = "module",
                            .things = "references",
                            .needs = "",
                            .os = OperatingSystem::kFreeBsd,
                            .is_about_new = true,
                            .look = look};

}  // namespace memstat::inspections::freebsd_modules
