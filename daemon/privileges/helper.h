// SPDX-License-Identifier: BSD-2-Clause
// A helper process: what may do, for the daemon that has given up its privileges, the little that is needed later (attach to
// events on Linux, read the kernel on FreeBSD). It is forked while there are no threads and no file of the kernel is open,
// keeps the named capabilities and nothing else, and knows the daemon by one socket. What is said there is its caller's
// business.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/base/unique_fd.h"

namespace memstat {

/// A plain value.
struct HelperOptions {
  std::string user;                       ///< As PrivilegeOptions::user.
  bool sandbox = true;                    ///< As PrivilegeOptions::sandbox.
  std::vector<std::string> capabilities;  ///< What it keeps, by name.
  /// Runs in it; when this returns, it ends. Must return when the socket's end comes.
  std::function<void(int socket)> serve = {};
  /// False: `serve` gives up privileges, when it has done what needs them. `capabilities` are then of no use.
  bool gives_up_first = true;
};

/// A helper process, as its parent sees it. Thread safety: none. It ends when the other end of its socket is closed, and on
/// Linux also with the thread that made it.
class HelperProcess {
 public:
  /// Forks it, and waits until it has given up everything else: no files, no network, no system calls but a few, under
  /// `sandbox`, as drop_privileges() does it, and signals that ask to stop do not reach it. Call before any thread exists.
  /// Errors: kNotPresent (capabilities, which are Linux's), kPermission (this process has not these capabilities itself),
  /// kIo with the reason why it could not be made.
  static Result<HelperProcess> start(const HelperOptions& options);

  [[nodiscard]] pid_t number() const { return number_; }
  /// The daemon's end of a pair of SOCK_SEQPACKET. Once.
  UniqueFd take_socket() { return std::move(socket_); }
  /// Whether it has ended. Lets the kernel forget it then. Does not wait.
  [[nodiscard]] bool has_ended();
  /// The same, but waits for it: its socket must be closed.
  void wait();

 private:
  HelperProcess(pid_t number, UniqueFd socket) : number_(number), socket_(std::move(socket)) {}

  pid_t number_;
  bool has_ended_ = false;
  UniqueFd socket_;
};

}  // namespace memstat
