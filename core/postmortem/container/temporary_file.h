// SPDX-License-Identifier: BSD-2-Clause
// Files without a name, for dumps that must be put in order or unpacked before anything in them can be found.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/base/unique_fd.h"

namespace memstat::postmortem {

/// $TMPDIR, or /var/tmp: dumps are larger than what /tmp may hold. Thread safety of all: safe.
std::string temporary_directory();

/// A file that goes when it is closed. Error: system_error with the directory.
Result<UniqueFd> nameless_file(const std::string& directory);

/// Writes all of the bytes at `offset`. Error: system_error with the directory, where there is no room.
Result<void> write_all(int fd, const std::string& directory, std::string_view bytes, std::uint64_t offset);

}  // namespace memstat::postmortem
