// SPDX-License-Identifier: BSD-2-Clause
// Data that FreeBSD's kernel reports only through system calls: loaded modules, and the content of tmpfs mounts.
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

/// Adds a holder for each line of a table of this form. Damaged lines are skipped. Errors: those of read_table.
Result<void> add_holders(Inspector& inspector, std::string_view name, TextTableSource& table);

}  // namespace memstat
