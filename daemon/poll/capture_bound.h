// SPDX-License-Identifier: BSD-2-Clause
// The maximum size of a replayed capture.
#pragma once

#include <cstdint>
#include <optional>

#include "core/base/result.h"

namespace memstat {

/// Maximum unpacked size of a capture, in B: from --replay-max, else from the environment variable MEMSTAT_CAPTURE_MAX
/// (as in memstatctl), else kMaxCaptureBytes. Error kData: the variable is not a size. Thread safety: before there are
/// other threads.
Result<std::uint64_t> capture_bound(std::optional<std::uint64_t> flag);

}  // namespace memstat
