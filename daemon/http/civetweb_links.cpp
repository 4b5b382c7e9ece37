// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/http/civetweb_links.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

#include "daemon/http/sockets.h"

namespace memstat {
Result<void> CivetwebLinks::open() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return system_error("HTTP server", errno, "cannot make a pair of sockets");
  }
  ::close(ends[1]);  // the end of its bytes can always be read
  bell_ = UniqueFd(ends[0]);
  return {};
}

bool CivetwebLinks::listen(int descriptor) {
  if (listener_ >= 0) return false;
  listener_ = descriptor;
  return true;
}

void CivetwebLinks::ring() const {
  if (listener_ >= 0) ::dup3(bell_.get(), listener_, O_CLOEXEC);
}

int CivetwebLinks::next(sockaddr* address, socklen_t* length) {
  const MutexLock lock(mutex_);
  for (;;) {
    changed_.wait(mutex_, [this]() MEMSTAT_REQUIRES(mutex_) { return stopping_ || (missing_ != 0 && !unclaimed_); });
    if (stopping_) {
      errno = ECONNABORTED;
      return -1;
    }
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0) {
      --missing_;
      unclaimed_ = UniqueFd(ends[0]);
      sockaddr_in from{};
      from.sin_family = AF_INET;
      from.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      std::copy_n(reinterpret_cast<const char*>(&from), std::min<std::size_t>(*length, sizeof from),
                  reinterpret_cast<char*>(address));
      *length = sizeof from;
      return ends[1];
    }
    release_files_();
    changed_.wait_for(mutex_, kPauseWithoutDescriptors, [this]() MEMSTAT_REQUIRES(mutex_) { return stopping_; });
  }
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
