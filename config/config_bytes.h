// SPDX-License-Identifier: BSD-2-Clause
// The bytes of a configuration file, read by system calls alone, so that a thread that may never come back can do it.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace memstat {

/// How far a read came, and why it stopped.
struct ConfigBytes {
  enum class Stop { kDone, kOpen, kKind, kRead, kTooLarge };
  Stop stop = Stop::kDone;
  int system_errno = 0;             ///< Of kOpen and kRead.
  std::size_t size = 0;             ///< B that were read, when done.
  int descriptor = -1;              ///< Of the open file when done; the caller closes it.
  bool is_readable_by_all = false;  ///< The file's mode lets every account read it.
};

/// Reads the regular file `path` to its end into `room`; one that leaves no byte of `room` free is too large. Nothing but a
/// regular file is read: a pipe or a device may never end. Allocates nothing, throws nothing. A file system that does not
/// answer can keep it for ever. Thread safety: safe.
ConfigBytes read_config_bytes(const char* path, std::span<char> room) noexcept;

/// The same of the file `name` in the directory that is open as `directory`, for a process that has lost the way to it.
ConfigBytes read_config_bytes(int directory, const char* name, std::span<char> room) noexcept;

/// Whether this process may not open the file: by its permissions, or by its sandbox.
bool is_refused(const ConfigBytes& bytes) noexcept;

/// The same of the open file `descriptor`, from its beginning.
ConfigBytes read_config_bytes(int descriptor, std::span<char> room) noexcept;

/// What such a read that is not done says to people.
Error config_bytes_error(const std::string& path, const ConfigBytes& bytes);

}  // namespace memstat
