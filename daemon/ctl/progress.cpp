// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/progress.h"

#include <unistd.h>

#include <cstdio>

#include "core/base/clock.h"

namespace memstat::ctl {

Progress::Progress() : is_terminal_(::isatty(STDERR_FILENO) == 1), next_ns_(system_clock().monotonic_ns() + 1'000'000'000) {}

void Progress::show(const std::string& text) {
  const std::int64_t now_ns = system_clock().monotonic_ns();
  if (!is_terminal_ || now_ns < next_ns_) return;
  next_ns_ = now_ns + 100'000'000;
  is_shown_ = true;
  std::fprintf(stderr, "\r\033[K%s", text.c_str());
  std::fflush(stderr);
}

void Progress::finish() {
  if (!is_shown_) return;
  std::fputs("\r\033[K", stderr);
  std::fflush(stderr);
  is_shown_ = false;
}

}  // namespace memstat::ctl
