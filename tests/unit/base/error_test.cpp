// SPDX-License-Identifier: BSD-2-Clause
#include "core/base/error.h"

#include "core/base/clock.h"
#include "core/base/result.h"
#include "tests/support/result_checks.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

TEST(ErrorCode, NumbersAreThoseOfLibmemstat) {
  EXPECT_EQ(static_cast<int>(ErrorCode::kNoMemory), 1);
  EXPECT_EQ(static_cast<int>(ErrorCode::kVersion), 2);
  EXPECT_EQ(static_cast<int>(ErrorCode::kPermission), 3);
  EXPECT_EQ(static_cast<int>(ErrorCode::kTooManyCpus), 4);
  EXPECT_EQ(static_cast<int>(ErrorCode::kData), 5);
  EXPECT_EQ(static_cast<int>(ErrorCode::kKvm), 6);
  EXPECT_EQ(static_cast<int>(ErrorCode::kKvmNoSymbol), 7);
  EXPECT_EQ(static_cast<int>(ErrorCode::kKvmShortRead), 8);
}

TEST(ErrorCode, EachHasAUniqueWordThatFitsALabel) {
  std::set<std::string_view> words;
  for (const int code : {0, 1, 2, 3, 4, 5, 6, 7, 8, 16, 17, 18}) {
    const std::string_view word = reason(static_cast<ErrorCode>(code));
    EXPECT_TRUE(words.insert(word).second) << word;
    EXPECT_EQ(word.find_first_not_of("abcdefghijklmnopqrstuvwxyz_"), std::string_view::npos) << word;
  }
  EXPECT_EQ(reason(static_cast<ErrorCode>(99)), "unknown");
}

TEST(ErrorCode, ErrnoDistinguishesAbsentForbiddenAndBroken) {
  for (const int absent : {ENOENT, ENOTDIR, ENODEV, ENXIO, EOPNOTSUPP})
    EXPECT_EQ(code_of_errno(absent), ErrorCode::kNotPresent);
  for (const int denied : {EACCES, EPERM}) EXPECT_EQ(code_of_errno(denied), ErrorCode::kPermission);
  EXPECT_EQ(code_of_errno(ENOMEM), ErrorCode::kNoMemory);
  EXPECT_EQ(code_of_errno(ETIMEDOUT), ErrorCode::kTimeout);
  EXPECT_EQ(code_of_errno(EIO), ErrorCode::kIo);
}

TEST(ErrorText, NamesSourcePathOffsetWhatAndErrno) {
  Error error = data_error("/proc/slabinfo", 117, "a number has 21 digits");
  error.source = "linux_slabinfo";
  EXPECT_EQ(to_string(error), "linux_slabinfo: /proc/slabinfo: offset 117: a number has 21 digits");
  EXPECT_EQ(to_string(system_error("/proc/x", EACCES, "start as root")),
            "/proc/x: start as root: Permission denied (errno " + std::to_string(EACCES) + ")");
  EXPECT_EQ(to_string(Error{}), "unknown error");
  EXPECT_EQ(to_string(no_memory_error("/proc/x", "std::bad_alloc")), "/proc/x: out of memory: std::bad_alloc");
}

TEST(ErrorText, OffsetZeroIsAnOffset) { EXPECT_EQ(to_string(data_error("f", 0, "empty")), "f: offset 0: empty"); }

TEST(ErrorText, HasNoCodeInIt) {
  for (const int code : {1, 2, 3, 4, 5, 6, 7, 8, 16, 17, 18}) {
    Error error = data_error("f", 0, "");
    error.code = static_cast<ErrorCode>(code);
    const std::string code_word = ": " + std::string(reason(error.code));
    for (const char* const detail : {"", "why"}) {
      for (const int number : {0, EIO}) {
        error.detail = detail;
        error.system_errno = number;
        EXPECT_NE((to_string(error) + ":").find(": "), std::string::npos);
        EXPECT_EQ((to_string(error) + ":").find(code_word + ":"), std::string::npos) << to_string(error);
        EXPECT_GT(to_string(error).size(), std::string("f: offset 0: ").size());
      }
    }
  }
}

TEST(Result, HoldsEitherAValueOrAnError) {
  Result<int> good = 7;
  ASSERT_TRUE(good);
  EXPECT_EQ(*good, 7);
  EXPECT_TRUE(fails(Result<int>(system_error("p", EIO)), {.code = ErrorCode::kIo, .path = "p"}));
}

TEST(Result, MovesAValueThatCannotBeCopied) {
  Result<std::unique_ptr<int>> result = std::make_unique<int>(5);
  const std::unique_ptr<int> taken = *std::move(result);
  EXPECT_EQ(*taken, 5);
}

TEST(Result, OfNothingIsSuccessUnlessGivenAnError) {
  const Result<void> good;
  EXPECT_TRUE(good);
  Result<void> bad = system_error("p", ENOENT);
  EXPECT_FALSE(bad);
  bad.error().source = "s";
  EXPECT_EQ(bad.error().source, "s");
}

TEST(SystemClock, MonotonicDoesNotGoBackAndRealtimeIsAfter2020) {
  const SystemClock clock;
  const std::int64_t first = clock.monotonic_ns();
  EXPECT_GE(clock.monotonic_ns(), first);
  EXPECT_GT(clock.realtime_ns(), 1'577'836'800'000'000'000);
}

}  // namespace
}  // namespace memstat
