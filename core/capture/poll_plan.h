// SPDX-License-Identifier: BSD-2-Clause
// Turns the reads of one poll into the files of that poll in a capture.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/buffer.h"
#include "core/base/result.h"
#include "core/capture/manifest.h"

namespace memstat {

/// The result of one call of a kernel view.
struct PollRecord {
  enum class Kind : std::uint8_t { kFile, kLink, kListing, kSysctl, kTable, kFileError, kSysctlError, kTableError };
  Kind kind = Kind::kFile;
  std::string name;      ///< The requested path, or the name of the sysctl or source.
  Buffer bytes;          ///< Content, link target, or listed names, each followed by a newline.
  int system_errno = 0;  ///< For the error kinds.
};

/// The kind of a failed read of this kind.
PollRecord::Kind error_kind_of(PollRecord::Kind kind);
/// An errno that replays as the same error code.
int replayed_errno(const Error& error);

/// The files of one poll, by path below its directory. Borrows the records that it was made from.
struct PollPlan {
  std::map<std::string, std::string_view> files;
  std::map<std::string, std::string> links;
  std::set<std::string> empty_directories;  ///< Directories whose content is unknown.
  std::string errors;                       ///< errors.yaml, or "".
  std::string info;                         ///< poll.yaml
};

/// Plans a poll. Later records override earlier ones of the same name, and content overrides errors. Zeroes the kernel
/// addresses in the records. `standing_errors` apply unless the poll's own records override them. Omits what a capture
/// cannot store: unsafe names, links that leave the file system, and ENOENT, which a replay returns anyway.
PollPlan plan_poll(std::span<PollRecord> records, const std::vector<RecordedError>& standing_errors, const PollInfo& info);

}  // namespace memstat
