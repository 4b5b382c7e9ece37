// SPDX-License-Identifier: BSD-2-Clause
// What opens a crash dump in place of the live kernel: core/kernel/open_view.h finds it by the name `dump`. A dump becomes a
// capture of one poll, so that whatever reads, replays or compares captures does so with dumps.
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <string_view>
#include <utility>

#include "core/base/unique_fd.h"
#include "core/capture/reference.h"
#include "core/capture/replay_view.h"
#include "core/kernel/open_view.h"
#include "core/postmortem/elf_core.h"
#include "core/postmortem/kernel_image.h"
#include "core/postmortem/linux_files.h"

namespace memstat {
namespace {

enum class DumpFormat : std::uint8_t { kNone, kElf, kCompressed };

DumpFormat format_of(const std::string& path) {
  // O_NONBLOCK: a FIFO is no dump, and must not be waited for.
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  std::array<char, 64> bytes;
  const ssize_t got = fd ? ::pread(fd.get(), bytes.data(), bytes.size(), 0) : -1;
  const std::string_view head(bytes.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
  if (postmortem::is_elf_core(head)) return DumpFormat::kElf;
  const bool is_compressed = head.starts_with("KDUMP   ") || head.starts_with("makedumpfile");
  return is_compressed ? DumpFormat::kCompressed : DumpFormat::kNone;
}

/// PATH, or PATH@POLL when only that is there.
CaptureReference parse_dump_reference(const std::string& reference) {
  if (format_of(reference) != DumpFormat::kNone) return {.path = reference, .poll = {}};
  return parse_capture_reference(reference);
}

bool is_dump(const std::string& reference) { return format_of(parse_dump_reference(reference).path) != DumpFormat::kNone; }

Result<OpenedView> open_dump_view(const std::string& reference, const ViewOptions& options) {
  CaptureReference parsed = parse_dump_reference(reference);
  if (!options.takes_poll) parsed = {.path = reference, .poll = {}};
  if (format_of(parsed.path) == DumpFormat::kCompressed) {
    Error error;
    error.code = ErrorCode::kVersion;
    error.path = parsed.path;
    error.detail =
        "is a compressed dump, which this build does not read; make an ELF dump of it: makedumpfile -E, with -R "
        "before when it is in flattened form";
    return error;
  }
  auto memory = postmortem::open_elf_core(parsed.path);
  if (!memory) return std::move(memory.error());
  auto image = postmortem::KernelImage::open(*std::move(memory));
  if (!image) return std::move(image.error());
  std::vector<std::string> notes;
  auto files = postmortem::make_linux_files(**image, notes);
  if (!files) return std::move(files.error());
  auto capture = ReplayKernelView::open(*std::move(files));
  if (!capture) return std::move(capture.error());
  if (auto selected = select_poll(**capture, parsed); !selected) return std::move(selected.error());
  ReplayKernelView* const view = capture->get();
  return OpenedView{.view = *std::move(capture), .capture = view, .notes = std::move(notes)};
}

}  // namespace

namespace view_openers {
extern const ViewOpener dump;  // also declared by the generated table
const ViewOpener dump{.recognizes = is_dump, .open = open_dump_view};
}  // namespace view_openers

}  // namespace memstat
