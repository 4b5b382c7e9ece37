// SPDX-License-Identifier: BSD-2-Clause
// Opens a capture instead of the live kernel. core/kernel/open_view.h finds it by the name `capture`.
#include <sys/stat.h>

#include "core/capture/archive.h"
#include "core/capture/reference.h"
#include "core/kernel/open_view.h"

namespace memstat {
namespace {

bool is_directory(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

/// Any path may name a capture; opening it reports what is wrong.
bool takes_anything(const std::string& /*reference*/) { return true; }

Result<OpenedView> open_capture_view(const std::string& reference, const ViewOptions& options) {
  CaptureReference parsed{.path = reference, .poll = 0};
  if (options.takes_poll) parsed = parse_capture_reference(reference);
  // An archive stays open and is read from the descriptor; the files of a directory are opened one by one.
  return open_at(options.load_now && is_directory(parsed.path)
                     ? load_capture_directory(parsed.path, options.max_bytes)
                     : open_capture(parsed.path, {.member_bytes = options.max_bytes, .total_bytes = options.max_bytes}),
                 parsed);
}

}  // namespace

namespace view_openers {
// Also declared by the generated table.
extern const ViewOpener capture{.recognizes = takes_anything, .open = open_capture_view};
}  // namespace view_openers

}  // namespace memstat
