// SPDX-License-Identifier: BSD-2-Clause
// Mounts of tmpfs and what they hold, from getfsstat(2). A jail sees only its own.
#include "core/inspect/freebsd_calls.h"
#include "core/inspect/inspection.h"

namespace memstat::inspections::freebsd_tmpfs {
namespace {

Result<void> look(Inspector& inspector) {
  TmpfsMountsTable table;
  Buffer text;
  if (auto read = inspector.view().read_table("tmpfs_mounts", table, text); !read) return read;
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
const Inspection inspection{.name = "tmpfs",
                            .question = "Which mounts of tmpfs hold memory",
                            .kind = "mount",
                            .things = "files",
                            .needs = "",
                            .os = OperatingSystem::kFreeBsd,
                            .look = look};

}  // namespace memstat::inspections::freebsd_tmpfs
