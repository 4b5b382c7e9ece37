// SPDX-License-Identifier: BSD-2-Clause
// What FreeBSD's kernel reports only through system calls: loaded modules, and what mounts of tmpfs hold.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/kernel/kernel_view.h"

namespace memstat {

/// A module with its references, or a mount with its files.
struct NamedAmount {
  std::uint64_t bytes = 0;
  std::uint64_t count = 0;
  std::string name;
};

/// A line "bytes count name" for each module, the kernel included (kldstat(2)).
class ModulesTable final : public TextTableSource {
 public:
  Result<void> open() override { return {}; }
  Result<void> read(Buffer& out) override;
};

/// The same for each mount of tmpfs that this jail sees (getfsstat(2)).
class TmpfsMountsTable final : public TextTableSource {
 public:
  Result<void> open() override { return {}; }
  Result<void> read(Buffer& out) override;
};

/// Skips damaged lines.
std::vector<NamedAmount> parse_amounts(std::string_view text);

}  // namespace memstat
