// SPDX-License-Identifier: BSD-2-Clause
// Operating systems without support: drops nothing and reports that.
#if !defined(__linux__) && !defined(__FreeBSD__)
#include "daemon/privileges/account.h"
#include "daemon/privileges/privileges.h"

namespace memstat {

std::string present_privileges(const std::string& name) { return account_text(name); }

Result<PrivilegeReport> drop_privileges(const PrivilegeOptions& options) {
  PrivilegeReport report;
  if (!options.user.empty())
    report.notes.push_back("user: memstatd cannot change it on this system; the current user stays");
  if (options.sandbox) report.notes.push_back("sandbox: none; memstatd supports none on this operating system");
  if (options.lock_memory) report.notes.push_back("lock_memory: not supported on this system");
  return report;
}

}  // namespace memstat
#endif
