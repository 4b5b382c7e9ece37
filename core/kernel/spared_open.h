// SPDX-License-Identifier: BSD-2-Clause
// Opening of files that a poll reads and closes again, also while the table of all open files is full.
#pragma once

#include <fcntl.h>

#include "core/base/not_copyable.h"

namespace memstat {

/// openat(2), again if it is interrupted. If the system-wide table of files is full, files of this process's reserve go for
/// the one that is opened. Thread safety: safe.
int spared_open(const char* path, int flags, int directory = AT_FDCWD);

/// Takes the files back at the end of a scope: declared before what is opened there, which is closed by then. Nothing but a
/// check while none is lent.
class SpareFilesReturn : NotCopyable {
 public:
  SpareFilesReturn() = default;
  ~SpareFilesReturn();
};

}  // namespace memstat
