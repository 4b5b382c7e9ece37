// SPDX-License-Identifier: BSD-2-Clause
// How large a replayed capture may be.
#pragma once

#include <cstdint>
#include <optional>

#include "core/base/result.h"

namespace memstat {

/// B unpacked: what --replay-max says, without it the environment variable MEMSTAT_CAPTURE_MAX as for memstatctl, without
/// both kMaxCaptureBytes. Error kData: the variable holds no size. Thread safety: before there are other threads.
Result<std::uint64_t> capture_bound(std::optional<std::uint64_t> flag);

}  // namespace memstat
