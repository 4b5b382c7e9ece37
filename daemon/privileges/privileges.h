// SPDX-License-Identifier: BSD-2-Clause
// Drops what the daemon needed to open the kernel's files, before it serves the first byte. Every step is permanent.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/base/unique_fd.h"

namespace memstat {

/// The system calls that the filter permits.
enum class SystemCalls {
  kServing,     ///< For the daemon.
  kInspecting,  ///< For the helper process that examines processes: it opens files only to read them.
  kAttaching,   ///< For the helper process that attaches programs to events: nothing that opens or connects.
};

/// The privileges to drop.
struct PrivilegeOptions {
  /// Account to become (key `user`), with its primary group and no others. "" keeps the current one. Only root can
  /// change accounts; otherwise a note is added.
  std::string user;
  /// Key `sandbox`: no_new_privs, Landlock and the system call filter (Linux). Capabilities are dropped in any case.
  bool sandbox = true;
  /// Linux: restrict paths with Landlock. A process that does so may no longer examine processes outside of its domain.
  bool restricts_paths = true;
  /// Key `lock_memory`: keep the daemon's pages out of swap, as far as RLIMIT_MEMLOCK permits.
  bool lock_memory = true;
  /// Files that stay readable under Landlock, or directories with everything below them. A file is identified by its
  /// inode. So for a configuration file, name the *directory*: editors replace files by renaming. The daemon's own
  /// statistics need "/proc/self". Missing paths are noted and will not be accessible. Open descriptors are not
  /// affected.
  std::vector<std::string> readable_paths = {};
  /// Directories in which files may be read, written, created, renamed and deleted under Landlock (recordings, text
  /// file). They must exist. The account `user` needs the usual permissions, too.
  std::vector<std::string> writable_paths = {};
  /// Linux: names of the capabilities to keep ("CAP_BPF"), for a helper process.
  std::vector<std::string> kept_capabilities = {};
  SystemCalls system_calls = SystemCalls::kServing;
  /// FreeBSD: this process itself reads the kernel, which is not possible in capability mode, so it must not enter it.
  bool reads_kernel = false;
  /// The process that reads the kernel on behalf of this one, for the report; 0: none.
  pid_t reader = 0;
};

/// The steps that were done. Each `false` has a line in `notes`.
struct PrivilegeReport {
  bool user_changed = false;       ///< User and group are permanently those of the key `user`.
  bool no_new_privileges = false;  ///< Linux: exec can no longer gain privileges.
  bool seccomp = false;            ///< Linux: the system call filter is active.
  bool landlock = false;           ///< Linux: the Landlock rules are active.
  bool memory_locked = false;      ///< At least current mappings stay in memory once touched; a note says if not more.
  std::vector<std::string> notes;  ///< One line for each step not done and why; for the log, at level info.
  /// Linux: keep these open. A rule of Landlock is about an inode, and a directory of procfs gets a new one when it was not
  /// in use and memory was short.
  std::vector<UniqueFd> pinned_paths;
};

/// Account and privileges of this process, for display: "root with all capabilities that memstatd uses", "user 998
/// (_memstatd) with CAP_DAC_READ_SEARCH". `name`: the account's name, which is not looked up; "" for none.
std::string present_privileges(const std::string& name);

/// Drops privileges. Call once, after all kernel files, probes and sockets are open and before any thread exists:
/// capabilities, seccomp and Landlock belong to a thread, and only its children inherit them.
///
/// Linux: empties all capability sets, even root's, except for those to keep, and verifies that. From then on, new programs,
/// processes and listeners, outgoing connections, local sockets, datagrams and executable memory are refused. Calls that
/// only an intruder makes (execve, ptrace, mount, keyctl, loading modules or BPF, ...) kill the process.
///
/// FreeBSD: user, groups, memory; then capability mode, in which everything must go through an open descriptor. Sandbox and
/// memory locking are skipped under sanitizers, whose runtime needs what they refuse.
///
/// Errors: kData if `user` (looked up only by root) or a capability is unknown, or if other threads exist. kPermission if
/// the kernel refuses a step without which privileges would remain, or if some do remain. After an error, some privileges
/// may be gone, and the process must end. Missing kernel features are notes, never errors. Thread safety: the process must
/// have one thread.
Result<PrivilegeReport> drop_privileges(const PrivilegeOptions& options);

}  // namespace memstat
