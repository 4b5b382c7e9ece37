// SPDX-License-Identifier: BSD-2-Clause
// Tables of this machine's kernel for tests.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <string_view>

#include "core/base/error.h"
#include "core/kernel/kernel_view.h"
#include "tests/support/child_process.h"

namespace memstat {

/// Settings of a source of events that counts all, at any cost.
inline constexpr std::string_view kWithoutLimit = "counters 1000000000";

/// For SetUp, as its last step: skips the test, with the reason, if this kernel does not have or does not permit the table,
/// and fails if it cannot be opened for another reason.
inline void open_or_skip(TextTableSource& table) {
  const auto opened = table.open();
  if (opened) return;
  const ErrorCode code = opened.error().code;
  if (code == ErrorCode::kNotPresent || code == ErrorCode::kPermission) GTEST_SKIP() << to_string(opened.error());
  FAIL() << to_string(opened.error());
}

/// Checks that a table from make(), opened without privileges, names those that it needs. Skips if there is no such table.
template <typename Make>
void expect_says_what_it_needs(Make make) {
  constexpr int kNotPresent = 77;
  const int status = exit_status_of_child([&] {
    if (!become_nobody()) return 2;
    const auto result = make()->open();
    if (result) return 3;
    if (result.error().code == ErrorCode::kNotPresent) return kNotPresent;
    return result.error().code == ErrorCode::kPermission && result.error().detail.find("CAP_BPF") != std::string::npos ? 0
                                                                                                                       : 1;
  });
  if (status == kNotPresent) GTEST_SKIP() << "this kernel has no such events, or this build no libbpf";
  EXPECT_EQ(status, 0);
}

/// Whether /proc/slabinfo has a cache of that name, so that its events are not counted for another cache that it was merged
/// with.
inline bool has_slab_cache(const std::string& cache) {
  std::ifstream file("/proc/slabinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(cache + " ")) return true;
  }
  return false;
}

}  // namespace memstat
