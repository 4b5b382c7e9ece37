// SPDX-License-Identifier: BSD-2-Clause
// The connections that civetweb serves: pairs of sockets within this process. Each of civetweb's workers has one for as long
// as civetweb keeps it open, and finds request headers on it.
#pragma once

#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <functional>
#include <utility>

#include "core/base/mutex.h"
#include "core/base/unique_fd.h"

namespace memstat {

/// Thread safety: safe.
class CivetwebLinks {
 public:
  /// `release_files` is called, on a thread of civetweb's, while there are no descriptors for a link.
  CivetwebLinks(std::size_t workers, std::function<void()> release_files)
      : release_files_(std::move(release_files)), missing_(workers) {}

  /// Our end of the link that civetweb has just given to the calling worker; none when stopping.
  UniqueFd claim();
  /// civetweb is about to close the calling worker's link, and gets another one.
  void renew();
  /// From now on next() fails.
  void stop();

  // For civetweb_calls.cpp.

  /// civetweb listens with `descriptor`. False when it has a listener already.
  bool listen(int descriptor);
  /// Makes poll(2) report civetweb's listener as ready, always. Called by the thread that accepts.
  void ring();
  [[nodiscard]] bool has_listener() const { return listener_ >= 0; }
  /// As accept(2): waits until a worker needs a link and has claimed the one before. -1 when stopping.
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

/// While one lives, what civetweb asks on this thread for a listener goes to `links`: put it around mg_start2.
class CivetwebStart {
 public:
  explicit CivetwebStart(CivetwebLinks& links);
  ~CivetwebStart();
  CivetwebStart(const CivetwebStart&) = delete;
  CivetwebStart& operator=(const CivetwebStart&) = delete;
};

/// civetweb's thread that accepts calls this first: from then on its accept(2) asks `links`.
void become_accepting_thread(CivetwebLinks& links);

}  // namespace memstat
