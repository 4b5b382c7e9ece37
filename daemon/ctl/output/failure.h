// SPDX-License-Identifier: BSD-2-Clause
// Why the library could not do what was asked, for people.
#pragma once

#include <string>

#include "core/include/memstat.h"

namespace memstat::ctl {

/// The list's last failure. `wanted` is added when the kernel lacks what was asked for: what would help; "": nothing.
std::string failure_of(memory_type_list* list, const std::string& wanted);

}  // namespace memstat::ctl
