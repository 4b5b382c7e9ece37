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

/// Hands out a free snapshot to the poller and the published one to HTTP threads. A mutex, because the load of
/// std::atomic<std::shared_ptr> races in libstdc++ 12. Thread safety: safe; build() by one thread.
class SnapshotPool {
 public:
  static constexpr std::size_t kSize = 4;

  /// A snapshot to build, or nullptr if readers hold all the others; the published one then stays.
  RenderedSnapshot* free_snapshot();

  /// Frees each snapshot's memory before it is built again, which then allocates what it needs.
  void shrink();

  /// Publishes a snapshot from free_snapshot().
  void publish(RenderedSnapshot* snapshot);

  /// The published snapshot, nullptr before the first. It is not rebuilt while it is held, and it may outlive the pool,
  /// because it holds the pool's state.
  [[nodiscard]] std::shared_ptr<const RenderedSnapshot> current() const;

 private:
  /// Spare snapshots free their memory after this many polls without slow readers.
  static constexpr std::size_t kIdlePolls = 8;
  struct Slot {
    RenderedSnapshot snapshot;
    std::size_t readers = 0;
    std::size_t idle_polls = 0;
    bool is_too_large = false;
  };
  struct State {
    Mutex mutex;
    /// A snapshot belongs to its builder while it has no readers, then to the readers.
    std::array<Slot, kSize> slots MEMSTAT_GUARDED_BY(mutex);
    Slot* published MEMSTAT_GUARDED_BY(mutex) = nullptr;
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace memstat
