// SPDX-License-Identifier: BSD-2-Clause
// BPF maps and programs held by processes through descriptors, with their memory from fdinfo (kernel/bpf/syscall.c). Those
// held only by a file of bpffs or an attachment are not included.
#include <algorithm>
#include <array>
#include <limits>
#include <set>

#include "core/base/text.h"
#include "core/inspect/processes.h"

namespace memstat::inspections::bpf {
namespace {

struct Kind {
  std::string_view target;  ///< the descriptor's link target
  std::string_view id;      ///< the key of its number in fdinfo
  std::string_view name;
};
constexpr std::array kKinds{Kind{"anon_inode:bpf-map", "map_id", "maps"},
                            Kind{"anon_inode:bpf-prog", "prog_id", "programs"}};

/// The objects of one kind in a process.
struct Sum {
  std::set<std::uint64_t> ids;
  std::uint64_t bytes = 0;
};

std::optional<std::uint64_t> value_of(std::string_view fdinfo, std::string_view key) {
  std::string_view line;
  while (next_line(fdinfo, line)) {
    const std::size_t colon = line.find(':');
    if (colon != std::string_view::npos && line.substr(0, colon) == key) return parse_u64(trim(line.substr(colon + 1)));
  }
  return std::nullopt;
}

void add_object(std::string_view fdinfo, const Kind& kind, Sum& sum) {
  const auto id = value_of(fdinfo, kind.id);
  const auto bytes = value_of(fdinfo, "memlock");
  if (!id || !bytes || !sum.ids.insert(*id).second) return;
  if (__builtin_add_overflow(sum.bytes, *bytes, &sum.bytes)) sum.bytes = std::numeric_limits<std::uint64_t>::max();
}

Result<void> look(Inspector& inspector) {
  std::array<Sum, kKinds.size()> sums;
  return walk_descriptors(
      inspector,
      [&](const Process& process, std::string_view descriptor, std::string_view target) {
        for (std::size_t i = 0; i < kKinds.size(); ++i) {
          if (target != kKinds[i].target) continue;
          add_object(inspector.read(path_of(process, "fdinfo/" + std::string(descriptor))), kKinds[i], sums[i]);
        }
      },
      [&](const Process& process) {
        for (std::size_t i = 0; i < kKinds.size(); ++i) {
          const Sum sum = std::exchange(sums[i], {});
          if (sum.ids.empty()) continue;
          Holder& holder = inspector.add(holder_of(process));
          holder.name = kKinds[i].name;
          holder.count = sum.ids.size();
          holder.bytes = sum.bytes;
        }
      });
}

}  // namespace

extern const Inspection inspection{.name = "bpf",
                                   .question = "Which processes hold BPF programs and maps",
                                   .things = "BPF objects",
                                   .parts = "open files",
                                   .needs = "CAP_SYS_PTRACE",
                                   .elsewhere = "FreeBSD has no BPF maps and programs",
                                   .look = look};

}  // namespace memstat::inspections::bpf
