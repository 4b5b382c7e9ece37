// SPDX-License-Identifier: BSD-2-Clause
// The limit of open files. Sources of many small files keep all of them open from before the privilege drop, which may
// be thousands. The usual soft limit of 1024 protects programs that use select(2), which memstatd does not.
#pragma once

namespace memstat {

/// Raises the soft limit of open files to the hard limit. If this fails the limit stays, and a source that runs into it
/// reports it. Call before the sources are opened.
void raise_open_file_limit();

}  // namespace memstat
