// SPDX-License-Identifier: BSD-2-Clause
#include "core/capture/reference.h"

#include <utility>

#include "core/base/byte_size.h"
#include "core/base/text.h"

namespace memstat {

CaptureReference parse_capture_reference(std::string_view reference) {
  CaptureReference parsed{.path = std::string(reference), .poll = std::nullopt};
  const std::size_t at = reference.rfind('@');
  if (at == std::string_view::npos || at == 0) return parsed;
  parsed.poll = parse_u64(reference.substr(at + 1));
  if (parsed.poll) parsed.path.resize(at);
  return parsed;
}

Result<void> select_poll(ReplayKernelView& capture, const CaptureReference& reference) {
  if (!reference.poll) return capture.select_poll(capture.poll_count() - 1);
  if (*reference.poll < capture.poll_count()) return capture.select_poll(*reference.poll);
  return make_error(
      ErrorCode::kNotPresent, reference.path,
      "has no poll " + std::to_string(*reference.poll) + "; its polls are 0 to " + std::to_string(capture.poll_count() - 1));
}

Result<OpenedView> open_at(Result<std::unique_ptr<ReplayKernelView>> capture, const CaptureReference& reference,
                           std::vector<std::string> notes) {
  if (!capture) return std::move(capture.error());
  if (auto selected = select_poll(**capture, reference); !selected) return std::move(selected.error());
  ReplayKernelView* const view = capture->get();
  for (std::string& note : view->notes()) notes.push_back(std::move(note));
  return OpenedView{.view = *std::move(capture), .capture = view, .notes = std::move(notes)};
}

Result<std::uint64_t> parse_capture_bound(const char* text) {
  if (text == nullptr || *text == '\0') return kMaxCaptureBytes;
  const auto bytes = parse_byte_size(text);
  if (!bytes || *bytes == 0) {
    return make_error(ErrorCode::kData, "MEMSTAT_CAPTURE_MAX", "is not a size; write one such as 4GiB");
  }
  return *bytes;
}

}  // namespace memstat
