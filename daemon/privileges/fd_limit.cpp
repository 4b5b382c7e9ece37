// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/privileges/fd_limit.h"

#include <sys/resource.h>

namespace memstat {

void raise_open_file_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  (void)::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace memstat
