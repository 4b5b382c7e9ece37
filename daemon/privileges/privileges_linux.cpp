// SPDX-License-Identifier: BSD-2-Clause
// Privileges on Linux: memory, user, capabilities, no_new_privs, Landlock, seccomp, in this order, because each step
// needs what a later one removes. Kernel interfaces that the oldest supported headers lack are declared here by number.
#if defined(__linux__)
#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <optional>
#include <utility>

#include "core/base/sanitizer.h"
#include "core/base/unique_fd.h"
#include "core/kernel/open_directory.h"
#include "daemon/privileges/account.h"
#include "daemon/privileges/capabilities_linux.h"

namespace memstat {
namespace {

#if defined(MEMSTAT_SANITIZED)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

std::string errno_text(int system_errno) { return std::string(std::strerror(system_errno)); }

Error wrong(const std::string& detail, int system_errno = 0) {
  return make_error(ErrorCode::kData, "privileges", detail, system_errno);
}

// Number of threads; 0 if /proc does not report it.
unsigned list_threads() {
  const OpenDirectory directory(::opendir("/proc/self/task"));
  if (!directory) return 0;
  unsigned count = 0;
  while (const dirent* const entry = ::readdir(directory.get())) count += entry->d_name[0] != '.';
  return count;
}

// A joined thread, such as the one that read the configuration, may be listed for a moment longer.
unsigned count_threads() {
  constexpr int kLooks = 200;
  constexpr timespec kBetweenLooks{.tv_sec = 0, .tv_nsec = 1'000'000};
  unsigned count = list_threads();
  for (int look = 0; count > 1 && look < kLooks; ++look) {
    nanosleep(&kBetweenLooks, nullptr);
    count = list_threads();
  }
  return count;
}

// ---- memory ------------------------------------------------------------------------------------------------------------

constexpr rlim_t kMinFiniteLimitBytes = rlim_t{64} << 20;
constexpr rlim_t kHeadroomBytes = rlim_t{16} << 20;  // more than the main thread's stack can grow (8 MiB)

rlim_t address_space_bytes() {
  unsigned long long pages = 0;
  std::FILE* const file = std::fopen("/proc/self/statm", "re");
  if (file == nullptr) return RLIM_INFINITY;
  const int got = std::fscanf(file, "%llu", &pages);
  std::fclose(file);
  return got == 1 ? static_cast<rlim_t>(pages) * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) : RLIM_INFINITY;
}

// MCL_ONFAULT keeps untouched pages out of memory, but the limit counts address space, touched or not. So:
// - no limit (root removes it): lock everything, now and later;
// - a finite limit: lock only current mappings. With MCL_FUTURE, each thread stack and allocator arena (64 MiB of reserved
//   address space for one thread) would count in full, and at the limit mmap(), hence malloc(), would fail. A monitor that
//   swaps is better than one that dies. The headroom is for growth of the main stack and heap.
void lock_memory(PrivilegeReport& report) {
  if (kSanitized) {
    report.notes.emplace_back("lock_memory: off under a sanitizer, whose shadow memory is larger than the machine's");
    return;
  }
  const rlimit unlimited{RLIM_INFINITY, RLIM_INFINITY};
  rlimit limit{};
  if (setrlimit(RLIMIT_MEMLOCK, &unlimited) == 0) {  // needs CAP_SYS_RESOURCE unless there was no limit anyway
    limit = unlimited;
  } else if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0) {
    limit.rlim_cur = 0;
  }
  const bool infinite = limit.rlim_cur == RLIM_INFINITY;
  const rlim_t used = address_space_bytes();
  if (!infinite && (limit.rlim_cur < kMinFiniteLimitBytes || used > limit.rlim_cur - kHeadroomBytes)) {
    const std::string have = std::to_string(limit.rlim_cur / 1024) + " KiB";
    report.notes.push_back("lock_memory: the limit RLIMIT_MEMLOCK of " + have +
                           " is too small; raise it (systemd: LimitMEMLOCK=infinity; root needs CAP_SYS_RESOURCE for it)");
    return;
  }
  if (mlockall(MCL_CURRENT | MCL_ONFAULT | (infinite ? MCL_FUTURE : 0)) != 0) {
    report.notes.push_back("lock_memory: mlockall failed (" + errno_text(errno) + "); memory may be swapped out");
    return;
  }
  report.memory_locked = true;
  if (!infinite) {
    report.notes.emplace_back(
        "lock_memory: RLIMIT_MEMLOCK is finite, so only memory mapped at start is locked; systemd: LimitMEMLOCK=infinity");
  }
}

