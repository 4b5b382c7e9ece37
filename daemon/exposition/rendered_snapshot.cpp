// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/exposition/rendered_snapshot.h"

#include <utility>

namespace memstat {

RenderedSnapshot* SnapshotPool::free_snapshot() {
  const MutexLock lock(state_->mutex);
  for (Slot& slot : state_->slots) {
    if (slot.readers != 0 || &slot == state_->published) continue;
    if (std::exchange(slot.is_too_large, false)) slot.snapshot.release();
    return &slot.snapshot;
  }
  return nullptr;
}

void SnapshotPool::shrink() {
  const MutexLock lock(state_->mutex);
  for (Slot& slot : state_->slots) slot.is_too_large = true;
}

void SnapshotPool::publish(RenderedSnapshot* snapshot) {
  const MutexLock lock(state_->mutex);
  for (Slot& slot : state_->slots) {
    if (&slot.snapshot == snapshot) state_->published = &slot;
  }
  bool found_next = false;  // the first free one is built next; others are spares
  for (Slot& slot : state_->slots) {
    const bool is_free = slot.readers == 0 && &slot != state_->published;
    const bool is_idle = is_free && found_next;
    found_next = found_next || is_free;
    slot.idle_polls = is_idle ? slot.idle_polls + 1 : 0;
    if (slot.idle_polls == kIdlePolls) slot.snapshot.release();
  }
}

std::shared_ptr<const RenderedSnapshot> SnapshotPool::current() const {
  Slot* slot = nullptr;
  {
    const MutexLock lock(state_->mutex);
    slot = state_->published;
    if (slot == nullptr) return nullptr;
    ++slot->readers;
  }
  // This pointer's control block is allocated by the reader, in the reader's thread.
  return {&slot->snapshot, [state = state_, slot](const RenderedSnapshot*) {
            const MutexLock lock(state->mutex);
            --slot->readers;
          }};
}

}  // namespace memstat
