// SPDX-License-Identifier: BSD-2-Clause
// Explains why the kernel does not let this process attach to events, and what to change.
#pragma once

#include <string>
#include <string_view>

namespace memstat::events {

/// Explains why attaching was refused. `status`: /proc/self/status, for missing capabilities. `lockdown`:
/// /sys/kernel/security/lockdown, "" if unreadable.
std::string why_refused(std::string_view status, std::string_view lockdown);

/// Whether a process with this /proc/self/status has the capabilities for attaching, or they are unknown.
bool has_attach_capabilities(std::string_view status);

}  // namespace memstat::events
