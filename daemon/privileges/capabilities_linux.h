// SPDX-License-Identifier: BSD-2-Clause
// The capabilities of a Linux thread, as bit sets of the kernel's numbers. Thread safety: only for this thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "daemon/privileges/privileges.h"

namespace memstat {

/// The set of these capabilities. Empty if a name is unknown; only those that a helper process may need are known.
std::optional<std::uint64_t> capabilities_of(std::span<const std::string> names);

/// "with CAP_BPF and CAP_PERFMON", "without capabilities", "with all capabilities that memstatd uses".
std::string capabilities_text(std::uint64_t capabilities);

/// This thread's permitted capabilities. Errors: kPermission.
Result<std::uint64_t> permitted_capabilities();

/// Prevents executed programs from gaining capabilities. Needs CAP_SETPCAP, so call it before changing the user. Adds a
/// note if some remain.
void empty_bounding_set(PrivilegeReport& report);

/// Permanently drops all capabilities but `kept`, which must be permitted, and verifies it. Errors: kPermission.
Result<void> keep_capabilities(std::uint64_t kept);

// ---- other attributes of a process ----

/// Kills this process when the thread that created it ends. Undone by a change of the user.
void end_with_parent();
/// Closes this descriptor and all higher ones. Returns false on kernels before 5.9.
bool close_from(int first);

// ---- the system call filter ----

/// Activates the filter for `calls` in this thread and those that it starts. If that fails: a note; or kNoMemory
/// without any filter. The process must have one thread, with no_new_privs.
Result<void> enter_seccomp(SystemCalls calls, PrivilegeReport& report);

}  // namespace memstat
