// SPDX-License-Identifier: BSD-2-Clause
// How many files this process may have open. Sources of many small files keep each of them open from before privileges are
// dropped, which may be thousands; the usual soft limit is 1024 for the sake of programs that use select(2), which we do
// not.
#pragma once

namespace memstat {

/// Raises the soft limit of open files to the hard limit. If this fails the limit stays, and a source that runs into it
/// reports it. Call before the sources are opened. Thread safety: safe.
void raise_open_file_limit();

}  // namespace memstat
