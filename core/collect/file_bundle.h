// SPDX-License-Identifier: BSD-2-Clause
// Many small files, or sysctls, in one buffer, each with its name: how a source that reads a directory hands it to its
// parser. A record is the length of the name and of the content (both 32 bits, host byte order), the name, the content.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/base/buffer.h"
#include "core/kernel/kernel_view.h"

namespace memstat {

/// Appends records to a buffer. `scratch` holds one file at a time. Steady state: no allocation.
/// Thread safety: none.
class FileBundleWriter {
 public:
  /// Both must outlive this. Clears `bundle`.
  FileBundleWriter(Buffer& bundle, Buffer& scratch) : bundle_(bundle), scratch_(scratch) { bundle.clear(); }

  /// Reads the file and appends it as `name`. An error leaves the bundle as it was, so that the rest is not lost: whether a
  /// file that is missing or refused matters is the caller's business.
  Result<void> add_file(KernelView& view, std::string_view path, std::string_view name);
  Result<void> add_file(KernelView& view, std::string_view path) { return add_file(view, path, path); }
  Result<void> add_sysctl(KernelView& view, std::string_view name, std::size_t size_hint = 0);
  /// KernelView::read_numbers with the scratch of this; `take` may add().
  void add_numbers(KernelView& view, std::span<const std::string> names, const KernelView::TakeNumber& take) {
    view.read_numbers(names, scratch_, take);
  }
  /// Appends a record with content that is at hand. kData beyond 2^32 - 1 bytes.
  Result<void> add(std::string_view name, std::string_view content);

 private:
  Buffer& bundle_;
  Buffer& scratch_;
};

/// Walks the records of a bundle. Never reads outside of the bytes, whatever they are. Thread safety: none.
class FileBundleReader {
 public:
  explicit FileBundleReader(std::string_view bundle) : rest_(bundle) {}

  /// The next record; false after the last. A record that is cut short ends the walk; is_cut() is then true.
  bool next(std::string_view& name, std::string_view& content);
  [[nodiscard]] bool is_cut() const { return is_cut_; }

 private:
  std::string_view rest_;
  bool is_cut_ = false;
};

/// Looks up what an earlier bundle has of things that come in the same order: each begins with a record without name, whose
/// content names the thing. Thread safety: none.
class LastBundle {
 public:
  /// `file`: which record of a thing is wanted. Both are borrowed.
  LastBundle(std::string_view bundle, std::string_view file) : reader_(bundle), file_(file) {}

  /// The record of the next thing; "" when there is none, and for all that follow once the next thing is another one.
  std::string_view content_of(std::string_view thing);

 private:
  FileBundleReader reader_;
  std::string_view file_;
  bool is_in_step_ = true;
};

}  // namespace memstat
