// SPDX-License-Identifier: BSD-2-Clause
// The bytes of an archive's file, with zstd around them or without.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "core/capture/tar.h"

namespace memstat {

/// Reads `fd` from its first byte on, wherever it stands, and unpacks what begins as zstd does: one frame or several. `fd`
/// must stay open. Unpacking takes 128 MiB of memory at most. Throws std::bad_alloc. Errors: system_error; kNotPresent for
/// zstd when this build has none; next() also kData without a path and with a whole sentence.
Result<std::unique_ptr<PieceSource>> open_archive_stream(const std::string& name, int fd);

/// Where a packer's bytes go. Errors: system_error with the name. Thread safety: none; one writer at a time.
class ArchiveSink {
 public:
  ArchiveSink() = default;
  ArchiveSink(const ArchiveSink&) = delete;
  ArchiveSink& operator=(const ArchiveSink&) = delete;
  virtual ~ArchiveSink() = default;

  virtual Result<void> write(std::string_view bytes) = 0;
  /// Writes what is left. Nothing may follow.
  virtual Result<void> finish() = 0;
};

/// Throws std::bad_alloc. Errors: kNotPresent for zstd when this build has none.
Result<std::unique_ptr<ArchiveSink>> open_archive_sink(const std::string& name, int fd, bool with_zstd);

}  // namespace memstat
