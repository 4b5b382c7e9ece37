// SPDX-License-Identifier: BSD-2-Clause
// A snapshot with its pages, each rendered on first use; and four of them that are built, published and reused in turn, so
// that publishing allocates nothing and slow readers cannot make memory grow.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string_view>

#include "core/base/buffer.h"
#include "core/base/mutex.h"
#include "daemon/exposition/format.h"
#include "daemon/snapshot/snapshot.h"

namespace memstat {

/// A page rendered once, on first use. forget() keeps its storage. Thread safety: of() is safe; forget() only while no other
/// thread uses the page.
class LazyPage {
 public:
  /// Returns the page. `render(Buffer&)` makes it for the first caller, while others wait. Valid until forget(). If `render`
  /// throws, the next caller tries again.
  template <typename Render>
  std::string_view of(const Render& render) {
    const MutexLock lock(mutex_);
    if (!is_rendered_) render(bytes_);
    is_rendered_ = true;
    return bytes_.view();
  }
  void forget() {
    const MutexLock lock(mutex_);
    is_rendered_ = false;
  }
  /// Forgets the page and frees its storage. Thread safety: as forget().
  void release() {
    const MutexLock lock(mutex_);
    is_rendered_ = false;
    bytes_ = Buffer();
  }
  /// Bytes of storage, also of a page that was forgotten.
  [[nodiscard]] std::size_t capacity() const {
    const MutexLock lock(mutex_);
    return bytes_.capacity();
  }

 private:
  mutable Mutex mutex_;
  bool is_rendered_ MEMSTAT_GUARDED_BY(mutex_) = false;
  Buffer bytes_ MEMSTAT_GUARDED_BY(mutex_);  // constant once rendered
};

/// page_of() in exposition.h renders a page in the first thread that needs it, since most polls come between two scrapes.
/// Thread safety: immutable once published, except that lazy pages lock themselves; until then it belongs to its builder.
class RenderedSnapshot : public Snapshot {
 public:
  std::size_t series = 0;  ///< Number of series on its pages.
  RenderOptions options;   ///< The options of its pages.

  [[nodiscard]] LazyPage& lazy_page(ExpositionFormat format) const { return lazy_pages_[static_cast<std::size_t>(format)]; }
  /// Discards all pages, for a new snapshot. Only while no other thread uses this object.
  void forget_pages() {
    for (LazyPage& page : lazy_pages_) page.forget();
  }
  /// Frees all storage, like Snapshot::release().
  void release() {
    Snapshot::release();
    for (LazyPage& page : lazy_pages_) page.release();
  }

 private:
  mutable std::array<LazyPage, kExpositionFormatCount> lazy_pages_;
};

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
