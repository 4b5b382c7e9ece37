// SPDX-License-Identifier: BSD-2-Clause
// Contexts of io_setup(2): each is a mapping of its ring, whose size follows the number of events (fs/aio.c,
// aio_setup_ring).
#include "core/base/arithmetic.h"
#include "core/inspect/mappings.h"

namespace memstat::inspections::aio {
namespace {

Result<void> look(Inspector& inspector) {
  std::uint64_t contexts = 0;
  std::uint64_t sum = 0;
  return walk_mappings(
      inspector,
      [&](std::string_view target, std::uint64_t bytes) {
        if (!target.starts_with("/[aio]")) return;
        ++contexts;
        sum = saturating_sum(sum, bytes);
      },
      [&](const Process& process) {
        if (contexts == 0) return;
        Holder& holder = inspector.add(holder_of(process));
        holder.count = contexts;
        holder.bytes = sum;
        contexts = sum = 0;
      });
}

}  // namespace

extern const Inspection inspection{.name = "aio",
                                   .question = "Which processes hold contexts of asynchronous I/O",
                                   .things = "contexts",
                                   .parts = "processes",
                                   .needs = "CAP_SYS_PTRACE",
                                   .look = look};

}  // namespace memstat::inspections::aio
