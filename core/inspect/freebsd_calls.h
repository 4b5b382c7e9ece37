// SPDX-License-Identifier: BSD-2-Clause
// Data that FreeBSD's kernel reports only through system calls: loaded modules, the content of tmpfs mounts, and what
// rctl(8) limits.
#pragma once

#include <string_view>

#include "core/inspect/inspection.h"
#include "core/kernel/kernel_view.h"

namespace memstat {

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

/// A line for each limit of rctl(8) that refuses: what is used of it, and the kernel's text of its rule: "19
/// jail:www:maxproc:deny=20". No line without such limits, or if the kernel does not count (kern.racct.enable). Errors:
/// kPermission for all but root.
class ResourceLimitsTable final : public TextTableSource {
 public:
  Result<void> open() override { return {}; }
  Result<void> read(Buffer& out) override;
};

/// Adds a holder for each line of one of the first two tables. Damaged lines are skipped. Errors: those of read_table.
Result<void> add_holders(Inspector& inspector, std::string_view name, TextTableSource& table);

}  // namespace memstat