// ---- Landlock ----------------------------------------------------------------------------------------------------------

constexpr long kSysLandlockCreateRuleset = 444;
constexpr long kSysLandlockAddRule = 445;
constexpr long kSysLandlockRestrictSelf = 446;
constexpr std::uint32_t kLandlockVersionQuery = 1;
constexpr int kLandlockRulePathBeneath = 1;

struct LandlockRulesetAttr {
  std::uint64_t handled_access_fs = 0;
  std::uint64_t handled_access_net = 0;  // ABI 4
  std::uint64_t scoped = 0;              // ABI 6
};
struct __attribute__((packed)) LandlockPathBeneathAttr {
  std::uint64_t allowed_access = 0;
  std::int32_t parent_fd = -1;
};

enum LandlockAccess : std::uint64_t {
  kWriteFile = 1U << 1,
  kReadFile = 1U << 2,
  kReadDir = 1U << 3,
  kRemoveDir = 1U << 4,
  kRemoveFile = 1U << 5,
  kMakeDir = 1U << 7,
  kMakeReg = 1U << 8,
  kMakeSym = 1U << 12,
  kAllOfAbi1 = (1U << 13) - 1,
  kRefer = 1U << 13,     // ABI 2
  kTruncate = 1U << 14,  // ABI 3
  kIoctlDev = 1U << 15,  // ABI 5
  kForFiles = kWriteFile | kReadFile | kTruncate,
};
constexpr std::uint64_t kNetBindTcp = 1U << 0;
constexpr std::uint64_t kNetConnectTcp = 1U << 1;
constexpr std::uint64_t kScopeAbstractUnixAndSignals = 3;

/// Whether a path can get another inode: fs/proc/inode.c, proc_get_inode(), and proc_sysctl.c, proc_sys_make_inode(), make a
/// new one at each lookup that finds no dentry. Other file systems find theirs again while Landlock holds it.
bool may_change_inode(int path) {
  struct statfs system {};
  return fstatfs(path, &system) == 0 && system.f_type == PROC_SUPER_MAGIC;
}

void allow_path(int ruleset, const std::string& path, std::uint64_t access, PrivilegeReport& report) {
  UniqueFd target(open(path.c_str(), O_PATH | O_CLOEXEC));
  struct stat status {};
  if (target.get() < 0 || fstat(target.get(), &status) != 0) {
    report.notes.push_back("sandbox: " + path + ": not accessible from now on (" + errno_text(errno) + ")");
    return;
  }
  if (!S_ISDIR(status.st_mode)) access &= kForFiles;  // the kernel rejects directory rights for a file
  const LandlockPathBeneathAttr rule{.allowed_access = access, .parent_fd = target.get()};
  if (syscall(kSysLandlockAddRule, ruleset, kLandlockRulePathBeneath, &rule, 0) != 0) {
    report.notes.push_back("sandbox: " + path + ": not accessible from now on (Landlock: " + errno_text(errno) + ")");
  }
  if (may_change_inode(target.get())) report.pinned_paths.push_back(std::move(target));
}

