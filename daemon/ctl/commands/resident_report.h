// SPDX-License-Identifier: BSD-2-Clause
// How much of files is in memory, for people and programs.
#pragma once

#include <span>
#include <string>

#include "daemon/ctl/output/output.h"

namespace memstat::ctl {

/// A line a file: bytes in memory, its size, how much of it that is, its path; and a line with the sums when there are
/// several. Files of directories are those below them. What could not be asked is in the problem; what the kernel does not
/// tell is "?".
Report resident_report(std::span<const std::string> paths, Layout layout);

}  // namespace memstat::ctl
