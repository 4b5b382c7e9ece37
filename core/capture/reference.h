// SPDX-License-Identifier: BSD-2-Clause
// References to one poll of a capture: PATH, or PATH@POLL.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/capture/replay_view.h"
#include "core/kernel/open_view.h"

namespace memstat {

/// A capture and one of its polls.
struct CaptureReference {
  std::string path;
  std::optional<std::size_t> poll;  ///< From 0; none: the last poll.
};

/// Parses "PATH@POLL". Only digits after the last '@' are a poll number; any other '@' belongs to the path.
CaptureReference parse_capture_reference(std::string_view reference);

/// Selects the given poll, or the last. Errors: kNotPresent with the number of polls.
Result<void> select_poll(ReplayKernelView& capture, const CaptureReference& reference);

/// The view of a capture at the given poll, or the last, with `notes` on what is damaged. Errors: that of `capture`, and
/// those of select_poll.
Result<OpenedView> open_at(Result<std::unique_ptr<ReplayKernelView>> capture, const CaptureReference& reference,
                           std::vector<std::string> notes = {});

/// Parses the environment variable MEMSTAT_CAPTURE_MAX, the maximum unpacked size of a capture: bytes, or a number with KiB,
/// MiB or GiB. nullptr or "": kMaxCaptureBytes. Errors: kData.
Result<std::uint64_t> parse_capture_bound(const char* text);

}  // namespace memstat
