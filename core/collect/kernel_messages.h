// SPDX-License-Identifier: BSD-2-Clause
// The records of Linux's log, from /dev/kmsg, one a read (Documentation/ABI/testing/dev-kmsg).
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "core/base/result.h"
#include "core/base/unique_fd.h"

namespace memstat {

/// Thread safety: none; one reader.
class KernelMessages {
 public:
  static constexpr std::string_view kPath = "/dev/kmsg";

  /// From the oldest record on that the kernel still has. Errors: kPermission also where the file is hidden, as a container
  /// or a service manager does.
  Result<void> open();
  /// The next record; "" when there is none now. Lives until the next call. Never waits. Opens the file if that failed.
  Result<std::string_view> next();

 private:
  UniqueFd file_;
  std::array<char, 8192> record_;  // the kernel's longest (CONSOLE_EXT_LOG_MAX)
};

}  // namespace memstat
