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
#include "core/postmortem/flattened.h"
#include "core/postmortem/kdump_file.h"
#include "core/postmortem/kernel_image.h"
#include "core/postmortem/linux_files.h"

namespace memstat {
namespace {

enum class DumpFormat : std::uint8_t { kNone, kElf, kCompressed, kFlattened };

DumpFormat format_of(int file) {
  std::array<char, 64> bytes;
  const ssize_t got = file >= 0 ? ::pread(file, bytes.data(), bytes.size(), 0) : -1;
  const std::string_view head(bytes.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
  if (postmortem::is_elf_core(head)) return DumpFormat::kElf;
  if (postmortem::is_kdump_file(head)) return DumpFormat::kCompressed;
  return postmortem::is_flattened(head) ? DumpFormat::kFlattened : DumpFormat::kNone;
}

DumpFormat format_of(const std::string& path) {
  // O_NONBLOCK: a FIFO is no dump, and must not be waited for.
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  return format_of(fd ? fd.get() : -1);
}

/// PATH, or PATH@POLL when only that is there.
CaptureReference parse_dump_reference(const std::string& reference) {
  if (format_of(reference) != DumpFormat::kNone) return {.path = reference, .poll = {}};
  return parse_capture_reference(reference);
}

bool is_dump(const std::string& reference) { return format_of(parse_dump_reference(reference).path) != DumpFormat::kNone; }

/// The memory in a dump of any format; a line in `notes` when the flattened form of one is cut short.
Result<std::unique_ptr<postmortem::PhysicalMemory>> open_memory(const std::string& path, std::vector<std::string>& notes) {
  auto file = postmortem::BlockFile::open(path);
  if (!file) return std::move(file.error());
  DumpFormat format = format_of(file->descriptor());
  if (format == DumpFormat::kFlattened) {
    auto inner = postmortem::unflatten(*file);
    if (!inner) return std::move(inner.error());
    if (!inner->damage.empty()) notes.push_back("the file: " + inner->damage);
    file = postmortem::BlockFile::adopt(path, std::move(inner->file));
    if (!file) return std::move(file.error());
    format = format_of(file->descriptor());
  }
  if (format == DumpFormat::kCompressed) return postmortem::open_kdump_file(*std::move(file));
  return postmortem::open_elf_core(*std::move(file));
}

Result<OpenedView> open_dump_view(const std::string& reference, const ViewOptions& options) {
  CaptureReference parsed = parse_dump_reference(reference);
  if (!options.takes_poll) parsed = {.path = reference, .poll = {}};
  std::vector<std::string> notes;
  auto memory = open_memory(parsed.path, notes);
  if (!memory) return std::move(memory.error());
  auto image = postmortem::KernelImage::open(*std::move(memory));
  if (!image) return std::move(image.error());
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