// Prepared as root, so that paths below private directories can be named. It takes effect in landlock_restrict_self.
std::optional<UniqueFd> prepare_landlock(const PrivilegeOptions& options, PrivilegeReport& report) {
  const long abi = syscall(kSysLandlockCreateRuleset, nullptr, 0, kLandlockVersionQuery);
  if (abi < 1) {
    report.notes.push_back("sandbox: no Landlock on this kernel (" + errno_text(errno) +
                           "); only file permissions restrict access");
    return std::nullopt;
  }
  LandlockRulesetAttr attributes;
  attributes.handled_access_fs = kAllOfAbi1;
  if (abi >= 2) attributes.handled_access_fs |= kRefer;
  if (abi >= 3) attributes.handled_access_fs |= kTruncate;
  if (abi >= 4) attributes.handled_access_net = kNetBindTcp | kNetConnectTcp;
  if (abi >= 5) attributes.handled_access_fs |= kIoctlDev;
  if (abi >= 6) attributes.scoped = kScopeAbstractUnixAndSignals;
  UniqueFd ruleset(static_cast<int>(syscall(kSysLandlockCreateRuleset, &attributes, sizeof attributes, 0)));
  if (ruleset.get() < 0) {
    report.notes.push_back("sandbox: Landlock refused its rules (" + errno_text(errno) + ")");
    return std::nullopt;
  }
  const std::uint64_t read = kReadFile | kReadDir;
  const std::uint64_t write = read | kWriteFile | kRemoveDir | kRemoveFile | kMakeDir | kMakeReg | kMakeSym |
                              (attributes.handled_access_fs & (kRefer | kTruncate));
  for (const std::string& path : options.readable_paths) allow_path(ruleset.get(), path, read, report);
  for (const std::string& path : options.writable_paths) allow_path(ruleset.get(), path, write, report);
  return ruleset;
}

/// Enables no_new_privs, the Landlock `ruleset` and the system call filter.
Result<void> enter_sandbox(const std::optional<UniqueFd>& ruleset, SystemCalls calls, PrivilegeReport& report) {
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0) {
    report.no_new_privileges = true;
  } else {
    report.notes.push_back("sandbox: no_new_privs was refused (" + errno_text(errno) + ")");
  }
  if (kSanitized) {
    report.notes.emplace_back("sandbox: neither Landlock nor seccomp under a sanitizer, whose runtime they would break");
    return {};
  }
  if (ruleset) {
    if (syscall(kSysLandlockRestrictSelf, ruleset->get(), 0) == 0) {
      report.landlock = true;
    } else {
      report.notes.push_back("sandbox: Landlock could not be enabled (" + errno_text(errno) + ")");
    }
  }
  return enter_seccomp(calls, report);
}

}  // namespace

std::string present_privileges(const std::string& name) {
  const Result<std::uint64_t> capabilities = permitted_capabilities();
  return account_text(name) + (capabilities ? " " + capabilities_text(*capabilities) : std::string());
}

Result<PrivilegeReport> drop_privileges(const PrivilegeOptions& options) {
  PrivilegeReport report;
  // A sanitizer's runtime may have a thread of its own, which never touches the program's data.
  if (const unsigned threads = count_threads(); threads > 1 && !kSanitized) {
    return wrong("privileges must be dropped before threads start, but there are " + std::to_string(threads) +
                 "; the others would keep them");
  }

  const auto kept = capabilities_of(options.kept_capabilities);
  if (!kept) return wrong("one of the capabilities to keep is unknown");
  const auto account = account_to_become(options.user, report);
  if (!account) return account.error();
  if (options.lock_memory) {
    lock_memory(report);
  } else {
    report.notes.emplace_back("lock_memory: off by configuration");
  }
  tzset();  // the log's local time needs /etc/localtime, which will be inaccessible; it is read once
  const bool restricts_paths = options.sandbox && options.restricts_paths && !kSanitized;
  const std::optional<UniqueFd> ruleset = restricts_paths ? prepare_landlock(options, report) : std::nullopt;

  empty_bounding_set(report);
  if (*kept != 0) prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0);  // across the change of the user
  if (const Result<void> changed = change_user(*account, report); !changed) return changed.error();
  if (const Result<void> cleared = keep_capabilities(*kept); !cleared) return cleared.error();
  if (geteuid() == 0) {
    report.notes.emplace_back(
        "user: still uid 0, which owns the kernel's files even without capabilities; set the key user");
  }
  // After a change of user a process cannot be traced, not even by its own leak checker.
  if (kSanitized) (void)prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);

  if (!options.sandbox) {
    report.notes.emplace_back("sandbox: off by configuration");
    return report;
  }
  if (Result<void> entered = enter_sandbox(ruleset, options.system_calls, report); !entered) return entered.error();
  return report;
}

}  // namespace memstat
#endif
