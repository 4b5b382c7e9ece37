// SPDX-License-Identifier: BSD-2-Clause
// Whose a process is: its user and its control group.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/kernel/kernel_view.h"
#include "core/model/inspection.h"

namespace memstat {

/// Holder::user from a number to a name of /etc/passwd, where there is one, and Holder::group of each process.
void name_owners(KernelView& view, std::span<Holder> holders);

/// From /proc/PID/cgroup the group that is charged: of the controller memory, else of version 2. "": none.
std::string_view group_of(std::string_view cgroup);

/// The user with that number in /etc/passwd; "": none.
std::string_view user_of(std::string_view passwd, std::string_view uid);

}  // namespace memstat
