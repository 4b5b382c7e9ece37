// SPDX-License-Identifier: BSD-2-Clause
// The name of a type that is a function of the kernel: "function", or "function [module]" for one of a module's.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

namespace memstat {

/// Puts such a name together on the stack, byte by byte as the kernel gave it. The kernel's own limits are 512
/// (KSYM_NAME_LEN) and 56 (MODULE_NAME_LEN); what is longer is no name, and is cut. Thread safety: a plain value.
class SymbolName {
 public:
  static constexpr std::size_t kLongestFunction = 512;  ///< B
  static constexpr std::size_t kLongestModule = 63;     ///< B, without brackets
  static constexpr std::size_t kLongestSuffix = 32;     ///< B

  /// `module` is without its brackets; empty: the kernel itself.
  explicit SymbolName(std::string_view function, std::string_view module = {}) {
    put(function.substr(0, kLongestFunction));
    if (module.empty()) return;
    put(" [");
    put(module.substr(0, kLongestModule));
    put("]");
  }
  /// Puts `text` behind it, as much as there is room for: kLongestSuffix at least, of all calls together.
  void append(std::string_view text) { put(text.substr(0, bytes_.size() - size_)); }

  /// Lives as long as this, and until the next append.
  [[nodiscard]] std::string_view view() const { return {bytes_.data(), size_}; }

 private:
  void put(std::string_view text) {
    std::copy(text.begin(), text.end(), bytes_.data() + size_);
    size_ += text.size();
  }
  std::array<char, kLongestFunction + kLongestModule + kLongestSuffix + 3> bytes_;  // only the first size_ count
  std::size_t size_ = 0;
};

}  // namespace memstat
