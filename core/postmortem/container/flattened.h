// SPDX-License-Identifier: BSD-2-Clause
// Flattened dumps: what makedumpfile -F sends through a pipe, from which any other dump is made by putting each piece where
// it belongs. All numbers are big endian, 64 bits, with sign:
//
//   4096 bytes: "makedumpfile" in 16 bytes, type 1, version 1, zeros
//   then pieces: where it belongs, how many bytes it has, the bytes; -1 and -1 end it
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/base/unique_fd.h"
#include "core/postmortem/container/block_file.h"

namespace memstat::postmortem {

/// What stands before the bytes of a piece. Thread safety: a plain value.
struct FlatPiece {
  static constexpr std::size_t kBytes = 16;
  static constexpr std::uint64_t kMaxOffset = std::uint64_t{1} << 46U;  // no dump is larger than 64 TiB

  std::uint64_t offset = 0;
  std::uint64_t size = 0;
};

/// Takes 16 bytes that stand at `at`, for errors. Nothing: they end the file. Error: kData for numbers that cannot be.
Result<std::optional<FlatPiece>> parse_flat_piece(std::string_view bytes, std::string_view file, std::uint64_t at);

/// Whether a file that begins like this is a flattened dump.
bool is_flattened(std::string_view head);

/// The dump as it was meant, in a file without a name. `damage` says what is missing of it, "" when nothing.
struct Unflattened {
  UniqueFd file;
  std::string damage;
};

/// Puts the pieces in order, in a temporary file in $TMPDIR, or /var/tmp, that takes no more room than `from`. Errors: those
/// of reading; system_error with the directory when there is no room; kData and kVersion for what is no flattened dump.
Result<Unflattened> unflatten(BlockFile& from);

}  // namespace memstat::postmortem
