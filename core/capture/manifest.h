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

/// manifest.yaml: the captured kernel. Unknown keys are ignored.
struct CaptureManifest {
  OperatingSystem os = OperatingSystem::kOther;
  std::string release;          ///< "" if not given.
  std::string machine;          ///< "" if not given.
  std::string byte_order;       ///< "little" or "big"; "" if neither the key nor the machine determines it.
  std::uint64_t page_size = 0;  ///< B; parsing ensures that it is a power of two.
  std::string cpus_present;     ///< "0-3,6"
  std::uint32_t cpu_count = 0;  ///< One more than the highest in cpus_present; parsing ensures that it is at least 1.
  std::uint32_t nodes = 1;      ///< NUMA nodes (Linux) or domains (FreeBSD).
  std::string how;              ///< A description of how the capture was made.
  std::string edits;            ///< Manual edits, for people.
};

/// "little" or "big", for the machine running this program.
std::string_view native_byte_order();

/// Describes the kernel of a view of this machine, for a recording.
CaptureManifest manifest_of(KernelView& view);

/// Errors: kVersion for another format number, and for a FreeBSD capture of the other byte order, since sysctls are recorded
/// in binary. kData with `file` and line for an unknown os, a page_size that is not a power of two, and cpus_present that is
/// missing, malformed or above 16384 CPUs.
Result<CaptureManifest> parse_manifest(std::string_view text, std::string_view file);
std::string format_manifest(const CaptureManifest& manifest);

/// poll.yaml: one poll.
struct PollInfo {
  std::string label;              ///< For people; may be "".
  std::int64_t realtime_ns = 0;   ///< Nanoseconds since 1970 (UTC).
  std::int64_t monotonic_ns = 0;  ///< Monotonic nanoseconds from an unspecified origin.
};

/// Errors: kData with `file` and line. Both times are required.
Result<PollInfo> parse_poll_info(std::string_view text, std::string_view file);
std::string format_poll_info(const PollInfo& info);

/// The location of an entry in a poll: below fs/, sysctl/ or source/. In errors.yaml: the key path, sysctl or source.
enum class PollPlace : std::uint8_t { kFile, kSysctl, kSource };

/// One failed read: `- {path: /proc/x, errno: 13}`, `- {sysctl: kern.x, errno: 1}` or `- {source: x, errno: 1}`, one per
/// line. The errno is the captured system's number. `path` covers reading the file, reading its link and listing it. Quoting
/// follows flat_yaml.h.
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

/// "2026-11-20T15:00:00Z", with up to nine decimals of a second, as nanoseconds since 1970. Years 1970 to 2261.
std::optional<std::int64_t> parse_iso8601_utc(std::string_view text);
std::string format_iso8601_utc(std::int64_t realtime_ns);

}  // namespace memstat
