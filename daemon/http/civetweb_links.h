// SPDX-License-Identifier: BSD-2-Clause
// The connections that civetweb serves: socket pairs within this process. Each civetweb worker has one as long as
// civetweb keeps it open, and receives request headers on it.
#pragma once

#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <functional>
#include <utility>

#include "core/base/mutex.h"
#include "core/base/unique_fd.h"

namespace memstat {

/// Connections between the front and civetweb's workers, which replace civetweb's own listener. Thread safety: safe.
class CivetwebLinks {
 public:
  /// `release_files` is called on a civetweb thread when there are no descriptors for a link.
  CivetwebLinks(std::size_t workers, std::function<void()> release_files)
      : release_files_(std::move(release_files)), missing_(workers) {}

  /// This end of the link that the calling worker has just received; none when stopping.
  UniqueFd claim();
  /// civetweb is about to close the calling worker's link, and will get a new one.
  void renew();
  /// After this, next() fails.
  void stop();

  // For civetweb_calls.cpp.

  /// Like listen(2), for civetweb's only listener.
  int listen(int descriptor) {
    listener_ = descriptor;
    return 0;
  }
  /// Makes civetweb's listener always ready for poll(2). Called by the accepting thread.
  void ring();
  [[nodiscard]] bool has_listener() const { return listener_ >= 0; }
  /// Like accept(2): waits until a worker needs a link and the previous one has been claimed. Returns -1 when stopping.
  int next(sockaddr* address, socklen_t* length);

 private:
  bool make_pair(std::array<int, 2>& ends) MEMSTAT_REQUIRES(mutex_);

  std::function<void()> release_files_;
  int listener_ = -1;
  Mutex mutex_;
  CondVar changed_;
  std::size_t missing_ MEMSTAT_GUARDED_BY(mutex_);  // workers without a link
  UniqueFd unclaimed_ MEMSTAT_GUARDED_BY(mutex_);
  bool stopping_ MEMSTAT_GUARDED_BY(mutex_) = false;
};

/// civetweb's bind(2), listen(2) and accept(2) on this thread use `of_thread`; nullptr: the system. For mg_start2 and the
/// accepting thread.
void use_for_civetweb(CivetwebLinks* of_thread);

}  // namespace memstat
