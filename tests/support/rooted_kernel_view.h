// SPDX-License-Identifier: BSD-2-Clause
// This machine's files below a directory as if it were the root, so that a test can create its own tree of /proc or /sys.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/fixed_path.h"
#include "core/kernel/forwarding_view.h"

namespace memstat {

/// Allocates nothing where the live view does not. Thread safety: as the live view; set the public members
/// before reads.
class RootedKernelView final : public ForwardingKernelView {
 public:
  /// Requires has_live_view().
  explicit RootedKernelView(std::string root) : RootedKernelView(std::move(root), std::move(*make_live_kernel_view())) {}
  static bool has_live_view() { return make_live_kernel_view().has_value(); }

  /// Called with each path before it is read or listed.
  std::function<void(std::string_view)> before;
  /// errno of paths that cannot be read or listed.
  std::map<std::string, int, std::less<>> failures;

  /// Tests change everything between two reads.
  [[nodiscard]] bool reads_this_machine() const override { return false; }
  Result<void> read_file(std::string_view path, Buffer& out) override {
    FixedPath real;
    if (auto entered = enter(path, real); !entered) return entered;
    return inner_.read_file(real.view(), out);
  }
  Result<std::string> read_link(std::string_view path) override {
    FixedPath real;
    if (auto entered = enter(path, real); !entered) return entered.error();
    return inner_.read_link(real.view());
  }
  Result<void> list_directory(std::string_view path, std::vector<std::string>& names) override {
    FixedPath real;
    if (auto entered = enter(path, real); !entered) return entered;
    return inner_.list_directory(real.view(), names);
  }
  Result<void> list_directories(std::string_view path, Buffer& names) override {
    FixedPath real;
    if (auto entered = enter(path, real); !entered) return entered;
    return inner_.list_directories(real.view(), names);
  }
  Result<void> keep_open(std::string_view path) override {
    FixedPath real;
    if (auto entered = enter(path, real); !entered) return entered;
    return inner_.keep_open(real.view());
  }
  /// Tables read the tree, too.
  Result<void> open_table(std::string_view /*source*/, TextTableSource& table) override { return table.open_on(*this); }
  Result<void> read_table(std::string_view /*source*/, TextTableSource& table, Buffer& out) override {
    return table.read_on(*this, out);
  }

 private:
  RootedKernelView(std::string root, std::unique_ptr<KernelView> live)
      : ForwardingKernelView(*live), root_(std::move(root)), live_(std::move(live)) {}

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
