// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/http/civetweb_links.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "daemon/http/sockets.h"

namespace memstat {
// Waits for free descriptors. Returns false when stopping.
bool CivetwebLinks::make_pair(std::array<int, 2>& ends) {
  while (!stopping_) {
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0) return true;
    release_files_();
    changed_.wait_for(mutex_, kPauseWithoutDescriptors, [this]() MEMSTAT_REQUIRES(mutex_) { return stopping_; });
  }
  return false;
}

void CivetwebLinks::ring() {
  const MutexLock lock(mutex_);
  std::array<int, 2> ends{};
  if (!make_pair(ends)) return;
  ::dup3(ends[0], listener_, O_CLOEXEC);
  for (const int end : ends) ::close(end);  // at end of file, and so always readable
}

int CivetwebLinks::next(sockaddr* address, socklen_t* length) {
  const MutexLock lock(mutex_);
  changed_.wait(mutex_, [this]() MEMSTAT_REQUIRES(mutex_) { return stopping_ || (missing_ != 0 && !unclaimed_); });
  std::array<int, 2> ends{};
  if (!make_pair(ends)) {
    errno = ECONNABORTED;
    return -1;
  }
  --missing_;
  unclaimed_ = UniqueFd(ends[0]);
  const SocketAddress from({kLoopbackAddress, 0});
  std::memcpy(address, from.get(), std::min(*length, from.length));
  *length = from.length;
  return ends[1];
}

UniqueFd CivetwebLinks::claim() {
  const MutexLock lock(mutex_);
  changed_.notify_all();
  if (stopping_) return {};
  return std::move(unclaimed_);
}

void CivetwebLinks::renew() {
  const MutexLock lock(mutex_);
  ++missing_;
  changed_.notify_all();
}

void CivetwebLinks::stop() {
  const MutexLock lock(mutex_);
  stopping_ = true;
  unclaimed_ = UniqueFd();
  changed_.notify_all();
}

}  // namespace memstat
