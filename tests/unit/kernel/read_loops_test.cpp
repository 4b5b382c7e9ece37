// SPDX-License-Identifier: BSD-2-Clause
#include "core/kernel/read_all.h"
#include "core/kernel/sysctl_read.h"
#include "tests/support/result_checks.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

/// Behaves as read(2) of a file that gives at most `most` bytes a call.
class Reader {
 public:
  Reader(std::string content, std::size_t most) : content_(std::move(content)), most_(most) {}
  long operator()(char* to, std::size_t room) {
    const std::size_t count = std::min({room, most_, content_.size() - at_});
    std::memcpy(to, content_.data() + at_, count);
    at_ += count;
    largest_room = std::max(largest_room, room);
    return static_cast<long>(count);
  }
  std::size_t largest_room = 0;

 private:
  std::string content_;
  std::size_t most_;
  std::size_t at_ = 0;
};

std::string sample(std::size_t size) {
  std::string text(size, ' ');
  for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>('!' + i * 31 % 90);
  return text;
}

TEST(ReadAll, EveryChunkSizeGivesTheSameBytes) {
  const std::string content = sample(10'007);
  for (const std::size_t most : {1UL, 16UL, 255UL, 4096UL, 10'007UL, 100'000UL}) {
    for (const std::size_t capacity : {1UL, 16UL, 4096UL, 65'536UL}) {
      Buffer out;
      Reader reader(content, most);
      ASSERT_TRUE(read_all("f", out, {.first_capacity = capacity}, reader));
      EXPECT_EQ(out.view(), content) << most << " bytes a read into " << capacity;
    }
  }
}

TEST(ReadAll, ContinuesAfterEintr) {
  Buffer out;
  Reader reader("content", 3);
  int calls = 0;
  const auto interrupted = [&](char* to, std::size_t room) -> long {
    if (++calls % 2 == 1) {
      errno = EINTR;
      return -1;
    }
    return reader(to, room);
  };
  ASSERT_TRUE(read_all("f", out, {}, interrupted));
  EXPECT_EQ(out.view(), "content");
}

TEST(ReadAll, ReportsTheErrnoOfALaterRead) {
  Buffer out;
  int calls = 0;
  const auto failing = [&](char* to, std::size_t) -> long {
    if (++calls == 3) {
      errno = EIO;
      return -1;
    }
    *to = 'x';
    return 1;
  };
  EXPECT_TRUE(
      fails(read_all("/proc/f", out, {}, failing), {.code = ErrorCode::kIo, .path = "/proc/f", .system_errno = EIO}));
}

TEST(ReadAll, AFileWithoutAnEndIsAnError) {
  Buffer out;
  const auto endless = [](char* to, std::size_t room) -> long {
    std::memset(to, 'x', room);
    return static_cast<long>(room);
  };
  EXPECT_TRUE(fails(read_all("f", out, {.first_capacity = 16, .max_bytes = 5000}, endless), ErrorCode::kData));
}

/// A file that gives all or a cut part to the first read, as /proc/sys does.
struct VectorFile {
  std::string content;
  std::vector<std::size_t> rooms = {};
  long operator()(char* to, std::size_t room) {
    rooms.push_back(room);
    const std::size_t count = std::min(room, content.size());
    std::memcpy(to, content.data(), count);
    return static_cast<long>(count);
  }
};

TEST(ReadInOne, StartsAgainWhenTheRoomWasFilled) {
  for (const std::size_t size : {255UL, 256UL, 257UL, 5000UL, 200'000UL}) {
    VectorFile file{sample(size)};
    Buffer out;
    ASSERT_TRUE(read_in_one("f", out, file));
    EXPECT_EQ(out.view(), file.content) << size;
  }
}

TEST(ReadInOne, GivesUpOnWhatNeverEnds) {
  VectorFile file{sample(3UL << 20)};
  Buffer out;
  EXPECT_TRUE(fails(read_in_one("f", out, file), ErrorCode::kData));
}

/// Mimics sysctl(3) on a value that may grow with every call.
struct Sysctl {
  std::string content;
  std::size_t grows_by = 0;
  bool cannot_wire = false;
  std::vector<std::size_t> rooms = {};
  int size_questions = 0;
  int operator()(void* to, std::size_t* length) {
    if (to == nullptr) {
      ++size_questions;
      *length = content.size();
      return 0;
    }
    rooms.push_back(*length);
    content.append(grows_by, '+');
    if (cannot_wire) {
      *length = 0;
      return ENOMEM;
    }
    const std::size_t count = std::min(*length, content.size());
    std::memcpy(to, content.data(), count);
    const bool fits = content.size() <= *length;
    *length = count;
    return fits ? 0 : ENOMEM;
  }
};

TEST(GrowAndRetry, AsksForTheSizeWithoutAHint) {
  Sysctl sysctl{sample(5000)};
  Buffer out;
  ASSERT_TRUE(grow_and_retry("kern.x", out, 0, sysctl));
  EXPECT_EQ(out.view(), sysctl.content);
  EXPECT_EQ(sysctl.size_questions, 1);
  EXPECT_EQ(sysctl.rooms.size(), 1U);
}

TEST(GrowAndRetry, AHintFarTooSmallIsCorrectedAtOnce) {
  Sysctl sysctl{sample(1'000'000)};
  Buffer out;
  ASSERT_TRUE(grow_and_retry("kern.x", out, 10, sysctl));
  EXPECT_EQ(out.size(), 1'000'000U);
  EXPECT_EQ(sysctl.rooms.size(), 2U);
}

TEST(GrowAndRetry, CatchesUpWithAStreamThatGrows) {
  Sysctl sysctl{sample(10'000), 1200};
  Buffer out;
  ASSERT_TRUE(grow_and_retry("kern.x", out, 10'000, sysctl));
  EXPECT_EQ(out.view(), sysctl.content);
}

TEST(GrowAndRetry, GivesUpAfterEightRetriesEachAnEighthLarger) {
  Sysctl sysctl{sample(10'000), 0, true};
  Buffer out;
  EXPECT_TRUE(fails(grow_and_retry("kern.malloc_stats", out, 0, sysctl),
                    {.code = ErrorCode::kNoMemory, .path = "kern.malloc_stats"}));
  ASSERT_EQ(sysctl.rooms.size(), 9U);
  for (std::size_t i = 1; i < sysctl.rooms.size(); ++i) EXPECT_GE(sysctl.rooms[i], sysctl.rooms[i - 1] / 8 * 9);
}

TEST(GrowAndRetry, PassesOtherErrnosOnWithoutRetrying) {
  Buffer out;
  int calls = 0;
  const auto result = grow_and_retry("kern.x", out, 100, [&calls](void*, std::size_t*) { return ++calls, EPERM; });
  ASSERT_TRUE(fails(result, ErrorCode::kPermission));
  EXPECT_EQ(calls, 1);
  const auto absent = grow_and_retry("kern.x", out, 0, [](void*, std::size_t*) { return ENOENT; });
  EXPECT_EQ(absent.error().code, ErrorCode::kNotPresent);
}

TEST(GrowAndRetry, RejectsALengthBeyondItsRoom) {
  Buffer out;
  const auto result = grow_and_retry("kern.x", out, 100, [](void*, std::size_t* length) { return *length = 1UL << 40, 0; });
  ASSERT_TRUE(fails(result, ErrorCode::kData));
}

TEST(GrowAndRetry, ALyingSizeIsBounded) {
  Buffer out(std::string(100, 'x'));
  const auto result = grow_and_retry("kern.x", out, 100, [](void* to, std::size_t* length) {
    if (to == nullptr) return *length = 0, 0;
    return ENOMEM;
  });
  ASSERT_TRUE(fails(result, ErrorCode::kNoMemory));
  EXPECT_LT(out.capacity(), 10'000U);
}

}  // namespace
}  // namespace memstat
