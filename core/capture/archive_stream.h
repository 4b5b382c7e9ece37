// SPDX-License-Identifier: BSD-2-Clause
// The bytes of an archive file, zstd-compressed or not.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "core/base/not_copyable.h"
#include "core/capture/tar.h"

namespace memstat {

/// Reads `fd` from its beginning and decompresses zstd data, one or several frames. `fd` must stay open. Decompression uses
/// at most 128 MiB of memory. Throws std::bad_alloc. Errors: system_error; kNotPresent for zstd if this build has none; also
/// kData from next(), without a path and with a complete sentence.
Result<std::unique_ptr<PieceSource>> open_archive_stream(const std::string& name, int fd);

/// The output of a packer. Errors: system_error with the name.
class ArchiveSink : public Interface {
 public:
  virtual Result<void> write(std::string_view bytes) = 0;
  /// Writes buffered data. Must be the last call.
  virtual Result<void> finish() = 0;
};

/// Whether this build has libzstd.
bool packs_zstd();

/// Throws std::bad_alloc. Errors: kNotPresent for zstd if this build has none.
Result<std::unique_ptr<ArchiveSink>> open_archive_sink(const std::string& name, int fd, bool with_zstd);

}  // namespace memstat
