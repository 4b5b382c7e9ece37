// SPDX-License-Identifier: BSD-2-Clause
// A FreeBSD kernel of made-up sysctls, each a number of a chosen width, which may fail and can be listed.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/kernel/kernel_view.h"

namespace memstat {

/// Thread safety: none.
class SysctlKernel : public KernelView {
 public:
  void set_u32(std::string_view name, std::uint32_t value) { set(name, bytes_of(value)); }
  void set_u64(std::string_view name, std::uint64_t value) { set(name, bytes_of(value)); }
  void set(std::string_view name, std::string bytes) { sysctls.insert_or_assign(std::string(name), std::move(bytes)); }
  void remove_tree(std::string_view prefix) {
    std::erase_if(sysctls, [prefix](const auto& sysctl) { return sysctl.first.starts_with(prefix); });
  }
  template <typename T>
  static std::string bytes_of(T value) {
    std::string bytes(sizeof value, '\0');
    std::memcpy(bytes.data(), &value, sizeof value);
    return bytes;
  }

  std::map<std::string, std::string, std::less<>> sysctls;  ///< Bytes by name.
  std::map<std::string, int, std::less<>> failures;         ///< errno by name.
  std::map<std::string, int, std::less<>> reads;            ///< How often each was read.
  int listings = 0;
  bool is_recorded = false;  ///< wants_whole_polls().
  bool is_live = false;      ///< reads_this_machine().

  [[nodiscard]] OperatingSystem os() const override { return OperatingSystem::kFreeBsd; }
  [[nodiscard]] std::uint64_t page_size() const override { return 4096; }
  [[nodiscard]] std::uint32_t cpu_count() const override { return 2; }
  Result<void> read_sysctl(std::string_view name, Buffer& out, std::size_t) override {
    ++reads[std::string(name)];
    if (const auto failure = failures.find(name); failure != failures.end()) return system_error(name, failure->second);
    const auto found = sysctls.find(name);
    if (found == sysctls.end()) return system_error(name, ENOENT);
    out.assign(found->second);
    return {};
  }
  Result<void> open_table(std::string_view, TextTableSource& table) override { return table.open_on(*this); }
  Result<void> read_table(std::string_view, TextTableSource& table, Buffer& out) override {
    return table.read_on(*this, out);
  }
  Result<void> list_sysctls(std::string_view prefix, std::vector<std::string>& names) override {
    ++listings;
    names.clear();
    if (const auto failure = failures.find(prefix); failure != failures.end()) return system_error(prefix, failure->second);
    for (const auto& [name, bytes] : sysctls) {
      if (name.starts_with(std::string(prefix) + ".")) names.push_back(name);
    }
    return names.empty() ? system_error(prefix, ENOENT) : Result<void>();
  }
  [[nodiscard]] bool wants_whole_polls() const override { return is_recorded; }
  [[nodiscard]] bool reads_this_machine() const override { return is_live; }
};

}  // namespace memstat
