// SPDX-License-Identifier: BSD-2-Clause
// Kernel buffers that processes have mapped, whose pages are in no part of the account: rings of io_uring, perf events,
// packet sockets and BPF. A ring that processes share counts in each of them.
#include <array>
#include <limits>

#include "core/base/text.h"
#include "core/inspect/processes.h"

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

/// "7f0000000000-7f0000010000 rw-s 00000000 00:0f 1234   anon_inode:[io_uring]"
void add_mapping(std::string_view line, Sums& sums) {
  std::string_view range;
  std::string_view word;
  if (!next_word(line, range)) return;
  for (int place = 1; place < 5; ++place) {
    if (!next_word(line, word)) return;
  }
  const std::string_view target = trim(line);
  for (std::size_t i = 0; i < kKinds.size(); ++i) {
    if (!target.starts_with(kKinds[i].target)) continue;
    const std::size_t dash = range.find('-');
    if (dash == std::string_view::npos) return;
    const auto begin = parse_hex_u64(range.substr(0, dash));
    const auto end = parse_hex_u64(range.substr(dash + 1));
    if (!begin || !end || *end < *begin) return;
    ++sums[i].count;
    sums[i].bytes += std::min(*end - *begin, std::numeric_limits<std::uint64_t>::max() - sums[i].bytes);
    return;
  }
}

Result<void> look(Inspector& inspector) {
  const auto processes = list_processes(inspector);
  if (!processes) return processes.error();
  Buffer text;
  begin_examining(inspector, *processes);
  for (const Process& process : *processes) {
    if (!inspector.take()) break;
    inspector.see();
    if (auto read = inspector.view().read_file(path_of(process, "maps"), text); !read) {
      note_refusal(inspector, process, read.error());
      continue;
    }
    Sums sums{};
    std::string_view rest = text.view();
    std::string_view line;
    while (next_line(rest, line)) add_mapping(line, sums);
    for (std::size_t i = 0; i < kKinds.size(); ++i) {
      if (sums[i].count == 0) continue;
      Holder& holder = inspector.add(holder_of(process));
      holder.name = kKinds[i].name;
      holder.count = sums[i].count;
      holder.bytes = sums[i].bytes;
    }
  }
  return {};
}

}  // namespace

extern const Inspection inspection{.name = "rings",
                                   .question = "Which processes map ring buffers of the kernel",
                                   .things = "mappings",
                                   .parts = "processes",
                                   .needs = "CAP_SYS_PTRACE",
                                   .look = look};

}  // namespace memstat::inspections::rings
