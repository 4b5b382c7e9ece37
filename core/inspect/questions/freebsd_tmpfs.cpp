// SPDX-License-Identifier: BSD-2-Clause
// Mounts of tmpfs and what they hold, from getfsstat(2). A jail sees only its own.
#include "core/inspect/freebsd_calls.h"

namespace memstat::inspections::freebsd_tmpfs {
namespace {

Result<void> look(Inspector& inspector) {
  TmpfsMountsTable table;
  return add_holders(inspector, "tmpfs_mounts", table);
}

}  // namespace

extern const Inspection inspection{.name = "tmpfs",
                                   .os = OperatingSystem::kFreeBsd,
                                   .question = "Which mounts of tmpfs hold memory",
                                   .kind = "mount",
                                   .things = "files",
                                   .look = look};

}  // namespace memstat::inspections::freebsd_tmpfs
