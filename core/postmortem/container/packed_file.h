// SPDX-License-Identifier: BSD-2-Clause
// Dumps that were packed whole: vmcore.0.zst and vmcore.0.gz, as FreeBSD's kernel and savecore(8) write them.
#pragma once

#include <string>

#include "core/base/result.h"
#include "core/base/unique_fd.h"
#include "core/postmortem/container/block_file.h"

namespace memstat::postmortem {

/// The first bytes of what is packed in the file, at most 64; "" when it is not packed by gzip or zstd, when it is damaged,
/// and when this build has no library for it. Thread safety: that of `file`.
std::string head_of_packed(BlockFile& file);

/// The dump unpacked. `damage` says what is missing of it, "" when nothing.
struct UnpackedFile {
  UniqueFd file;
  std::string damage;
};

/// Unpacks into a temporary file in $TMPDIR, or /var/tmp; blocks of zeros take no room there. What can be unpacked of a file
/// that is damaged or cut short is there. Errors: those of reading; system_error with the directory when there is no room;
/// kData for what unpacks to nothing.
Result<UnpackedFile> unpack_file(BlockFile& from);

}  // namespace memstat::postmortem
