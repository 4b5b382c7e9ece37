// SPDX-License-Identifier: BSD-2-Clause
// An owned directory stream.
#pragma once

#include <dirent.h>

#include <cerrno>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

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

/// The next name except "." and ".."; nullptr at the end (errno 0) or on an error.
inline const char* next_name(DIR* directory) {
  while (true) {
    errno = 0;
    const dirent* entry = ::readdir(directory);
    if (entry == nullptr) return nullptr;
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") return entry->d_name;
  }
}

/// Appends the remaining names. Returns 0 or an errno.
inline int read_names(DIR* directory, std::vector<std::string>& names) {
  while (const char* name = next_name(directory)) names.emplace_back(name);
  return errno;
}

}  // namespace memstat
