// SPDX-License-Identifier: BSD-2-Clause
// A snapshot with its rendered pages.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
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
  std::string_view of(const std::function<void(Buffer&)>& render) {
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

 private:
  Mutex mutex_;
  bool is_rendered_ MEMSTAT_GUARDED_BY(mutex_) = false;
  Buffer bytes_ MEMSTAT_GUARDED_BY(mutex_);  // constant once rendered
};

/// render_text() renders the text page with the snapshot; page_of() renders other formats in the first thread that asks
/// (exposition.h has both). Thread safety: immutable once published, except that lazy pages lock themselves; until then it
/// belongs to its builder.
class RenderedSnapshot : public Snapshot {
 public:
  Buffer text;             ///< The page in the fallback format.
  std::size_t series = 0;  ///< Number of series in it.
  RenderOptions options;   ///< The options it was rendered with.

  /// The page in a format other than the fallback.
  [[nodiscard]] LazyPage& lazy_page(ExpositionFormat format) const { return lazy_pages_[static_cast<std::size_t>(format)]; }
  /// Discards all pages, for a new snapshot. Only while no other thread uses this object.
  void forget_pages() {
    for (LazyPage& page : lazy_pages_) page.forget();
  }
  /// Frees all storage, like Snapshot::release().
  void release() {
    Snapshot::release();
    for (LazyPage& page : lazy_pages_) page.release();
    text = Buffer();
  }

 private:
  mutable std::array<LazyPage, kExpositionFormatCount> lazy_pages_;
};

}  // namespace memstat
