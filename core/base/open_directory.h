// SPDX-License-Identifier: BSD-2-Clause
// A directory that is open for listing, with an owner.
#pragma once

#include <dirent.h>

#include <memory>

#include "core/base/unique_fd.h"

namespace memstat {

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

/// Closes the directory, and the descriptor below it, when it goes. Thread safety: none; one owner at a time.
using OpenDirectory = std::unique_ptr<DIR, CloseDirectory>;

/// Lists what `fd` is open on. On success `fd` is empty, for the directory owns its descriptor; on failure (errno: not a
/// directory, out of memory) the result is null and `fd` keeps it.
inline OpenDirectory open_directory(UniqueFd& fd) {
  OpenDirectory directory(::fdopendir(fd.get()));
  if (directory) fd.release();
  return directory;
}

}  // namespace memstat
