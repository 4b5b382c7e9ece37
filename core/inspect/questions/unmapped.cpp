// SPDX-License-Identifier: BSD-2-Clause
// Shared memory that is certainly in no process: Shmem of /proc/meminfo less Mapped, which also counts mapped files.
#include "core/base/text.h"
#include "core/inspect/processes.h"

namespace memstat::inspections::unmapped {
namespace {

constexpr std::uint64_t kBytesOfKilobyte = 1024;

Result<void> look(Inspector& inspector) {
  Buffer text;
  if (auto read = inspector.view().read_file("/proc/meminfo", text); !read) return read;
  const auto shared = status_number(text.view(), "Shmem");
  const auto mapped = status_number(text.view(), "Mapped");
  if (!shared || !mapped) return data_error("/proc/meminfo", 0, "expected Shmem and Mapped");
  if (*shared <= *mapped || *shared > UINT64_MAX / kBytesOfKilobyte || !inspector.take_read()) return {};
  Holder holder;
  holder.name = "files in tmpfs, segments without a process, and memfds";
  holder.bytes = (*shared - *mapped) * kBytesOfKilobyte;
  inspector.add(std::move(holder));
  return {};
}

}  // namespace

extern const Inspection inspection{.name = "unmapped",
                                   .question = "How much shared memory no process has mapped, at least",
                                   .kind = "shared memory",
                                   .things = "of shared memory",
                                   .sees = ViewPart::kMemory,
                                   .reads_polled_files = true,
                                   .look = look};

}  // namespace memstat::inspections::unmapped
