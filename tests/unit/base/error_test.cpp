// SPDX-License-Identifier: BSD-2-Clause
#include "core/base/error.h"

#include <cerrno>
#include <new>
#include <stdexcept>
#include <system_error>

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

TEST(Error, ExceptionsAreExplainedToPeople) {
  EXPECT_TRUE(why(std::bad_alloc()).starts_with("out of memory: raise "));
  EXPECT_TRUE(why(std::system_error(EAGAIN, std::generic_category())).starts_with("no thread can be started: raise "));
  EXPECT_EQ(why(std::runtime_error("a mistake")), "a mistake");
}

}  // namespace
}  // namespace memstat
