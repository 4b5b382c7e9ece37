// SPDX-License-Identifier: BSD-2-Clause
// System V segments that no process has attached: they keep their memory until they are removed. Bytes are the size, since
// the kernel does not report how much of it is in memory.
#include <string>

#include "core/inspect/inspection.h"
#include "core/parse/sysv_ipc.h"

namespace memstat::inspections::freebsd_segments {
namespace {

constexpr std::string_view kName = "kern.ipc.shmsegs";

Result<void> look(Inspector& inspector) {
  Buffer bytes;
  if (auto read = inspector.view().read_sysctl(kName, bytes, 0); !read) return read;
  const auto left = read_left_segments(bytes.view());
  if (!left) return data_error(kName, bytes.size(), "the kernel's structures are not known");
  for (const LeftSegment& segment : *left) {
    if (!inspector.take_read()) break;
    Holder holder;
    holder.user = std::to_string(segment.uid);
    holder.name = "segment " + std::to_string(segment.id) + " of pid " + std::to_string(segment.creator);
    holder.count = 0;
    holder.bytes = segment.bytes;
    inspector.add(std::move(holder));
  }
  return {};
}

}  // namespace

extern const Inspection inspection{.name = "segments",
                                   .os = OperatingSystem::kFreeBsd,
                                   .question = "Which System V segments hold memory with nobody attached",
                                   .kind = "segment",
                                   .things = "processes attached",
                                   .reads_polled_files = true,
                                   .look = look};

}  // namespace memstat::inspections::freebsd_segments
