// SPDX-License-Identifier: BSD-2-Clause
// What the kernel logged before it stopped, as pstore kept it (Documentation/ABI/testing/pstore).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace memstat {

/// The log of a boot that ended with a panic or a reset.
struct PreviousBoot {
  std::string headline;          ///< with the panic's line, or the last one
  std::int64_t realtime_ns = 0;  ///< when it was stored, since 1970
  std::int64_t uptime_ns = 0;    ///< of its last line with a time; 0: none has
  std::string log;               ///< its events, as core/model/kernel_log.h describes the table
};

/// Reads the lines. Nothing if no line is one of a kernel. Skips what is not.
std::optional<PreviousBoot> read_previous_log(std::string_view text);

/// Where pstore has them, and where systemd-pstore(8) moves them to.
inline constexpr std::string_view kPreviousLogs[] = {"/sys/fs/pstore", "/var/lib/systemd/pstore"};

/// The newest one in or below these directories; nothing: there is none that can be read. Needs root.
std::optional<PreviousBoot> find_previous_boot(std::span<const std::string_view> directories = kPreviousLogs);

}  // namespace memstat
