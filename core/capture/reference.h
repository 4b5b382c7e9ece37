// SPDX-License-Identifier: BSD-2-Clause
// How users name one poll of a capture: PATH, or PATH@POLL.
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

/// A capture and a poll of it. Thread safety: a plain value.
struct CaptureReference {
  std::string path;
  std::optional<std::size_t> poll;  ///< From 0; none: the last.
};

/// Takes "PATH@POLL" apart. Only digits after the last '@' are a poll; any other '@' belongs to the path.
CaptureReference parse_capture_reference(std::string_view reference);

/// Selects the poll named, or the last. Error: kNotPresent, saying how many polls there are.
Result<void> select_poll(ReplayKernelView& capture, const CaptureReference& reference);

/// What an opener gives back of a capture: its view, at the poll named or the last, and what of it is damaged. Errors: that
/// of `capture`, and those of select_poll.
Result<OpenedView> open_at(Result<std::unique_ptr<ReplayKernelView>> capture, const CaptureReference& reference,
                           std::vector<std::string> notes = {});

/// What the environment variable MEMSTAT_CAPTURE_MAX says of how much of a capture may be unpacked: bytes, or with KiB, MiB
/// or GiB. nullptr or "": kMaxCaptureBytes. Error: kData.
Result<std::uint64_t> parse_capture_bound(const char* text);

}  // namespace memstat
