// SPDX-License-Identifier: BSD-2-Clause
// Many small files or sysctls in one buffer, each with its name. Sources that read a directory pass their data to the parser
// in this form. A record is the length of the name, the length of the content (both 32 bits in host byte order), the name,
// the content.
#pragma once

#include "core/kernel/kernel_view.h"

namespace memstat {

/// Appends records to a buffer. `scratch` holds one file at a time. Does not allocate in the steady state.
class FileBundleWriter {
 public:
  /// Clears `bundle`. Both arguments must outlive the writer.
  FileBundleWriter(Buffer& bundle, Buffer& scratch) : bundle_(bundle), scratch_(scratch) { bundle.clear(); }

  /// Reads a file and appends it as record `name`. On error the bundle is unchanged, so the caller can decide whether a
  /// missing or unreadable file matters.
  Result<void> add_file(KernelView& view, std::string_view path, std::string_view name);
  Result<void> add_file(KernelView& view, std::string_view path) { return add_file(view, path, path); }
  /// KernelView::read_numbers with this writer's scratch buffer; `take` may call add().
  void add_numbers(KernelView& view, std::span<const std::string> names, const KernelView::TakeNumber& take) {
    view.read_numbers(names, scratch_, take);
  }
  /// Appends a record. Error: kData if name or content exceeds 2^32 - 1 bytes.
  Result<void> add(std::string_view name, std::string_view content);

 private:
  Buffer& bundle_;
  Buffer& scratch_;
};

/// Iterates over the records of a bundle. Safe for untrusted bytes.
class FileBundleReader {
 public:
  explicit FileBundleReader(std::string_view bundle) : rest_(bundle) {}

  /// The next record; false after the last. A truncated record ends the iteration and sets is_cut().
  bool next(std::string_view& name, std::string_view& content);
  [[nodiscard]] bool is_cut() const { return is_cut_; }

 private:
  std::string_view rest_;
  bool is_cut_ = false;
};

}  // namespace memstat
