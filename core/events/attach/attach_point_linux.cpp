// SPDX-License-Identifier: BSD-2-Clause
// Attaches with system calls only, because the process cannot open files.
#include "core/events/attach/attach_helper.h"

#include <cerrno>

#if defined(MEMSTAT_HAVE_LIBBPF)

#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

namespace memstat::events {
namespace {

int call_bpf(int command, bpf_attr& request) {
  const long result = ::syscall(SYS_bpf, command, &request, sizeof request);
  return result < 0 ? -errno : static_cast<int>(result);
}

int attach_raw(int program, const char* tracepoint) {
  bpf_attr request{};
  request.raw_tracepoint.name = reinterpret_cast<std::uintptr_t>(tracepoint);
  request.raw_tracepoint.prog_fd = static_cast<__u32>(program);
  return call_bpf(BPF_RAW_TRACEPOINT_OPEN, request);
}

int attach_to_perf_event(int program, const AttachPoint& point) {
  perf_event_attr facts{};
  facts.size = sizeof facts;
  facts.type = point.type;
  facts.config = point.config;
  facts.sample_period = point.period;
  if (point.name[0] != '\0') facts.kprobe_func = reinterpret_cast<std::uintptr_t>(point.name.data());
  UniqueFd event(static_cast<int>(::syscall(SYS_perf_event_open, &facts, -1, point.cpu, -1, PERF_FLAG_FD_CLOEXEC)));
  if (!event) return -errno;
  bpf_attr request{};
  request.link_create.prog_fd = static_cast<__u32>(program);
  request.link_create.target_fd = static_cast<__u32>(event.get());
  request.link_create.attach_type = BPF_PERF_EVENT;
  UniqueFd link(call_bpf(BPF_LINK_CREATE, request));  // Linux 5.15 and later; the link holds the event
  if (!link && ::ioctl(event.get(), PERF_EVENT_IOC_SET_BPF, program) != 0) return -errno;
  if (::ioctl(event.get(), PERF_EVENT_IOC_ENABLE, 0) != 0) return -errno;
  return link ? link.release() : event.release();
}

}  // namespace

int attach_program(int program, const AttachPoint& point) {
  if (std::find(point.name.begin(), point.name.end(), '\0') == point.name.end()) return -EINVAL;
  switch (point.kind) {
    case AttachPoint::kRawTracepoint: return attach_raw(program, point.name.data());
    case AttachPoint::kTracing: return attach_raw(program, nullptr);
    case AttachPoint::kPerfEvent: return attach_to_perf_event(program, point);
    default: return -EINVAL;
  }
}

}  // namespace memstat::events

#else

namespace memstat::events {

int attach_program(int /*program*/, const AttachPoint& /*point*/) { return -ENOSYS; }

}  // namespace memstat::events

#endif
