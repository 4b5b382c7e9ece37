// SPDX-License-Identifier: BSD-2-Clause
// Captures in one file: a .tar or .tar.zst of a capture's directory. A target of its own, because it needs libzstd; without
// it captures are directories or .tar, and both functions say so.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "core/base/result.h"
#include "core/capture/replay_view.h"

namespace memstat {

/// What an archive may hold, in bytes unpacked; a small file can claim to hold anything.
/// Thread safety: a plain value; the functions below are safe.
struct ArchiveLimits {
  std::uint64_t member_bytes = 1ULL << 30;
  /// Content and names; counts members that are no part of the capture as well.
  std::uint64_t total_bytes = kMaxCaptureBytes;
  std::uint64_t members = 1'000'000;
};

/// Opens a capture: a directory, a .tar or a .tar.zst, told apart by what they are and not by their names. Of an
/// archive one poll at a time is in memory (and the one before it), without what is no part of a capture (oracle/...); it is
/// read as a whole once, to check it, and polls in their order cost one more pass. The file stays open; its capture is at
/// its root or in its one top directory. Refused with kData: members that are absolute, have empty or ".." parts, stand
/// twice, apart from the rest of their poll, are neither file, directory nor symbolic link, are sparse, or go beyond the
/// limits; links that leave their poll's `fs`; archives that are cut short. Other errors: system_error; kNotPresent for
/// a .tar.zst when this build has no libzstd; those of ReplayKernelView::open.
Result<std::unique_ptr<ReplayKernelView>> open_capture(const std::string& path, const ArchiveLimits& limits = {});

/// The same without a view before them: what several views of one capture share.
Result<std::unique_ptr<CaptureFiles>> open_capture_files(const std::string& path, const ArchiveLimits& limits = {});

/// Packs a capture into `fd`, an empty file open for writing; the name `archive_path`, which ends in ".tar" or ".tar.zst",
/// says how, and gives the one top directory its name. Unfinished polls (NNNNNN.tmp) stay out. On the disk when it returns.
/// Errors: system_error, kData for another ending, kNotPresent for .tar.zst when this build has no libzstd; the file is
/// then of no use.
/// Ends with kTimeout once `must_stop`, which is asked before each member, says so.
Result<void> pack_capture(const CaptureFiles& files, const std::string& archive_path, int fd,
                          const std::function<bool()>& must_stop = {});

/// Packs the capture in `directory` as `archive_path`: mode 0600, whole or absent (written beside its place and renamed).
/// Errors: as above.
Result<void> pack_capture(const std::string& directory, const std::string& archive_path);

}  // namespace memstat
