// SPDX-License-Identifier: BSD-2-Clause
// Opens a table of this machine's kernel for a test.
#pragma once

#include <gtest/gtest.h>

#include <string_view>

#include "core/base/error.h"
#include "core/kernel/kernel_view.h"

namespace memstat {

/// Settings of a source of events that counts all, whatever that costs.
inline constexpr std::string_view kWithoutLimit = "counters 1000000000";

/// For SetUp, as its last step: the test is skipped, with the reason, where this kernel does not have the table or does not
/// permit it, and fails where it cannot be opened for another reason.
inline void open_or_skip(LiveTable& table) {
  const auto opened = table.open();
  if (opened) return;
  const ErrorCode code = opened.error().code;
  if (code == ErrorCode::kNotPresent || code == ErrorCode::kPermission) GTEST_SKIP() << to_string(opened.error());
  FAIL() << to_string(opened.error());
}

}  // namespace memstat
