// SPDX-License-Identifier: BSD-2-Clause
// The capabilities of a thread on Linux. Sets of them are bits by the kernel's numbers. Thread safety: of this thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "daemon/privileges/privileges.h"

namespace memstat {

/// Those of these names; nothing when one is not known here: only what a helper process may need is.
std::optional<std::uint64_t> capabilities_of(std::span<const std::string> names);

/// "with CAP_BPF and CAP_PERFMON", "without capabilities", "with all capabilities that memstatd uses".
std::string capabilities_text(std::uint64_t capabilities);

/// What this thread may use. Errors: kPermission.
Result<std::uint64_t> permitted_capabilities();

/// Nothing that is executed gains any. Needs CAP_SETPCAP, so it comes before the user changes; a note says what remains.
void empty_bounding_set(PrivilegeReport& report);

/// Gives up all but `kept`, which must be permitted, for good, and verifies it. Errors: kPermission.
Result<void> keep_capabilities(std::uint64_t kept);

/// kPermission: a step without which privileges would remain.
Error privilege_refused(std::string what, int system_errno, std::string_view advice);

}  // namespace memstat
