// SPDX-License-Identifier: BSD-2-Clause
// A snapshot with its pages, each rendered on first use.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "core/base/buffer.h"
#include "core/base/mutex.h"
#include "daemon/exposition/format.h"
#include "daemon/snapshot/render_options.h"
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

}  // namespace memstat
