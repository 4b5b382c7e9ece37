// SPDX-License-Identifier: BSD-2-Clause
#if defined(__linux__)
#include "daemon/privileges/process_linux.h"

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>

namespace memstat {

void name_process(const char* name) { (void)::prctl(PR_SET_NAME, name, 0, 0, 0); }
void end_with_parent() { (void)::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0); }
bool close_from(int first) {
  constexpr long kCloseRange = 436;  // missing from older headers
  return ::syscall(kCloseRange, first, ~0U, 0) == 0;
}

}  // namespace memstat
#endif
