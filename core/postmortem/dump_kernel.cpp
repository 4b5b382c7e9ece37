// SPDX-License-Identifier: BSD-2-Clause
#include "core/postmortem/dump_kernel.h"

#include <utility>

#include "core/postmortem/container/dump_file.h"
#include "core/postmortem/container/freebsd_minidump.h"
#include "core/postmortem/freebsd/image.h"

namespace memstat::postmortem {
namespace {

/// Tries the kernel files that may belong to a FreeBSD dump.
Result<DumpKernel> open_freebsd_kernel(const DumpFile& dump) {
  using Opened = Result<std::unique_ptr<FreeBsdKernel>>;
  const auto open = [&dump](KernelFile kernel) -> Opened {
    auto file = open_again(dump);
    if (!file) return std::move(file.error());
    const auto with_kernel = [&kernel](auto memory) -> Opened {
      if (!memory) return std::move(memory.error());
      return open_freebsd_image(*std::move(memory), std::move(kernel));
    };
    if (dump.format == DumpFormat::kMinidump) return with_kernel(FreeBsdMinidump::open(*std::move(file)));
    return with_kernel(open_elf_core(*std::move(file)));
  };
  auto kernel = open_with_kernel(dump.file.name(), open);
  if (!kernel) return std::move(kernel.error());
  return DumpKernel(*std::move(kernel));
}

}  // namespace

Result<DumpKernel> open_dump_kernel(const DumpFile& dump) {
  if (dump.format == DumpFormat::kMinidump) return open_freebsd_kernel(dump);
  auto memory = open_dump_memory(dump);
  if (!memory) return std::move(memory.error());
  // Without a kernel file, try Linux: its error names what is missing.
  if ((*memory)->vmcoreinfo().empty() && !kernel_candidates(dump.file.name()).empty()) return open_freebsd_kernel(dump);
  auto image = KernelImage::open(*std::move(memory));
  if (!image) return std::move(image.error());
  return DumpKernel(*std::move(image));
}

}  // namespace memstat::postmortem
