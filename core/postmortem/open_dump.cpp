// SPDX-License-Identifier: BSD-2-Clause
// Opens a crash dump in place of the live kernel. core/kernel/open_view.h finds it by the name `dump`. A dump becomes a
// capture of one poll, so everything that reads, replays or compares captures works with dumps.
#include <utility>

#include "core/capture/reference.h"
#include "core/capture/replay_view.h"
#include "core/kernel/open_view.h"
#include "core/postmortem/container/dump_file.h"
#include "core/postmortem/dump_kernel.h"
#include "core/postmortem/freebsd/files.h"
#include "core/postmortem/freebsd/kvm.h"
#include "core/postmortem/linux/files.h"

namespace memstat {
namespace {

bool is_dump(const std::string& reference) {
  return postmortem::is_dump_file(postmortem::parse_dump_reference(reference).path);
}

Result<std::unique_ptr<MemoryFiles>> make_files(const postmortem::DumpFile& dump, std::vector<std::string>& notes) {
  auto kernel = postmortem::open_dump_kernel(dump);
  if (!kernel) return std::move(kernel.error());
  if (const auto* linux_image = std::get_if<std::unique_ptr<postmortem::KernelImage>>(&*kernel)) {
    return postmortem::make_linux_files(**linux_image, notes);
  }
  return postmortem::make_freebsd_files(*std::get<std::unique_ptr<postmortem::FreeBsdKernel>>(*kernel), notes);
}

Result<OpenedView> open_dump_view(const std::string& reference, const ViewOptions& options) {
  CaptureReference parsed = postmortem::parse_dump_reference(reference);
  if (!options.takes_poll) parsed = {.path = reference, .poll = {}};
  std::vector<std::string> notes;
  const auto dump = postmortem::open_dump_file(parsed.path);
  if (!dump) return dump.error();
  auto files = make_files(*dump, notes);
  if (!files) return std::move(files.error());
  return open_at(ReplayKernelView::open(*std::move(files)), parsed, std::move(notes));
}

}  // namespace

namespace view_openers {
// Also declared by the generated table.
extern const ViewOpener dump{.recognizes = is_dump,
                             .open = open_dump_view,
#ifdef __FreeBSD__
                             .open_kvm = postmortem::open_libkvm
#else
                             .open_kvm = nullptr
#endif
};
}  // namespace view_openers

}  // namespace memstat
