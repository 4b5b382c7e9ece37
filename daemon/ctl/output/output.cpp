// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/output/output.h"

#include <cerrno>
#include <cstdio>
#include <system_error>

namespace memstat::ctl {

int print(std::string_view text) {
  errno = 0;
  const bool is_written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (is_written && std::fflush(stdout) == 0) return kExitDone;  // a full disk is only noticed when the buffer is flushed
  if (errno == EPIPE) return kExitFailed;                        // the reader has enough: `memstatctl zones | head -1`
  std::fprintf(stderr, "memstatctl: cannot write to standard output: %s\n", std::generic_category().message(errno).c_str());
  return kExitFailed;
}

}  // namespace memstat::ctl
