// SPDX-License-Identifier: BSD-2-Clause
// Which parts of the machine this process cannot see: the table of the source linux_view.
//
//   view 1
//   lacks REASON     a name of core/model/partial_view.h, such as pid_namespace; none for the whole machine
//   end
//
// The initial PID, user, IPC, network and mount namespaces are recognised on every kernel since 5.10, with and without
// privileges:
//
//   PID       /proc/2 is the kernel thread kthreadd, which exists only in the initial namespace. This also holds for a
//             process of another namespace that has the host's /proc.
//   user, IPC fixed inode numbers (include/linux/proc_ns.h, PROC_USER_INIT_INO and PROC_IPC_INIT_INO)
//   network   net.core.netdev_budget, which is registered only in the initial namespace (net/core/sysctl_net_core.c)
//   mount     the same mounts as process 1: a mount has one number in all of the system (fs/namespace.c, mnt_alloc_id). In
//             another namespace, all mounts of tmpfs, which hold memory, may still be visible.
//   cgroup    only groups below the root have cgroup.events (Documentation/admin-guide/cgroup-v2.rst)
//
// Linux 6.18 fixes the inode numbers of the others, too, but these rules do not need them.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/kernel/kernel_view.h"

namespace memstat {

/// Examines the view of a live kernel. "": /proc/self (on FreeBSD security.jail.jailed) does not exist, so nothing is known.
std::string view_table_of(KernelView& machine);

/// Calls `take(reason)` for each line. Returns the offset of the first damaged line, or nothing.
std::optional<std::size_t> read_view_table(std::string_view text, const std::function<void(std::string_view)>& take);

/// The reasons for which this view is partial: of this machine, or of the capture that it replays. Empty: it is whole, or
/// nothing is known.
std::vector<std::string> view_reasons(KernelView& machine);

/// Examines once, on opening, because the namespaces of a process do not change, and privileges are dropped later.
class ViewTable final : public TextTableSource {
 public:
  Result<void> open() override;
  Result<void> read(Buffer& /*out*/) override { return open(); }
  Result<void> open_on(KernelView& machine) override;
  Result<void> read_on(KernelView& machine, Buffer& out) override;

 private:
  std::string text_;
};

}  // namespace memstat
