// SPDX-License-Identifier: BSD-2-Clause
// Kernel buffers that processes have mapped, whose pages are in no part of the account: rings of io_uring, perf events,
// packet sockets and BPF. A ring that processes share counts in each of them.
#include <array>

#include "core/base/arithmetic.h"
#include "core/inspect/mappings.h"

namespace memstat::inspections::rings {
namespace {

struct Kind {
  std::string_view target;  ///< The beginning of the mapping's name.
  std::string_view name;
};
constexpr std::array kKinds{Kind{"anon_inode:[io_uring]", "io_uring"}, Kind{"anon_inode:[perf_event]", "perf events"},
                            Kind{"anon_inode:bpf-map", "BPF maps"}, Kind{"socket:[", "sockets"}};

struct Sum {
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
};
using Sums = std::array<Sum, kKinds.size()>;

void add_mapping(std::string_view target, std::uint64_t bytes, Sums& sums) {
  for (std::size_t i = 0; i < kKinds.size(); ++i) {
    if (!target.starts_with(kKinds[i].target)) continue;
    ++sums[i].count;
    sums[i].bytes = saturating_sum(sums[i].bytes, bytes);
    return;
  }
}

Result<void> look(Inspector& inspector) {
  Sums sums{};
  return walk_mappings(
      inspector, [&](std::string_view target, std::uint64_t bytes) { add_mapping(target, bytes, sums); },
      [&](const Process& process) {
        for (std::size_t i = 0; i < kKinds.size(); ++i) {
          if (sums[i].count == 0) continue;
          Holder& holder = inspector.add(holder_of(process));
          holder.name = kKinds[i].name;
          holder.count = sums[i].count;
          holder.bytes = sums[i].bytes;
        }
        sums = {};
      });
}

}  // namespace

extern const Inspection inspection{.name = "rings",
                                   .question = "Which processes map ring buffers of the kernel",
                                   .things = "mappings",
                                   .parts = "processes",
                                   .needs = "CAP_SYS_PTRACE",
                                   .look = look};

}  // namespace memstat::inspections::rings
