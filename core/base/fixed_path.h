// SPDX-License-Identifier: BSD-2-Clause
// A path on the stack. Steady-state reads of the kernel allocate nothing from the heap, and system calls need a terminating
// NUL that a std::string_view does not have.
#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <string_view>

namespace memstat {

/// Whether `name` is a single path component: not empty, not "." or "..", no slash, no NUL.
inline bool is_safe_component(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string_view::npos &&
         name.find('\0') == std::string_view::npos;
}

/// Whether `path` is relative and all its components are safe.
inline bool is_safe_relative_path(std::string_view path) {
  while (true) {
    const std::size_t slash = path.find('/');
    if (!is_safe_component(path.substr(0, slash))) return false;
    if (slash == std::string_view::npos) return true;
    path.remove_prefix(slash + 1);
  }
}

/// Holds at most 4095 bytes and a NUL. Text that does not fit, or contains a NUL, is rejected and leaves the path unchanged.
class FixedPath {
 public:
  static constexpr std::size_t kCapacity = 4096;

  FixedPath() { bytes_[0] = '\0'; }

  [[nodiscard]] bool assign(std::string_view text) {
    if (!fits(0, text)) return false;
    put(0, text);
    return true;
  }
  [[nodiscard]] bool append(std::string_view text) {
    if (!fits(size_, text)) return false;
    put(size_, text);
    return true;
  }
  /// Appends a name, preceded by a slash unless the path is empty.
  [[nodiscard]] bool append_component(std::string_view name) {
    const std::size_t old_size = size_;
    if ((size_ == 0 || append("/")) && append(name)) return true;
    truncate(old_size);
    return false;
  }
  /// Truncates the path to `size` bytes. Requires size <= size().
  void truncate(std::size_t size) {
    size_ = size;
    bytes_[size_] = '\0';
  }
  void remove_last_component() {
    const std::size_t slash = view().rfind('/');
    truncate(slash == std::string_view::npos ? 0 : slash);
  }

  [[nodiscard]] std::string_view view() const { return {bytes_.data(), size_}; }
  [[nodiscard]] const char* c_str() const { return bytes_.data(); }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }

 private:
  static bool fits(std::size_t at, std::string_view text) {
    return text.size() < kCapacity - at && text.find('\0') == std::string_view::npos;
  }
  void put(std::size_t at, std::string_view text) {
    if (!text.empty()) std::memcpy(bytes_.data() + at, text.data(), text.size());
    truncate(at + text.size());
  }

  std::array<char, kCapacity> bytes_;  // uninitialized beyond size_
  std::size_t size_ = 0;
};

}  // namespace memstat
