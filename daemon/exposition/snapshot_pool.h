// SPDX-License-Identifier: BSD-2-Clause
// Four snapshots that are built, published and reused in turn, so that publishing allocates nothing and slow readers cannot
// make memory grow.
#pragma once

#include <array>
#include <cstddef>
#include <memory>

#include "core/base/mutex.h"
#include "daemon/exposition/rendered_snapshot.h"

namespace memstat {

/// Hands out a free snapshot to the poller and the published one to HTTP threads.
/// A mutex, not std::atomic<std::shared_ptr>: that one's load races in libstdc++ 12.
/// Thread safety: safe; build() by one thread.
class SnapshotPool {
 public:
  static constexpr std::size_t kSize = 4;

  /// A snapshot to build, or nullptr when readers hold all the others: the published one then stays.
  RenderedSnapshot* free_snapshot();

  /// Publishes what free_snapshot() gave.
  void publish(RenderedSnapshot* snapshot);

  /// The published snapshot, nullptr before the first one. Keeps it from being built anew for as long as it is held; holds
  /// on the pool's state itself, so it may outlive the pool.
  [[nodiscard]] std::shared_ptr<const RenderedSnapshot> current() const;

 private:
  /// This number of polls after slow readers left, the snapshots that were needed for them give their memory back.
  static constexpr std::size_t kIdlePolls = 8;
  struct Slot {
    RenderedSnapshot snapshot;
    std::size_t readers = 0;
    std::size_t idle_polls = 0;
  };
  struct State {
    Mutex mutex;
    /// A snapshot itself is its builder's while it has no readers, and then theirs.
    std::array<Slot, kSize> slots MEMSTAT_GUARDED_BY(mutex);
    Slot* published MEMSTAT_GUARDED_BY(mutex) = nullptr;
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace memstat
