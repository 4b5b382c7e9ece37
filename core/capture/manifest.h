// SPDX-License-Identifier: BSD-2-Clause
// The three small text files of a capture: manifest.yaml, NNNNNN/poll.yaml and NNNNNN/errors.yaml.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "core/base/result.h"
#include "core/kernel/kernel_view.h"

namespace memstat {

/// What manifest.yaml says of the captured kernel. Unknown keys are ignored. Thread safety: a plain value.
struct CaptureManifest {
  OperatingSystem os = OperatingSystem::kOther;
  std::string release;          ///< "" when not said.
  std::string machine;          ///< "" when not said.
  std::string byte_order;       ///< "little" or "big"; "" when neither it nor the machine says.
  std::uint64_t page_size = 0;  ///< B; a power of two once parsed.
  std::string cpus_present;     ///< "0-3,6"
  std::uint32_t cpu_count = 0;  ///< One more than the highest of cpus_present; at least 1 once parsed.
  std::uint32_t nodes = 1;      ///< Memory nodes (Linux) or domains (FreeBSD).
  std::string how;              ///< What produced the capture, for people.
  std::string edits;            ///< What was changed by hand, for people.
};

/// "little" or "big": of the machine that this program runs on.
std::string_view native_byte_order();

/// Errors: kVersion for another format number, and for a FreeBSD capture of a machine with the other byte order, since
/// sysctls are recorded as they are; kData with `file` and line: an unknown os, page_size that is 0 or no power of two,
/// cpus_present that is absent or malformed or has more than 16384 CPUs.
Result<CaptureManifest> parse_manifest(std::string_view text, std::string_view file);
std::string format_manifest(const CaptureManifest& manifest);

/// What poll.yaml says of one poll.
struct PollInfo {
  std::string label;              ///< For people; may be "".
  std::int64_t realtime_ns = 0;   ///< Nanoseconds since 1970 (UTC).
  std::int64_t monotonic_ns = 0;  ///< Nanoseconds whose zero means nothing.
};

/// Errors: kData with `file` and line; both times must be there.
Result<PollInfo> parse_poll_info(std::string_view text, std::string_view file);
std::string format_poll_info(const PollInfo& info);

/// Where in a poll something stands: below fs/, sysctl/ or source/; in errors.yaml the key path, sysctl or source.
enum class PollPlace : std::uint8_t { kFile, kSysctl, kSource };

/// One read that failed: `- {path: /proc/x, errno: 13}`, `- {sysctl: kern.x, errno: 1}` or `- {source: x, errno: 1}`, a line
/// each. The errno is the captured system's number. `path` covers reading the file, its link and its listing alike; quotes
/// as in flat_yaml.h.
struct RecordedError {
  PollPlace place = PollPlace::kFile;
  std::string name;
  int system_errno = 0;
  friend bool operator==(const RecordedError&, const RecordedError&) = default;
  friend bool operator<(const RecordedError& a, const RecordedError& b) {
    return std::tie(a.place, a.name, a.system_errno) < std::tie(b.place, b.name, b.system_errno);
  }
};

/// Errors: kData with `file` and line.
Result<std::vector<RecordedError>> parse_recorded_errors(std::string_view text, std::string_view file);
std::string format_recorded_errors(const std::vector<RecordedError>& errors);

/// "2026-11-20T15:00:00Z", with up to nine decimals of the second, as nanoseconds since 1970; years 1970 to 2261.
std::optional<std::int64_t> parse_iso8601_utc(std::string_view text);
std::string format_iso8601_utc(std::int64_t realtime_ns);

}  // namespace memstat
