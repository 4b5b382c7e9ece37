// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/telemetry/log.h"

#include "tests/support/test.h"

#include <fcntl.h>
#include <unistd.h>

#include <future>

namespace memstat {
namespace {

using std::chrono::milliseconds;
constexpr std::chrono::seconds kLogPatience{60};

/// A pipe whose read end belongs to the test.
class Pipe {
 public:
  Pipe() {
    if (pipe2(ends_, O_CLOEXEC) != 0) ADD_FAILURE() << "no pipe";
  }
  ~Pipe() {
    close_reader();
    close(ends_[1]);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  [[nodiscard]] int writer() const { return ends_[1]; }
  void close_reader() {
    if (ends_[0] >= 0) close(ends_[0]);
    ends_[0] = -1;
  }
  /// At least N bytes, or up to the end.
  [[nodiscard]] std::string read_bytes(std::size_t least) const {
    std::string text;
    char piece[65536];
    while (text.size() < least) {
      const ssize_t got = ::read(ends_[0], piece, sizeof piece);
      if (got <= 0) break;
      text.append(piece, static_cast<std::size_t>(got));
    }
    return text;
  }
  /// Until it takes no more.
  std::size_t fill() const {
    const int flags = fcntl(ends_[1], F_GETFL);
    fcntl(ends_[1], F_SETFL, flags | O_NONBLOCK);
    std::size_t filled = 0;
    const std::string piece(4096, 'f');
    for (ssize_t put = 0; (put = ::write(ends_[1], piece.data(), piece.size())) > 0;)
      filled += static_cast<std::size_t>(put);
    fcntl(ends_[1], F_SETFL, flags);
    return filled;
  }

 private:
  int ends_[2] = {-1, -1};
};

std::string numbered(int number) { return "line " + std::to_string(number) + "\n"; }

TEST(LogQueue, WithoutAThreadAFullPipeDelaysNothingAndLosesNothingThatFits) {
  const Pipe pipe;
  const std::size_t filled = pipe.fill();
  LogQueue queue(pipe.writer(), 4096);
  queue.push("one\n");
  queue.push("two\n");
  EXPECT_FALSE(queue.flush(milliseconds(1)));
  EXPECT_EQ(pipe.read_bytes(filled).size(), filled);
  queue.push("three\n");
  EXPECT_EQ(pipe.read_bytes(14), "one\ntwo\nthree\n");
  EXPECT_EQ(queue.dropped(), 0U);
}

TEST(LogQueue, ALineThatDoesNotFitIsDroppedWholeAndCounted) {
  const Pipe pipe;
  const std::size_t filled = pipe.fill();
  LogQueue queue(pipe.writer(), 16);
  queue.push("0123456789\n");
  queue.push("too long\n");
  queue.push("it\n");
  queue.push("no\n");
  EXPECT_EQ(queue.dropped(), 2U);
  EXPECT_EQ(pipe.read_bytes(filled).size(), filled);
  EXPECT_TRUE(queue.flush(std::chrono::seconds(60)));
  EXPECT_EQ(pipe.read_bytes(14), "0123456789\nit\n");
}

TEST(LogQueue, AThreadWritesEveryLineInOrderAroundTheRing) {
  const Pipe pipe;
  std::string expected;
  for (int i = 0; i < 5000; ++i) expected += numbered(i);
  auto all = std::async(std::launch::async, [&] { return pipe.read_bytes(expected.size()); });
  LogQueue queue(pipe.writer(), 1000);
  queue.start_thread();
  for (int i = 0; i < 5000; ++i) {
    if (i % 50 == 0) {
      ASSERT_TRUE(queue.flush(kLogPatience));
    }
    queue.push(numbered(i));
  }
  ASSERT_TRUE(queue.flush(kLogPatience));
  EXPECT_EQ(all.get(), expected);
  EXPECT_EQ(queue.dropped(), 0U);
}

TEST(LogQueue, AnUnreadPipeKeepsNeitherWritersNorTheEndWaiting) {
  const Pipe pipe;
  pipe.fill();
  LogQueue queue(pipe.writer(), 1000);
  queue.start_thread();
  std::vector<std::thread> writers;
  for (int writer = 0; writer < 4; ++writer) {
    writers.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) queue.push(numbered(i));
    });
  }
  for (std::thread& writer : writers) writer.join();
  EXPECT_GT(queue.dropped(), 3000U);
  EXPECT_FALSE(queue.flush(milliseconds(1)));
}  // and here the queue ends although nothing is ever read

}  // namespace
}  // namespace memstat
