// SPDX-License-Identifier: BSD-2-Clause
// The window of a client, from the kernel's own header: glibc's structure is older than it.
#if defined(__linux__)
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstddef>
#include <limits>

#include "daemon/http/sockets.h"

namespace memstat {

std::size_t window_of_client(int descriptor) {
  tcp_info info{};
  socklen_t length = sizeof info;
  // Linux before 5.4 fills in less.
  const bool is_told = ::getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &length) == 0 &&
                       length >= offsetof(tcp_info, tcpi_snd_wnd) + sizeof info.tcpi_snd_wnd;
  return is_told ? info.tcpi_snd_wnd : std::numeric_limits<std::size_t>::max();
}

}  // namespace memstat

#endif
