// SPDX-License-Identifier: BSD-2-Clause
// Attaches programs to the kernel's software events, which perf_event_open() opens for one CPU at a time.
#if defined(MEMSTAT_HAVE_LIBBPF)

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <vector>

#include "core/events/attach/bpf_kernel.h"

namespace memstat::events {

int AttachedPrograms::attach_everywhere(bpf_program* program, std::uint64_t event) {
  perf_event_attr facts{};
  facts.type = PERF_TYPE_SOFTWARE;
  facts.size = sizeof facts;
  facts.config = event;
  facts.sample_period = 1;
  std::vector<LinkPointer> links;
  for (int cpu = 0; cpu < libbpf_num_possible_cpus(); ++cpu) {
    UniqueFd file(static_cast<int>(::syscall(SYS_perf_event_open, &facts, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC)));
    if (!file && errno == ENODEV) continue;  // offline
    if (!file) return errno;
    links.emplace_back(bpf_program__attach_perf_event(program, file.get()));
    if (!links.back()) return errno;
    (void)file.release();  // the link closes it
  }
  if (links.empty()) return ENODEV;
  std::move(links.begin(), links.end(), std::back_inserter(links_));
  programs_.push_back({.program = program, .software_event = event});
  take_facts_of(program);
  return 0;
}

}  // namespace memstat::events

#endif
