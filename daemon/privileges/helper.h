// SPDX-License-Identifier: BSD-2-Clause
// A helper process that keeps the privileges for later work when the daemon has dropped its own (attaching to events on
// Linux, reading the kernel on FreeBSD). It is forked while there are no threads and no open kernel files, keeps only
// the named capabilities, and has one socket to the daemon. The protocol on it is up to the caller.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/base/unique_fd.h"
#include "daemon/privileges/privileges.h"

namespace memstat {

struct HelperOptions {
  std::string user;                            ///< As PrivilegeOptions::user.
  bool sandbox = true;                         ///< As PrivilegeOptions::sandbox.
  std::vector<std::string> capabilities = {};  ///< Names of the capabilities to keep.
  /// Whether it starts without those that this process lacks. False: start() then fails.
  bool keeps_only_permitted = false;
  SystemCalls system_calls = SystemCalls::kAttaching;
  const char* name = "memstatd-helper";  ///< Up to 15 bytes.
  /// Descriptors that the helper keeps beside its socket, under the same numbers, all above the standard streams.
  std::vector<int> descriptors = {};
  /// Runs in the helper, which exits when it returns. Must return when the socket's peer closes it.
  std::function<void(int socket)> serve = {};
  /// False: `serve` drops privileges itself once it no longer needs them. `capabilities` is then ignored.
  bool gives_up_first = true;
};

/// A helper process, from its parent's point of view. It exits when the parent's socket is closed, and on Linux also
/// with the thread that created it.
class HelperProcess {
 public:
  /// Forks the helper, and waits until it has dropped everything else as in drop_privileges(): no files, no network,
  /// and under `sandbox` only a few system calls. Stop signals do not reach it. Call before any thread exists. Errors:
  /// kNotPresent (capabilities exist only on Linux), kPermission (this process lacks the capabilities itself), kIo with
  /// the reason.
  static Result<HelperProcess> start(const HelperOptions& wanted);

  [[nodiscard]] pid_t number() const { return number_; }
  /// The daemon's end of a SOCK_SEQPACKET pair. Call once.
  UniqueFd take_socket() { return std::move(socket_); }
  /// Whether it has exited; also reaps it. Does not wait.
  [[nodiscard]] bool has_ended();
  /// Same, but waits. The socket must be closed.
  void wait();

 private:
  HelperProcess(pid_t number, UniqueFd socket) : number_(number), socket_(std::move(socket)) {}

  pid_t number_;
  bool has_ended_ = false;
  UniqueFd socket_;
};

}  // namespace memstat
