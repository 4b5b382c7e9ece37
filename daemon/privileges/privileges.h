// SPDX-License-Identifier: BSD-2-Clause
// Giving up what the daemon needed to open the kernel's files, before it serves a byte. Not for getting any of it back:
// every step here is for good.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "core/base/result.h"

namespace memstat {

/// Which system calls stay under the filter.
enum class SystemCalls {
  kServing,    ///< What the daemon needs.
  kAttaching,  ///< What the helper process needs that attaches programs to events: nothing that opens or connects.
};

/// What to give up. A plain value.
struct PrivilegeOptions {
  /// Account to become (key `user`); its primary group comes with it and all other groups go. "" keeps the present one.
  /// Only root can change: for anyone else it is a note, not an error.
  std::string user;
  /// Key `sandbox`: no_new_privs, Landlock and the filter of system calls (Linux). Capabilities go in any case.
  bool sandbox = true;
  /// Key `lock_memory`: keep the daemon's pages out of swap, as far as RLIMIT_MEMLOCK allows.
  bool lock_memory = true;
  /// What stays readable under Landlock: files, or directories with everything below. A file is bound by its inode, so name
  /// the *directory* of a configuration that is to survive being replaced by rename, as editors do. The daemon's own figures
  /// need
  /// "/proc/self". Absent paths are noted and stay out of reach. Descriptors already open are not affected at all.
  std::vector<std::string> readable_paths;
  /// Directories below which files may be read, written, created, renamed and removed under Landlock (recordings, text
  /// file). They must exist by now. The account of `user` needs the ordinary permissions as well.
  std::vector<std::string> writable_paths;
  /// Linux: capabilities that stay, by name ("CAP_BPF"): those of a helper process.
  std::vector<std::string> kept_capabilities = {};
  SystemCalls system_calls = SystemCalls::kServing;
  /// FreeBSD: this process reads the kernel itself, which capability mode refuses, so that it cannot enter it.
  bool reads_kernel = false;
  /// The process that reads the kernel for this one, for the report; 0: none does.
  pid_t reader = 0;
};

/// What was done. Every `false` has a line in `notes`. A plain value.
struct PrivilegeReport {
  bool user_changed = false;       ///< User and group are those of the key `user`, for good.
  bool no_new_privileges = false;  ///< Linux: an exec can no longer gain anything.
  bool seccomp = false;            ///< Linux: the filter of system calls is in force.
  bool landlock = false;           ///< Linux: the file rules are in force.
  bool capability_mode = false;    ///< FreeBSD: this process has nothing but its descriptors.
  bool memory_locked = false;      ///< At least what is mapped now stays in memory once touched; a note says when not more.
  std::vector<std::string> notes;  ///< One line for people for each thing not done and why; for the log, at level info.
};

/// Who this process is and what it may do, for people: "root with all capabilities that memstatd uses", "user 998
/// (_memstatd) with CAP_DAC_READ_SEARCH". `name`: of its account, which is not looked up; "" for none.
std::string present_privileges(const std::string& name);

/// Gives up privileges. Call once, after every kernel file, probe and socket is open and before any thread exists:
/// capabilities, seccomp and Landlock belong to a thread and are inherited only by its children.
///
/// Linux: all capability sets are emptied (whether root or not), except for what is to stay, and that is verified;
/// afterwards new programs, processes and listeners, outgoing connections, local sockets, datagrams and executable memory
/// are refused, and what only an intruder would call (execve, ptrace, mount, keyctl, loading modules or BPF, ...) kills the
/// process. FreeBSD: user, groups, memory, and then capability mode, in which nothing can be opened, connected or read of
/// the kernel but through a descriptor that is open by now. Neither the sandbox nor memory locking is applied under a
/// sanitizer, whose run-time needs what they refuse.
///
/// Errors: kData when `user` (only looked up by root) or a capability is unknown, or when other threads exist; kPermission
/// when the kernel refuses a step without which privileges would remain, or when they turn out to remain. After an error the
/// process may have given up a part and must end. A missing kernel feature is a note, never an error. Thread safety:
/// requires a process of one thread.
Result<PrivilegeReport> drop_privileges(const PrivilegeOptions& options);

}  // namespace memstat
