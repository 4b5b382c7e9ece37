// SPDX-License-Identifier: BSD-2-Clause
// VMCOREINFO: a Linux kernel's own description for readers of its dump, "KEY=VALUE" per line.
//
//   OSRELEASE=6.1.0-35-amd64     PAGESIZE=4096     SYMBOL(swapper_pg_dir)=ffffffff82a10000     NUMBER(phys_base)=0
//   KERNELOFFSET=1e000000        CRASHTIME=1763650800
//
// The keys are described in Documentation/admin-guide/kdump/vmcoreinfo.rst. Addresses are those of the running kernel,
// including KASLR.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace memstat::postmortem {

/// Accepts any bytes. Ignores malformed lines, and all lines after the first kMaxPairs. The first line with a key is
/// used.
class VmCoreInfo {
 public:
  static constexpr std::size_t kMaxPairs = 4096;  // a kernel has about 150

  explicit VmCoreInfo(std::string_view text);

  [[nodiscard]] std::optional<std::string_view> text(std::string_view key) const;
  /// SYMBOL(name): the virtual address of a symbol of the kernel.
  [[nodiscard]] std::optional<std::uint64_t> symbol(std::string_view name) const;
  /// NUMBER(name), decimal or hexadecimal. Negative values wrap, as in the kernel.
  [[nodiscard]] std::optional<std::uint64_t> number(std::string_view name) const;
  /// PAGESIZE; 4096 if missing or not a valid page size.
  [[nodiscard]] std::uint64_t page_bytes() const;

 private:
  std::map<std::string, std::string, std::less<>> pairs_;
};

}  // namespace memstat::postmortem
