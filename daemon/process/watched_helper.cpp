// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/process/watched_helper.h"

namespace memstat {

void WatchedHelper::end() {
  process_->wait();
  process_.reset();
}

void WatchedHelper::watch(bool is_alive) {
  if (!process_ || is_alive) return;
  (void)process_->has_ended();
  if (is_lost_.exchange(true)) return;
  metrics_.helper_up(false);
  log_.write(level_, when_gone_);
}

}  // namespace memstat
