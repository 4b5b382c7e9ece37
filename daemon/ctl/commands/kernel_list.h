// SPDX-License-Identifier: BSD-2-Clause
// A C API list, for reports that imitate FreeBSD's tools or need what only the C API has.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/include/memstat.h"
#include "daemon/ctl/commands/options.h"
#include "daemon/ctl/output/report_table.h"

namespace memstat::ctl {

/// A C API list for a command. Throws std::bad_alloc.
class KernelList {
 public:
  KernelList();

  [[nodiscard]] memory_type_list* get() const { return list_.get(); }
  /// Selects the source of --from. Returns false if it cannot be read.
  [[nodiscard]] bool reads(const CommandLine& options) const;
  /// Why the last call failed. `wanted` is appended if the kernel lacks what was requested; "": nothing is appended.
  [[nodiscard]] Report failure(const std::string& wanted = {}) const;
  /// Damage in the capture, one line each.
  [[nodiscard]] std::vector<std::string> notes() const;

 private:
  std::unique_ptr<memory_type_list, decltype(&memstat_mtl_free)> list_;
};

/// Advice if a command for FreeBSD kernels has none to read.
std::string only_freebsd(const CommandLine& options);

}  // namespace memstat::ctl
