// SPDX-License-Identifier: BSD-2-Clause
// What a cause must see of the machine before it can be ruled out, by the evidence that it needs.
#pragma once

#include <string>
#include <string_view>

#include "core/diagnosis/cause.h"

namespace memstat {

/// The parts of the machine behind a need, in the form of Evidence::has(): "table/sysv_shm" is of one IPC namespace. None
/// for evidence that the kernel counts for all of the machine, and for "who/NAME", whose answer has a view of its own.
ViewParts parts_behind(std::string_view need);

/// Why the cause cannot be ruled out in this view, with what would permit it; "": it can.
std::string why_unseen(const Evidence& evidence, const Cause& cause);

}  // namespace memstat
