// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/snapshot_pool.h"

namespace memstat {

Snapshot* SnapshotPool::free_snapshot() {
  const std::lock_guard lock(state_->mutex);
  for (Slot& slot : state_->slots) {
    if (slot.readers == 0 && &slot != state_->published) return &slot.snapshot;
  }
  return nullptr;
}

void SnapshotPool::publish(Snapshot* snapshot) {
  const std::lock_guard lock(state_->mutex);
  for (Slot& slot : state_->slots) {
    if (&slot.snapshot == snapshot) state_->published = &slot;
  }
}

std::shared_ptr<const Snapshot> SnapshotPool::current() const {
  Slot* slot = nullptr;
  {
    const std::lock_guard lock(state_->mutex);
    slot = state_->published;
    if (slot == nullptr) return nullptr;
    ++slot->readers;
  }
  // The control block of this pointer is the reader's allocation, in the reader's thread.
  return {&slot->snapshot, [state = state_, slot](const Snapshot*) {
            const std::lock_guard lock(state->mutex);
            --slot->readers;
          }};
}

}  // namespace memstat
