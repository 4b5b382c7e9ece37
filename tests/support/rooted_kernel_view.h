// SPDX-License-Identifier: BSD-2-Clause
// This machine's files below a folder as if that were the root, so that a test can make a tree of /proc or /sys by itself.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/kernel/fixed_path.h"
#include "core/kernel/kernel_view.h"

namespace memstat {

/// Allocates nothing where the live view does not. Thread safety: that of the live view; the public members are for the time
/// before the reads.
class RootedKernelView final : public KernelView {
 public:
  /// Requires has_live_view().
  explicit RootedKernelView(std::string root) : root_(std::move(root)), live_(std::move(*make_live_kernel_view())) {}
  static bool has_live_view() { return make_live_kernel_view().has_value(); }

  /// Called with the path that is about to be read or listed.
  std::function<void(std::string_view)> before;
  /// errno of paths that cannot be read or listed.
  std::map<std::string, int, std::less<>> failures;

  [[nodiscard]] OperatingSystem os() const override { return live_->os(); }
  [[nodiscard]] std::uint64_t page_size() const override { return live_->page_size(); }
  [[nodiscard]] std::uint32_t cpu_count() const override { return live_->cpu_count(); }
  Result<void> read_file(std::string_view path, Buffer& out) override {
    FixedPath real;
    if (auto entered = enter(path, real); !entered) return entered;
    return live_->read_file(real.view(), out);
  }
  Result<std::string> read_link(std::string_view path) override {
    FixedPath real;
    if (auto entered = enter(path, real); !entered) return entered.error();
    return live_->read_link(real.view());
  }
  Result<void> list_directory(std::string_view path, std::vector<std::string>& names) override {
    FixedPath real;
    if (auto entered = enter(path, real); !entered) return entered;
    return live_->list_directory(real.view(), names);
  }
  Result<void> list_folders(std::string_view path, Buffer& names) override {
    FixedPath real;
    if (auto entered = enter(path, real); !entered) return entered;
    return live_->list_folders(real.view(), names);
  }
  Result<void> read_sysctl(std::string_view name, Buffer& out, std::size_t size_hint) override {
    return live_->read_sysctl(name, out, size_hint);
  }
  Result<void> list_sysctls(std::string_view prefix, std::vector<std::string>& names) override {
    return live_->list_sysctls(prefix, names);
  }
  Result<void> keep_open(std::string_view path) override {
    FixedPath real;
    if (auto entered = enter(path, real); !entered) return entered;
    return live_->keep_open(real.view());
  }

 private:
  Result<void> enter(std::string_view path, FixedPath& real) {
    if (before) before(path);
    const auto failure = failures.find(path);
    if (failure != failures.end()) return system_error(path, failure->second, "made to fail by a test");
    if (!real.assign(root_) || !real.append(path)) return system_error(path, ENAMETOOLONG);
    return {};
  }

  std::string root_;
  std::unique_ptr<KernelView> live_;
};

}  // namespace memstat
