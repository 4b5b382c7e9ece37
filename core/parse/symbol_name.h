// SPDX-License-Identifier: BSD-2-Clause
// The name of a type that is a kernel function: "function", or "function [module]" for one in a module.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

namespace memstat {

/// Builds such a name on the stack from the kernel's bytes. The kernel's limits are 512 (KSYM_NAME_LEN) and 56
/// (MODULE_NAME_LEN). Longer input is not a valid name and is truncated.
class SymbolName {
 public:
  static constexpr std::size_t kMaxFunctionSize = 512;  ///< B
  static constexpr std::size_t kMaxModuleSize = 63;     ///< B, without brackets
  static constexpr std::size_t kMaxSuffixSize = 32;     ///< B

  /// `module` is without brackets; empty for the kernel itself.
  explicit SymbolName(std::string_view function, std::string_view module = {}) {
    put(function.substr(0, kMaxFunctionSize));
    if (module.empty()) return;
    put(" [");
    put(module.substr(0, kMaxModuleSize));
    put("]");
  }
  /// Appends `text`, truncated to the remaining room: at least kMaxSuffixSize for all calls together.
  void append(std::string_view text) { put(text.substr(0, bytes_.size() - size_)); }

  /// Valid until the next append, and as long as this object.
  [[nodiscard]] std::string_view view() const { return {bytes_.data(), size_}; }

 private:
  void put(std::string_view text) {
    std::copy(text.begin(), text.end(), bytes_.data() + size_);
    size_ += text.size();
  }
  std::array<char, kMaxFunctionSize + kMaxModuleSize + kMaxSuffixSize + 3> bytes_;  // uninitialized beyond size_
  std::size_t size_ = 0;
};

}  // namespace memstat
