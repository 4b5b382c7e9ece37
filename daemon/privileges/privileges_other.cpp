// SPDX-License-Identifier: BSD-2-Clause
// Systems whose privileges we do not know: there is nothing to give up, and the report says so.
#if !defined(__linux__) && !defined(__FreeBSD__)
#include "daemon/privileges/privileges.h"

namespace memstat {

Result<PrivilegeReport> drop_privileges(const PrivilegeOptions& options) {
  PrivilegeReport report;
  if (!options.user.empty())
    report.notes.push_back("user: this system has no support for changing it; the present user stays");
  if (options.sandbox) report.notes.push_back("sandbox: this system has none that memstatd knows");
  if (options.lock_memory) report.notes.push_back("lock_memory: not supported on this system");
  return report;
}

}  // namespace memstat
#endif
