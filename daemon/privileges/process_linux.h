// SPDX-License-Identifier: BSD-2-Clause
// What only Linux has for a process about itself. Linux only.
#pragma once

namespace memstat {

/// What ps(1) calls this process, at most 15 bytes.
void name_process(const char* name);
/// This process is killed when the thread that made it ends. A change of the user undoes it.
void end_with_parent();
/// Closes this descriptor and those after it. False: this kernel (before 5.9) cannot.
bool close_from(int first);

}  // namespace memstat
