// SPDX-License-Identifier: BSD-2-Clause
// Captures in one file: a .tar or .tar.zst of a capture's directory. A separate target, because it needs libzstd. Without
// libzstd captures are directories or .tar files, and both functions report that.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "core/base/result.h"
#include "core/capture/replay_view.h"

namespace memstat {

/// Limits on an archive's unpacked content, in bytes; a small file can claim any size. A file of text may have a sixteenth
/// of `total_bytes`, max_file_bytes() limits the files that describe the capture, and the names and files of one poll in
/// memory have `total_bytes`. Thread safety: the functions below are safe.
struct ArchiveLimits {
  std::uint64_t member_bytes = 1ULL << 30;
  /// Content and names. Includes members that are not part of the capture.
  std::uint64_t total_bytes = kMaxCaptureBytes;
  std::uint64_t members = 1'000'000;
};

/// The directory beside an archive in which a recorder keeps its polls until it packs them: ".NAME.polls".
std::string polls_beside(const std::string& archive);

/// Opens a capture: a directory, a .tar or a .tar.zst, recognized by content and not by name. The capture is at the root of
/// the archive or in its one top directory. The archive is read once in full, to check it, and stays open. Only the selected
/// poll and the previous one are in memory, without files that are not part of a capture (oracle/...). Reading the polls in
/// order costs one more pass, and one more for each poll whose members are apart (tar -r appends).
///
/// An archive that is missing or empty was to be packed by a recorder that was killed: its polls are read where they are.
/// A directory of archives is one capture (time_line.h).
///
/// Rejected with kData:
/// - members that are absolute, have empty or ".." components, or are duplicates
/// - members that are not a file, directory or symbolic link, that are sparse, or that exceed the limits
/// - links that leave their poll's `fs`
/// - truncated archives
///
/// Other errors: system_error; kNotPresent for a .tar.zst if this build has no libzstd; those of ReplayKernelView::open.
Result<std::unique_ptr<ReplayKernelView>> open_capture(const std::string& path, const ArchiveLimits& limits = {});

/// The same without a view, for several views that share one capture.
Result<std::unique_ptr<CaptureFiles>> open_capture_files(const std::string& path, const ArchiveLimits& limits = {});

/// Packs a capture into `fd`, an empty file open for writing. The name `archive_path`, which ends in ".tar" or ".tar.zst",
/// selects the format and names the top directory. Omits unfinished polls (NNNNNN.tmp). The archive is on disk on return.
/// Errors: system_error; kData for another suffix; kNotPresent for .tar.zst if this build has no libzstd; kTimeout once
/// `must_stop`, called before each member, returns true. After an error the file is useless.
Result<void> pack_capture(const CaptureFiles& files, const std::string& archive_path, int fd,
                          const std::function<bool()>& must_stop = {});

}  // namespace memstat
