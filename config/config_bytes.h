// SPDX-License-Identifier: BSD-2-Clause
// Reads a configuration file with system calls only, because the reading thread may hang forever.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace memstat {

/// The result of a read: how far it got, and why it stopped.
struct ConfigBytes {
  enum class Stop { kDone, kOpen, kKind, kRead, kTooLarge };
  Stop stop = Stop::kDone;
  int system_errno = 0;             ///< For kOpen and kRead.
  std::size_t size = 0;             ///< Bytes read, if done.
  int descriptor = -1;              ///< The open file, if done; the caller closes it.
  bool is_readable_by_all = false;  ///< Every account may read the file, by its mode.
};

/// Reads the regular file `path` to its end into `room`. A file that leaves no free byte in `room` is too large. Only
/// regular files are read, since a pipe or a device may never end. Does not allocate or throw. Blocks while the file
/// system does not respond.
ConfigBytes read_config_bytes(const char* path, std::span<char> room) noexcept;

/// Same for the file `name` in the open directory `directory`, for a process that can no longer resolve the path.
ConfigBytes read_config_bytes(int directory, const char* name, std::span<char> room) noexcept;

/// Whether permissions or the sandbox forbid this process to open the file.
bool is_refused(const ConfigBytes& bytes) noexcept;

/// Same for the open file `descriptor`, from its beginning.
ConfigBytes read_config_bytes(int descriptor, std::span<char> room) noexcept;

/// The error message of a failed read.
Error config_bytes_error(const std::string& path, const ConfigBytes& bytes);

}  // namespace memstat
