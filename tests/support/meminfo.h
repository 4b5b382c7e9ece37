// SPDX-License-Identifier: BSD-2-Clause
// Reads /proc/meminfo of any view, independently of the tested code.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <sstream>
#include <string>

#include "core/kernel/kernel_view.h"

namespace memstat {

/// The value of a line: bytes where the kernel prints kB, else the number. Nothing if there is no such line.
inline std::optional<std::uint64_t> find_meminfo(KernelView& view, const std::string& key) {
  Buffer text;
  EXPECT_TRUE(view.read_file("/proc/meminfo", text));
  std::istringstream lines{std::string(text.view())};
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(key + ":")) continue;
    return std::stoull(line.substr(key.size() + 1)) * (line.ends_with("kB") ? 1024 : 1);
  }
  return std::nullopt;
}

/// The same for a line that must exist.
inline std::uint64_t meminfo(KernelView& view, const std::string& key) {
  const std::optional<std::uint64_t> value = find_meminfo(view, key);
  EXPECT_TRUE(value.has_value()) << "/proc/meminfo has no " << key;
  return value.value_or(0);
}

}  // namespace memstat
