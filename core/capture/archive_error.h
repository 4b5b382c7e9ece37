// SPDX-License-Identifier: BSD-2-Clause
// Errors of reading and writing captures.
#pragma once

#include <sys/stat.h>

#include <cerrno>
#include <string>
#include <string_view>

#include "core/base/error.h"
#include "core/base/result.h"

namespace memstat {

/// kData without an offset: the archive is rejected, not one byte of it.
inline Error refused(std::string_view path, const std::string& what) { return make_error(ErrorCode::kData, path, what); }

/// The error for a file of a capture that exceeds its limit.
inline Error oversized(std::string_view path, std::uint64_t most) {
  return refused(path, "is larger than the " + std::to_string(most) + " bytes that this file may have");
}

/// kNotPresent if the open file or directory has no name any more, so that what was written into it is lost.
inline Result<void> check_name(const std::string& path, int fd) {
  struct stat status {};
  if (::fstat(fd, &status) != 0 || status.st_nlink != 0) return {};
  return system_error(path, ENOENT, "was removed during the recording");
}

}  // namespace memstat
