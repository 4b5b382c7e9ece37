// SPDX-License-Identifier: BSD-2-Clause
// memstatctl top: samples, a model, and a screen or lines.
#pragma once

#include <cstddef>

#include "daemon/ctl/commands/options.h"
#include "daemon/ctl/output/output.h"

namespace memstat::ctl {

/// Shows the types until it is told to end. On a terminal it is a full screen, and the report is empty; elsewhere, with
/// --count, or where it was built without ncursesw, it prints samples, and the report has the last one. A signal that ends
/// it does so once the terminal is as it was. `first_poll`: where in a capture it begins.
Report run_top(const CommandLine& options, std::size_t first_poll);

}  // namespace memstat::ctl
