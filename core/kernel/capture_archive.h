// SPDX-License-Identifier: BSD-2-Clause
// Captures in one file: a .tar or .tar.zst of a capture's folder. A target of its own, because it needs libarchive; without
// it captures are folders and both functions say so.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/base/result.h"
#include "core/kernel/captured.h"

namespace memstat {

/// What an archive may hold, in bytes unpacked; a small file can claim to hold anything.
/// Thread safety: a plain value; both functions below are safe.
struct ArchiveLimits {
  std::uint64_t member_bytes = 1ULL << 30;
  std::uint64_t total_bytes = 4ULL << 30;  ///< Counts members that are no part of the capture as well.
  std::uint64_t members = 1'000'000;
};

/// Opens a capture: a folder, a .tar or a .tar.zst, told apart by what they are and not by their names. An archive is read
/// into memory, without what is no part of a capture (oracle/...); its capture is at its root or in its one top folder.
/// Refused with kData: members that are absolute, have empty or ".." parts, stand twice, are neither file, folder nor
/// symbolic link, are sparse, or go beyond the limits; links that leave their poll's `fs`; archives that are cut short.
/// Other errors: system_error; kNotPresent when this build has no libarchive; those of CapturedKernelView::open.
Result<std::unique_ptr<CapturedKernelView>> open_capture(const std::string& path, const ArchiveLimits& limits = {});

/// Packs the capture in `folder` as `archive_path`, which ends in ".tar" or ".tar.zst": mode 0600, with one top folder,
/// whole or absent (written beside its place and renamed). Unfinished polls (NNNNNN.tmp) stay out. Errors: system_error,
/// kData for another ending, kNotPresent when this build has no libarchive.
Result<void> pack_capture(const std::string& folder, const std::string& archive_path);

}  // namespace memstat
