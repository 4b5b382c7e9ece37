// SPDX-License-Identifier: BSD-2-Clause
// A kernel view that forwards every call to another one. Base of views that change one aspect of a kernel
// (core/capture/recording_view.h, once_per_poll.h, test doubles).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/kernel/kernel_view.h"

namespace memstat {

/// Forwards every read to another view, except read_numbers, so that a view that overrides read_sysctl sees each
/// number. Errors and thread safety: those of the inner view.
class ForwardingKernelView : public KernelView {
 public:
  /// `inner` must outlive this object.
  explicit ForwardingKernelView(KernelView& inner) : inner_(inner) {}

  [[nodiscard]] OperatingSystem os() const override { return inner_.os(); }
  [[nodiscard]] std::uint64_t page_size() const override { return inner_.page_size(); }
  [[nodiscard]] std::uint32_t cpu_count() const override { return inner_.cpu_count(); }
  [[nodiscard]] std::string os_release() const override { return inner_.os_release(); }
  [[nodiscard]] const Clock& clock() const override { return inner_.clock(); }
  Result<void> read_file(std::string_view path, Buffer& out) override { return inner_.read_file(path, out); }
  [[nodiscard]] bool may_read(std::string_view path) override { return inner_.may_read(path); }
  Result<std::string> read_link(std::string_view path) override { return inner_.read_link(path); }
  Result<std::uint64_t> file_size(std::string_view path) override { return inner_.file_size(path); }
  Result<void> list_directory(std::string_view path, std::vector<std::string>& names) override {
    return inner_.list_directory(path, names);
  }
  /// A view that overrides list_directory should override this with KernelView::list_directories.
  Result<void> list_directories(std::string_view path, Buffer& names) override {
    return inner_.list_directories(path, names);
  }
  [[nodiscard]] std::uint64_t group_generation() override { return inner_.group_generation(); }
  Result<void> read_sysctl(std::string_view name, Buffer& out, std::size_t size_hint) override {
    return inner_.read_sysctl(name, out, size_hint);
  }
  Result<void> list_sysctls(std::string_view prefix, std::vector<std::string>& names) override {
    return inner_.list_sysctls(prefix, names);
  }
  Result<void> open_table(std::string_view source, TextTableSource& table) override {
    return inner_.open_table(source, table);
  }
  Result<void> read_table(std::string_view source, TextTableSource& table, Buffer& out) override {
    return inner_.read_table(source, table, out);
  }
  [[nodiscard]] bool wants_whole_polls() const override { return inner_.wants_whole_polls(); }
  [[nodiscard]] bool reads_this_machine() const override { return inner_.reads_this_machine(); }
  Result<void> keep_open(std::string_view path) override { return inner_.keep_open(path); }
  [[nodiscard]] std::size_t kept_count() const override { return inner_.kept_count(); }
  void close_kept_after(std::size_t count) override { inner_.close_kept_after(count); }

 protected:
  KernelView& inner_;
};

}  // namespace memstat
