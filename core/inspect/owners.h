// SPDX-License-Identifier: BSD-2-Clause
// Finds the user and the control group of a process.
#pragma once

#include <span>
#include <string_view>

#include "core/kernel/kernel_view.h"
#include "core/model/inspection.h"

namespace memstat {

/// Replaces the number in Holder::user by the name in /etc/passwd, if there is one, and sets Holder::group of each process.
void name_owners(KernelView& view, std::span<Holder> holders);

/// The charged group from /proc/PID/cgroup: that of the controller memory, otherwise of version 2. "": none.
std::string_view group_of(std::string_view cgroup);

/// The user with this number in /etc/passwd; "": none.
std::string_view user_of(std::string_view passwd, std::string_view uid);

}  // namespace memstat
