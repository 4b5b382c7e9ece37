// SPDX-License-Identifier: BSD-2-Clause
#include <cerrno>

#include "core/base/text.h"
#include "core/counters/perf_system.h"

namespace memstat::counters {
namespace {

constexpr std::string_view kParanoid = "/proc/sys/kernel/perf_event_paranoid";
constexpr std::string_view kStatus = "/proc/self/status";

std::string words_of_target(const Target& target) {
  switch (target.kind) {
    case Target::Kind::kCurrentThread: return "this thread";
    case Target::Kind::kThread: return "thread " + std::to_string(target.thread);
    case Target::Kind::kProcess: return "process " + std::to_string(target.process);
    case Target::Kind::kCpu: return "CPU " + std::to_string(target.cpu);
  }
  return "";
}

/// The missing permission.
std::string permission_text(const Request& request, const Target& target, const PerfPermissions& permissions) {
  if (permissions.is_capable) {
    return permissions.is_filtered ? "this process has the capability, so a seccomp filter refuses perf_event_open: "
                                     "allow this system call in the profile of the container or service"
                                   : "this process has the capability, so a security module or the kernel's lockdown "
                                     "refuses it: see the kernel's log";
  }
  const std::string remedy = "run with CAP_PERFMON (before Linux 5.8: CAP_SYS_ADMIN)";
  const std::string filter =
      permissions.is_filtered ? "; a seccomp filter is active as well, which in a container refuses perf_event_open" : "";
  if (!permissions.paranoid) return "perf_event_paranoid cannot be read: " + remedy + filter;
  const std::int64_t paranoid = *permissions.paranoid;
  const std::string sysctl = "kernel.perf_event_paranoid is " + std::to_string(paranoid);
  if (paranoid >= 3)
    return sysctl + ", which refuses all counting without the capability: set it to 2 or less, or " + remedy + filter;
  if (target.kind == Target::Kind::kCpu && paranoid >= 1) {
    return sysctl + ", which refuses counting on a whole CPU: set it to 0 or less, or " + remedy + filter;
  }
  if (request.counts_system && paranoid >= 2) {
    return sysctl + ", which refuses counting in the kernel: count in user mode only, set it to 1 or less, or " + remedy +
           filter;
  }
  if (request.code.type == kPerfTracepoint && paranoid >= 0) {
    return sysctl + ", which refuses tracepoints: set it to -1, or " + remedy + filter;
  }
  if (target.kind == Target::Kind::kThread || target.kind == Target::Kind::kProcess) {
    return "the thread belongs to another user: run as that user, or " + remedy + filter;
  }
  return permissions.is_filtered ? sysctl +
                                       ", which allows this, so a seccomp filter refuses perf_event_open: "
                                       "allow this system call in the profile of the container or service"
                                 : sysctl + ": " + remedy;
}

}  // namespace

PerfPermissions read_perf_permissions(KernelView& view) {
  constexpr unsigned kSysAdmin = 21;
  constexpr unsigned kPerfmon = 38;
  PerfPermissions permissions;
  Buffer text;
  if (view.read_file(kParanoid, text)) permissions.paranoid = parse_i64(trim(text.view()));
  if (!view.read_file(kStatus, text)) return permissions;
  std::string_view rest = text.view();
  for (std::string_view line; next_line(rest, line);) {
    if (line.starts_with("CapEff:")) {
      const std::uint64_t bits = parse_hex_u64(trim(line.substr(7))).value_or(0);
      permissions.is_capable = (bits >> kSysAdmin & 1U) != 0 || (bits >> kPerfmon & 1U) != 0;
    } else if (line.starts_with("Seccomp:")) {
      permissions.is_filtered = trim(line.substr(8)) != "0";
    }
  }
  return permissions;
}

Refused explain_perf_error(int system_errno, const Request& request, const Target& target,
                           const PerfPermissions& permissions) {
  const std::string where = "event " + request.event + " on " + words_of_target(target) + ": ";
  const auto refused = [&](Refusal refusal, std::string_view text) {
    return Refused{.refusal = refusal, .system_errno = system_errno, .text = where + std::string(text)};
  };
  switch (system_errno) {
    case EACCES:
    case EPERM: return refused(Refusal::kPermission, permission_text(request, target, permissions));
    case ENOENT:
      return refused(
          Refusal::kInvalidEvent,
          request.code.needs_counter
              ? "this CPU does not have the event, or the virtual machine hides it; others are in the list of events"
              : "this kernel does not have the event");
    case ENODEV:
      return refused(Refusal::kNotCapable, "this CPU lacks a feature that the request needs, or the CPU is offline");
    case EOPNOTSUPP:
      return refused(Refusal::kNotCapable,
                     request.notifies ? "the counters have no interrupt here: request it without overflow notification"
                     : request.code.precise != 0
                         ? "the CPU cannot count it with this precision: lower the attribute `precise`"
                         : "the CPU cannot exclude modes from counting: count in all of them");
    case EINVAL:
      return refused(Refusal::kConflictingRequests,
                     "the kernel rejects the event with these flags and attributes, or the CPU, or the set needs more "
                     "counters than exist");
    case EBUSY:
      return refused(Refusal::kResourceUnavailable,
                     "another user has reserved the counters, such as the NMI watchdog (kernel.nmi_watchdog) or a debugger");
    case ENOSPC:
      return refused(Refusal::kResourceUnavailable, "the CPU's breakpoints or counters are used up: unbind other sets");
    case EMFILE:
      return refused(Refusal::kResourceUnavailable,
                     "this process has reached its limit of open files (one per event and CPU): raise it (ulimit -n)");
    case ENFILE:
      return refused(Refusal::kResourceUnavailable, "the system has reached fs.file-max, its limit of open files");
    case ENOMEM: return refused(Refusal::kResourceUnavailable, "the kernel has no memory for it");
    case ESRCH: return refused(Refusal::kNone, "the thread does not exist, or has ended");
    case ENOSYS:
      return refused(Refusal::kResourceUnavailable, permissions.is_filtered
                                                        ? "a seccomp filter hides perf_event_open: "
                                                          "allow this system call in the profile of the container or service"
                                                        : "the kernel is built without perf events (CONFIG_PERF_EVENTS)");
    case E2BIG: return refused(Refusal::kInvalidAttribute, "this kernel is too old for one of the attributes");
    case EOVERFLOW:
      return refused(Refusal::kResourceUnavailable, "the requested call chain is longer than kernel.perf_event_max_stack");
    case EINTR: return refused(Refusal::kConflictingRequests, "another user of the kernel's tracing has reserved the event");
    case EBADF: return refused(Refusal::kConflictingRequests, "the group that it was to join is gone");
    case EFAULT: return refused(Refusal::kConflictingRequests, "the kernel could not read the request");
    default: return refused(Refusal::kNone, "the kernel refuses it");
  }
}

}  // namespace memstat::counters
