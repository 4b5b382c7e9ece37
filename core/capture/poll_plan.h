// SPDX-License-Identifier: BSD-2-Clause
// From what a poll's reads returned to the files of the poll in a capture.
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
#include "core/capture/manifest.h"

namespace memstat {

/// What one call of a kernel view returned. Thread safety: a plain value.
struct PollRecord {
  enum class Kind : std::uint8_t { kFile, kLink, kListing, kSysctl, kTable, kFileError, kSysctlError, kTableError };
  Kind kind = Kind::kFile;
  std::string name;      ///< Path, or name of the sysctl or source, as asked.
  Buffer bytes;          ///< Content, the link's target, or the listed names each followed by a newline.
  int system_errno = 0;  ///< Of the errors.
};

/// The files of one poll, by their path below its directory. Holds views into the records that it was made from.
/// Thread safety: a plain value.
struct PollPlan {
  std::map<std::string, std::string_view> files;
  std::map<std::string, std::string> links;
  std::set<std::string> empty_directories;  ///< With nothing known of what is in them.
  std::string errors;                       ///< errors.yaml; "": none.
  std::string info;                         ///< poll.yaml
  std::uint64_t bytes = 0;                  ///< On the disk, all together; see disk_bytes.
};

/// Plans a poll. Later records win over earlier ones of the same name, content over errors. Zeroes the kernel addresses in
/// the records. `standing_errors` are failures that hold unless the poll's own records know better. Leaves out what a
/// capture cannot hold: unsafe names, links that leave the file system, and ENOENT, which a replay gives anyway.
PollPlan plan_poll(std::span<PollRecord> records, const std::vector<RecordedError>& standing_errors, const PollInfo& info);

/// Sets each kernel address in a text to zeros: runs of exactly 16 hexadecimal digits that begin with ffff, with or without
/// 0x before them. The length does not change. A text has no NUL but at its end; anything else stays as it is.
void zero_kernel_addresses(char* bytes, std::size_t size);

}  // namespace memstat
