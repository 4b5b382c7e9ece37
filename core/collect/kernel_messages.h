// SPDX-License-Identifier: BSD-2-Clause
// The records of Linux's log, read one at a time from /dev/kmsg (Documentation/ABI/testing/dev-kmsg).
#pragma once

#include <array>
#include <string_view>

#include "core/base/result.h"
#include "core/base/unique_fd.h"

namespace memstat {

/// Reads the kernel's log. Thread safety: none; one reader.
class KernelMessages {
 public:
  static constexpr std::string_view kPath = "/dev/kmsg";

  /// Starts at the oldest record in the kernel. Error: kPermission also if a container or service manager hides the
  /// file.
  Result<void> open();
  /// The next record; "" if there is none yet. Valid until the next call. Does not block. Opens the file if open()
  /// failed.
  Result<std::string_view> next();

 private:
  UniqueFd file_;
  std::array<char, 8192> record_;  // the kernel's maximum (CONSOLE_EXT_LOG_MAX)
};

}  // namespace memstat
