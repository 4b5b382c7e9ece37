// SPDX-License-Identifier: BSD-2-Clause
// What FreeBSD's kernel counts for jails, asked by a process that stays root, because the kernel tells nobody else. A
// request is the name of a jail, so a daemon that was taken over can learn these counts and nothing more.
#pragma once

#include <string_view>

#include "core/base/mutex.h"
#include "core/base/not_copyable.h"
#include "core/base/result.h"
#include "core/base/unique_fd.h"
#include "core/kernel/kernel_view.h"

namespace memstat {

/// Answers the peer's requests, one after the other, until it closes its end. `socket`: a SOCK_SEQPACKET socket.
void serve_jail_counts(int socket, KernelView& machine);

/// The asking end. Thread safety: safe.
class JailCounts : NotCopyable {
 public:
  /// `socket`: a SOCK_SEQPACKET socket whose peer runs serve_jail_counts().
  explicit JailCounts(UniqueFd socket);
  /// As KernelView::read_jail_counts. Errors: also kTimeout after two seconds without an answer, and from then on.
  Result<void> read(std::string_view jail, Buffer& out);
  /// Whether the peer is alive, as far as the kernel reports.
  [[nodiscard]] bool is_alive() const;

 private:
  Mutex mutex_;
  const UniqueFd socket_;
  bool is_lost_ MEMSTAT_GUARDED_BY(mutex_) = false;  // a late answer would be taken for the next one
};

}  // namespace memstat
