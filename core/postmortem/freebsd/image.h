// SPDX-License-Identifier: BSD-2-Clause
// A FreeBSD kernel that stopped: its virtual memory out of the dump, its symbols and types out of its own file.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/postmortem/container/address_space.h"
#include "core/postmortem/container/freebsd_minidump.h"
#include "core/postmortem/container/physical_memory.h"
#include "core/postmortem/kernel/kernel_file.h"
#include "core/postmortem/kernel/kernel_memory.h"

namespace memstat::postmortem {

/// What the walks over a FreeBSD kernel's lists need, wherever its memory is read from: a dump, or libkvm.
/// Thread safety: none; one thread at a time.
class FreeBsdKernel : public KernelMemory {
 public:
  /// What people call it: the path of the dump.
  [[nodiscard]] virtual const std::string& name() const = 0;
  [[nodiscard]] const KernelFile& file() const { return file_; }
  [[nodiscard]] const Btf& types() const override { return file_.types(); }
  /// Nanoseconds since 1970, when the kernel does not say itself.
  [[nodiscard]] virtual std::int64_t changed_ns() const = 0;
  /// B in a page; 4096 but on some arm64.
  [[nodiscard]] virtual std::uint64_t page_bytes() const { return 4096; }
  /// What of the whole kernel is missing, for people; "" as a rule.
  [[nodiscard]] virtual std::string damage() const { return {}; }

  /// The variable of that name. Errors: kKvmNoSymbol, those of read.
  template <typename Number>
  Result<Number> read_variable(std::string_view name) {
    const auto symbol = file_.symbol(name);
    if (!symbol) return symbol.error();
    return read_number<Number>(symbol->address);
  }
  /// Nothing when the kernel's own `version` is what the file says. Errors: kVersion with both, those of read.
  Result<void> check_version();

 protected:
  explicit FreeBsdKernel(KernelFile file) : file_(std::move(file)) {}

 private:
  KernelFile file_;
};

/// Symbols that anything here asks for, for KernelFile::open.
std::span<const std::string_view> symbols_of_freebsd();

/// A minidump. Errors: kVersion when the file is another machine's kernel or of another build than the dump's.
Result<std::unique_ptr<FreeBsdKernel>> open_freebsd_image(std::unique_ptr<FreeBsdMinidump> dump, KernelFile file);

/// A dump of all memory: its page tables are found by KPML4phys and KPML5phys, of arm64 by pagetable_l0_ttbr1, wherever the
/// loader put the kernel. Errors: the same, kKvmShortRead when they are not found.
Result<std::unique_ptr<FreeBsdKernel>> open_freebsd_image(std::unique_ptr<PhysicalMemory> dump, KernelFile file);

}  // namespace memstat::postmortem
