// SPDX-License-Identifier: BSD-2-Clause
#include "core/base/free_heap.h"
#include "core/base/mutex.h"
#include "daemon/poll/poller.h"

namespace memstat {

/// Frees the memory that only a peak of types or control groups needed, some minutes after it.
void Poller::release_peak(std::size_t series) {
  constexpr std::size_t kBytesOfSeries = 128;  // about, of a page and of what is kept for it
  std::size_t raw_bytes = 0;
  {
    const MutexLock lock(status_mutex_);
    for (const SourceStatus& source : statuses_) raw_bytes += source.read_bytes;
  }
  const bool is_raw_over = raw_peak_.is_over(raw_bytes);
  if (polls_before_trim_ != 0 && --polls_before_trim_ == 0) give_back_free_heap();
  if (!series_peak_.is_over(series * kBytesOfSeries) && !is_raw_over) return;
  for (SourceReader* const reader : readers_) {
    if (!reader_.is_busy(*reader)) shrink(*reader);
  }
  view_->shrink();
  list_->shrink();
  builder_->shrink();
  evidence_.shrink();
  selection_.shrink();
  pool_.shrink();
  polls_before_trim_ = SnapshotPool::kSize;  // by then, each snapshot has been freed and built again
}

}  // namespace memstat
