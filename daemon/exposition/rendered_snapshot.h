// SPDX-License-Identifier: BSD-2-Clause
// A snapshot with the pages made of it.
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

/// A page that is rendered when it is asked for, once. Its room is kept when it is forgotten.
/// Thread safety: of() is safe; forget() only while no other thread uses this.
class LazyPage {
 public:
  /// The page; `render(Buffer&)` makes it for the first caller, while the others wait. It lives until forget(). When
  /// `render` throws, the next caller tries again.
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
  /// Forgets it and gives the room back; as forget().
  void release() {
    const MutexLock lock(mutex_);
    is_rendered_ = false;
    bytes_ = Buffer();
  }

 private:
  Mutex mutex_;
  bool is_rendered_ MEMSTAT_GUARDED_BY(mutex_) = false;
  Buffer bytes_ MEMSTAT_GUARDED_BY(mutex_);  // what it holds does not change once it is rendered
};

/// The text page is rendered with the snapshot, by render_text(); pages in other formats by the first thread that asks, in
/// page_of() (exposition.h has both). Thread safety: immutable once published (lazy pages lock for themselves); until then
/// its builder's.
class RenderedSnapshot : public Snapshot {
 public:
  Buffer text;             ///< The page in the fallback format.
  std::size_t series = 0;  ///< How many it has.
  RenderOptions options;   ///< What it was rendered with.

  /// Where the page in another format than the fallback is kept.
  [[nodiscard]] LazyPage& lazy_page(ExpositionFormat format) const { return lazy_pages_[static_cast<std::size_t>(format)]; }
  /// The pages are of another snapshot from now on. Only while no other thread uses this.
  void forget_pages() {
    for (LazyPage& page : lazy_pages_) page.forget();
  }
  /// Gives all room back, as Snapshot::release().
  void release() {
    Snapshot::release();
    for (LazyPage& page : lazy_pages_) page.release();
    text = Buffer();
  }

 private:
  mutable std::array<LazyPage, kExpositionFormatCount> lazy_pages_;
};

}  // namespace memstat
