// SPDX-License-Identifier: BSD-2-Clause
// Privileges on FreeBSD. Reading statistics needs none there (kern.malloc_stats and vm.zone_stats are open to everyone), so
// this is about not staying root. There is no Capsicum: the two sysctls are not marked readable in capability mode, and a
// process in it could not poll them.
#if defined(__FreeBSD__)
#include <sys/types.h>

#include <grp.h>
#include <pwd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "core/base/sanitizer.h"
#include "daemon/privileges.h"

namespace memstat {
namespace {

Error refused(const char* call, int system_errno, const char* advice) {
  Error error = system_error({}, system_errno, std::string(call) + " failed; " + advice);
  error.source = "privileges";
  return error;
}

// Only what is mapped now: there is no MCL_ONFAULT here, so MCL_FUTURE would make every reserved thread stack and every
// allocator chunk resident at once.
void lock_memory(PrivilegeReport& report) {
#if defined(MEMSTAT_SANITIZED)
  report.notes.push_back("lock_memory: not under a sanitizer, whose shadow memory is larger than the machine's");
#else
  const rlimit unlimited{RLIM_INFINITY, RLIM_INFINITY};
  if (geteuid() == 0) (void)setrlimit(RLIMIT_MEMLOCK, &unlimited);  // A refusal shows in mlockall.
  if (mlockall(MCL_CURRENT) != 0) {
    report.notes.push_back(std::string("lock_memory: mlockall failed (") + std::strerror(errno) +
                           "); start as root or raise the limit memorylocked of the login class");
    return;
  }
  report.memory_locked = true;
  report.notes.push_back("lock_memory: only what is mapped at start is locked on this system");
#endif
}

Result<void> change_user(const std::string& user, PrivilegeReport& report) {
  if (user.empty()) {
    report.notes.push_back("user: the key is empty, the present user stays");
    return {};
  }
  if (geteuid() != 0) {
    report.notes.push_back("user: not started as root, so uid " + std::to_string(getuid()) + " stays");
    return {};
  }
  passwd entry{};
  passwd* found = nullptr;
  std::vector<char> text(16384);
  const int status = getpwnam_r(user.c_str(), &entry, text.data(), text.size(), &found);
  if (found == nullptr) {
    return Error{
        .code = ErrorCode::kData,
        .source = "privileges",
        .path = {},
        .system_errno = status,
        .offset = {},
        .detail = "user: there is no account \"" + user + "\"; name an existing one, or \"\" to keep the present user"};
  }
  const char* const advice = "start memstatd with the right to change its user, or set the key user to \"\"";
  // The group list of FreeBSD holds the effective group first.
  if (setgroups(1, &entry.pw_gid) != 0) return refused("setgroups", errno, advice);
  if (setresgid(entry.pw_gid, entry.pw_gid, entry.pw_gid) != 0) return refused("setresgid", errno, advice);
  if (setresuid(entry.pw_uid, entry.pw_uid, entry.pw_uid) != 0) return refused("setresuid", errno, advice);
  if (entry.pw_uid != 0 && seteuid(0) == 0) return refused("giving up root", EPERM, "the kernel let it come back");
  report.user_changed = true;
  return {};
}

}  // namespace

Result<PrivilegeReport> drop_privileges(const PrivilegeOptions& options) {
  PrivilegeReport report;
  if (options.lock_memory) {
    lock_memory(report);
  } else {
    report.notes.push_back("lock_memory: off by configuration");
  }
  if (const Result<void> changed = change_user(options.user, report); !changed) return changed.error();
  report.notes.push_back(options.sandbox ? "sandbox: none on FreeBSD, capability mode refuses the sysctls that are polled"
                                         : "sandbox: off by configuration");
  return report;
}

}  // namespace memstat
#endif
