// SPDX-License-Identifier: BSD-2-Clause
// memstatctl from its arguments to its exit status.
#pragma once

namespace memstat::ctl {

/// Does what the arguments say: the report on standard output, what went wrong on standard error. Gives back the exit
/// status: 0 done, 1 it could not run (or not print), 2 wrong usage, 3 the answer is partial. Never throws. Ignores SIGPIPE
/// from then on. To be called once.
int run(int argc, const char* const* argv);

}  // namespace memstat::ctl
