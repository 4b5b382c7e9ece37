// SPDX-License-Identifier: BSD-2-Clause
// Privileges on FreeBSD. Reading statistics needs none there (kern.malloc_stats and vm.zone_stats are world-readable),
// so this is about not staying root, and about capability mode. The sysctls are not readable in that mode, so another
// process, forked before, reads them (daemon/process/helpers.h); without it, the daemon does not enter the mode.
// Compiled for FreeBSD 13 to 15, and run in capability mode on 15.0 (amd64, November 2026).
#if defined(__FreeBSD__)

#include <link.h>
#include <sys/capsicum.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "core/base/sanitizer.h"
#include "daemon/privileges/account.h"

namespace memstat {
namespace {

#if !defined(MEMSTAT_SANITIZED)
// Libraries that are used only at the start or in a replay, if at all: civetweb links OpenSSL's, which nothing here
// uses. They are most of what mlockall() would keep in memory.
constexpr std::array<std::string_view, 4> kNotLocked = {"libcrypto.", "libssl.", "libyaml-cpp", "libzstd."};

bool is_locked(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);  // "" is the program itself
  return std::none_of(kNotLocked.begin(), kNotLocked.end(),
                      [name](std::string_view other) { return name.starts_with(other); });
}

/// Locks the segments of one loaded object. On failure stores the errno in `failure`, and returns non-zero to stop.
int lock_object(dl_phdr_info* object, std::size_t, void* failure) {
  if (!is_locked(object->dlpi_name == nullptr ? "" : object->dlpi_name)) return 0;
  for (std::size_t i = 0; i < object->dlpi_phnum; ++i) {
    const auto& segment = object->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || segment.p_memsz == 0) continue;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the loader reports an integer
    if (mlock(reinterpret_cast<const void*>(object->dlpi_addr + segment.p_vaddr), segment.p_memsz) != 0) {
      *static_cast<int*>(failure) = errno;
      return 1;
    }
  }
  return 0;
}
#endif

// Locks code and data of the program and of the libraries that polls and scrapes run: under memory pressure the kernel
// evicts code first, and each page would have to be read from disk again. Not mlockall(): FreeBSD has no MCL_ONFAULT,
// so it would load everything that is mapped, used or not (16 MB), and with MCL_FUTURE every reserved thread stack and
// allocator chunk.
void lock_memory(PrivilegeReport& report) {
#if defined(MEMSTAT_SANITIZED)
  report.notes.push_back("lock_memory: off under a sanitizer, whose shadow memory is larger than the machine's");
#else
  const rlimit unlimited{RLIM_INFINITY, RLIM_INFINITY};
  if (geteuid() == 0) (void)setrlimit(RLIMIT_MEMLOCK, &unlimited);  // a failure shows in mlock()
  int failure = 0;
  dl_iterate_phdr(lock_object, &failure);
  if (failure != 0) {
    munlockall();
    report.notes.push_back(std::string("lock_memory: mlock failed (") + std::strerror(failure) +
                           "); start as root or raise the limit memorylocked of the login class");
    return;
  }
  report.memory_locked = true;
  report.notes.push_back("lock_memory: the code and data of memstatd and of its libraries are locked");
#endif
}

Result<void> enter_capability_mode(const PrivilegeOptions& options, PrivilegeReport& report) {
  if (!options.sandbox) {
    report.notes.push_back("sandbox: off by configuration");
    return {};
  }
#if defined(MEMSTAT_SANITIZED)
  report.notes.push_back("sandbox: off under a sanitizer, which opens files");
  return {};
#endif
  if (options.reads_kernel) {
    report.notes.push_back("sandbox: none; memstatd reads the kernel itself, which capability mode refuses");
    return {};
  }
  tzset();  // the log's local time needs /etc/localtime, which will be inaccessible; it is read once
  if (cap_enter() != 0) {
    if (errno != ENOSYS) return privilege_refused("cap_enter failed", errno, "set the key sandbox to false to go without");
    report.notes.push_back("sandbox: none; this kernel has no capability mode (options CAPABILITY_MODE)");
    return {};
  }
  report.notes.push_back("sandbox: capability mode" +
                         (options.reader != 0 ? "; process " + std::to_string(options.reader) + " reads for it" : ""));
  return {};
}

}  // namespace

std::string present_privileges(const std::string& name) {
  return account_text(name) + (cap_sandboxed() ? " in capability mode" : "");
}

Result<PrivilegeReport> drop_privileges(const PrivilegeOptions& options) {
  PrivilegeReport report;
  if (options.lock_memory) {
    lock_memory(report);
  } else {
    report.notes.push_back("lock_memory: off by configuration");
  }
  const auto account = account_to_become(options.user, report);
  if (!account) return account.error();
  if (const Result<void> changed = change_user(*account, report); !changed) return changed.error();
  if (const Result<void> entered = enter_capability_mode(options, report); !entered) return entered.error();
  return report;
}

}  // namespace memstat
#endif
