// SPDX-License-Identifier: BSD-2-Clause
// Whether a Result is the expected failure, in one statement.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/base/result.h"

namespace memstat {

/// What an error must have. A member without value may be anything.
struct ExpectedError {
  std::optional<ErrorCode> code = {};
  std::optional<std::string_view> path = {};
  std::optional<std::uint64_t> offset = {};
  std::optional<int> system_errno = {};
  std::string_view detail = {};  ///< A part of it.
};

/// EXPECT_TRUE(fails(RESULT, {.code = ErrorCode::kData, .path = kFile})) << "why".
template <typename T>
testing::AssertionResult fails(const Result<T>& result, const ExpectedError& expected = {}) {
  if (result) return testing::AssertionFailure() << "it succeeded";
  const Error& error = result.error();
  const bool is_expected = (!expected.code || error.code == *expected.code) &&
                           (!expected.path || error.path == *expected.path) &&
                           (!expected.offset || error.offset == *expected.offset) &&
                           (!expected.system_errno || error.system_errno == *expected.system_errno) &&
                           error.detail.find(expected.detail) != std::string::npos;
  if (is_expected) return testing::AssertionSuccess();
  return testing::AssertionFailure() << to_string(error) << " (" << reason(error.code) << ", path " << error.path
                                     << ", offset " << (error.offset ? std::to_string(*error.offset) : "none") << ", errno "
                                     << error.system_errno << ")";
}
template <typename T>
testing::AssertionResult fails(const Result<T>& result, ErrorCode code) {
  return fails(result, ExpectedError{.code = code});
}

}  // namespace memstat
