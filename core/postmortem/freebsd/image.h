// SPDX-License-Identifier: BSD-2-Clause
// A crashed FreeBSD kernel: virtual memory from the dump, symbols and types from the kernel file, which is looked for.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/postmortem/container/address_space.h"
#include "core/postmortem/container/freebsd_minidump.h"
#include "core/postmortem/container/physical_memory.h"
#include "core/postmortem/kernel/kernel_file.h"
#include "core/postmortem/kernel/kernel_memory.h"

namespace memstat::postmortem {

/// A FreeBSD kernel for the walks over its lists, in a dump or through libkvm.
class FreeBsdKernel : public KernelMemory {
 public:
  /// The path of the dump, for messages.
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const KernelFile& file() const { return file_; }
  [[nodiscard]] const Btf& types() const override { return file_.types(); }
  /// The dump's modification time in ns since 1970, if the kernel has no time.
  [[nodiscard]] std::int64_t changed_ns() const { return changed_ns_; }
  /// Page size in bytes; 4096 except on some arm64.
  [[nodiscard]] std::uint64_t page_bytes() const { return page_bytes_; }
  /// Parts missing from the kernel as a whole, for display; usually "".
  [[nodiscard]] const std::string& damage() const { return damage_; }
  /// Reads a global variable. Errors: kKvmNoSymbol, those of read().
  template <typename Number>
  Result<Number> read_variable(std::string_view name) {
    const auto symbol = file_.symbol(name);
    if (!symbol) return symbol.error();
    return read_number<Number>(symbol->address);
  }
  /// Checks that the kernel's `version` matches the file's. Errors: kVersion with both, those of read().
  Result<void> check_version();

 protected:
  FreeBsdKernel(KernelFile file, std::string name) : file_(std::move(file)), name_(std::move(name)) {}
  FreeBsdKernel(KernelFile file, const PhysicalMemory& dump) : FreeBsdKernel(std::move(file), dump.name()) {
    changed_ns_ = dump.changed_ns();
    damage_ = dump.damage();
  }

  std::uint64_t page_bytes_ = 4096;

 private:
  KernelFile file_;
  std::string name_;
  std::int64_t changed_ns_ = 0;
  std::string damage_;
};

/// All symbols that any reader here needs, for KernelFile::open.
std::span<const std::string_view> symbols_of_freebsd();

/// Opens a minidump. Errors: kVersion if the file is a kernel for another machine, or not the dump's build.
Result<std::unique_ptr<FreeBsdKernel>> open_freebsd_image(std::unique_ptr<FreeBsdMinidump> dump, KernelFile file);

/// Opens a full memory dump. Finds its page tables by KPML4phys and KPML5phys, on arm64 by pagetable_l0_ttbr1, wherever
/// the loader has put the kernel. Errors: same; kKvmShortRead if they are not found.
Result<std::unique_ptr<FreeBsdKernel>> open_freebsd_image(std::unique_ptr<PhysicalMemory> dump, KernelFile file);

/// Possible kernel files of a dump, in the order in which they are tried. If MEMSTAT_KERNEL is set in the environment:
/// only that. Otherwise: next to the dump, kernel.3 (for vmcore.3 or vmcore.3.zst), then kernel; on FreeBSD also the
/// running kernel, then all below /boot. Only existing files. `dump` may be "" if there is no dump file.
std::vector<std::string> kernel_candidates(const std::string& dump);

/// Opens the dump with the first candidate that is its kernel. `open` tries one. Errors: kNotPresent with advice if
/// there are no candidates; otherwise the first candidate's.
Result<std::unique_ptr<FreeBsdKernel>> open_with_kernel(
    const std::string& dump, const std::function<Result<std::unique_ptr<FreeBsdKernel>>(KernelFile)>& open);

}  // namespace memstat::postmortem
