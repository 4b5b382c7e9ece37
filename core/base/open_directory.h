// SPDX-License-Identifier: BSD-2-Clause
// An owned directory stream.
#pragma once

#include <dirent.h>

#include <memory>

#include "core/base/unique_fd.h"

namespace memstat {

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

/// Closes the stream and its descriptor on destruction.
using OpenDirectory = std::unique_ptr<DIR, CloseDirectory>;

/// Opens a directory stream on `fd`. On success the stream owns the descriptor and `fd` is empty. On failure (errno: not a
/// directory, out of memory) the result is null and `fd` keeps the descriptor.
inline OpenDirectory open_directory(UniqueFd& fd) {
  OpenDirectory directory(::fdopendir(fd.get()));
  if (directory) fd.release();
  return directory;
}

}  // namespace memstat
