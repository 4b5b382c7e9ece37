// SPDX-License-Identifier: BSD-2-Clause
#include "core/model/partial_view.h"

#include <array>
#include <cstddef>

namespace memstat {
namespace {

struct Row {
  std::string_view name;
  std::string_view words;
  std::string_view permit;
  ViewParts lacks;
  bool is_of_container = true;
};

constexpr ViewParts kAllParts = ViewPart::kProcesses | ViewPart::kMounts | ViewPart::kNetwork | ViewPart::kIpc |
                                ViewPart::kUsers | ViewPart::kGroups | ViewPart::kMemory;

/// In the order of ViewReason.
constexpr std::array<Row, kViewReasonCount> kRows{
    Row{.name = "pid_namespace",
        .words = "PID namespace",
        .permit = "run it in the host's PID namespace (--pid=host, hostPID: true)",
        .lacks = ViewPart::kProcesses | ViewPart::kMounts},
    Row{.name = "hidden_processes",
        .words = "/proc hides processes of other users (its option hidepid)",
        .permit = "run it as root, or mount /proc with hidepid=0",
        .lacks = ViewPart::kProcesses | ViewPart::kMounts,
        .is_of_container = false},
    Row{.name = "mount_namespace",
        .words = "mount namespace",
        .permit = "run it in the host's mount namespace",
        .lacks = ViewPart::kMounts},
    Row{.name = "network_namespace",
        .words = "network namespace",
        .permit = "run it in the host's network namespace (--network=host, hostNetwork: true)",
        .lacks = ViewPart::kNetwork},
    Row{.name = "ipc_namespace",
        .words = "IPC namespace",
        .permit = "run it in the host's IPC namespace (--ipc=host, hostIPC: true)",
        .lacks = ViewPart::kIpc},
    Row{.name = "user_namespace",
        .words = "user namespace",
        .permit = "run it as root of the host, not of a user namespace",
        .lacks = ViewPart::kUsers},
    Row{.name = "cgroup_namespace",
        .words = "control group namespace",
        .permit = "run it with the host's /sys/fs/cgroup (--cgroupns=host)",
        .lacks = ViewPart::kGroups},
    Row{.name = "lxcfs", .words = "files of lxcfs in /proc", .permit = "run it on the host", .lacks = ViewPart::kMemory},
    Row{.name = "other_kernel",
        .words = "a kernel without /proc/zoneinfo, such as gVisor's",
        .permit = "run it on the host",
        .lacks = kAllParts},
    Row{.name = "jail",
        .words = "jail",
        .permit = "run it on the host, outside of jails",
        .lacks = ViewPart::kProcesses | ViewPart::kMounts | ViewPart::kNetwork | ViewPart::kIpc}};

template <typename Visit>
void for_each_row(const PartialView& view, Visit visit) {
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    if (view.has(static_cast<ViewReason>(i))) visit(kRows[i]);
  }
}

void append(std::string& list, std::string_view separator, std::string_view text) {
  list.append(list.empty() ? "" : separator).append(text);
}

}  // namespace

std::string_view to_string(ViewReason reason) { return kRows[static_cast<std::size_t>(reason)].name; }

void PartialView::add(std::string_view reason) {
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    if (kRows[i].name == reason) add(static_cast<ViewReason>(i));
  }
}

PartialView PartialView::of(ViewParts parts) const {
  PartialView found;
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    const auto reason = static_cast<ViewReason>(i);
    if (has(reason) && kRows[i].lacks.has_any_of(parts)) found.add(reason);
  }
  return found;
}

std::string PartialView::names() const {
  std::string names;
  for_each_row(*this, [&](const Row& row) { append(names, " ", row.name); });
  return names;
}

std::string PartialView::words() const {
  std::string inside;
  std::string words;
  for_each_row(*this, [&](const Row& row) { append(row.is_of_container ? inside : words, ", ", row.words); });
  if (inside.empty()) return words;
  inside = "seen from inside a container (" + inside + ")";
  return words.empty() ? inside : inside + ", and " + words;
}

std::string PartialView::permit() const {
  if (has(ViewReason::kOtherKernel)) return std::string(kRows[static_cast<std::size_t>(ViewReason::kOtherKernel)].permit);
  std::string permit;
  for_each_row(*this, [&](const Row& row) {
    if (permit.find(row.permit) == std::string::npos) append(permit, ", ", row.permit);
  });
  return permit;
}

}  // namespace memstat
