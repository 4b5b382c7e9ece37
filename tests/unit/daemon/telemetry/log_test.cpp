// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/telemetry/log.h"

#include <fcntl.h>
#include <unistd.h>

#include "tests/support/page.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

using namespace std::string_view_literals;
using testing::ContainsRegex;
using testing::EndsWith;

/// What `write` sends to standard error.
template <typename Write>
std::string logged(const LogConfig& config, Write write) {
  testing::internal::CaptureStderr();
  {
    Log log(config);
    write(log);
  }
  return testing::internal::GetCapturedStderr();
}

TEST(Log, ALineHasTimeLevelAndMessage) {
  const std::string text = logged({}, [](Log& log) { log.info("all is well"); });
  EXPECT_THAT(text, ContainsRegex("^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]{12}[+-][0-9]{2}:[0-9]{2} info: all is well\n$"));
}

TEST(Log, AMessageIsAlwaysOneLineWithoutControlCharacters) {
  const std::string text = logged({}, [](Log& log) { log.error("a\nb\tc\x1B[31m\x7F\0d"sv); });
  EXPECT_THAT(text, EndsWith("error: a\\x0ab\\x09c\\x1b[31m\\x7f\\x00d\n"));
  EXPECT_THAT(lines_of(text), SizeIs(1));
}

TEST(Log, BracesAndPercentSignsAreLiteral) {
  const std::string text = logged({}, [](Log& log) { log.info("100% of {} {0} %v %l {:d}"); });
  EXPECT_THAT(text, EndsWith("info: 100% of {} {0} %v %l {:d}\n"));
}

TEST(Log, JsonIsOneObjectALine) {
  const std::string text = logged({.format = LogFormat::kJson}, [](Log& log) {
    log.warning("say \"hi\" \\ and\nbye\x01");
    log.info("r\xC3\xA9sum\xC3\xA9");
  });
  const std::vector<std::string> lines = lines_of(text);
  ASSERT_THAT(lines, SizeIs(2));
  EXPECT_THAT(lines[0], ContainsRegex("^\\{\"time\":\"[^\"]+\",\"level\":\"warning\",\"message\":\""));
  EXPECT_THAT(lines[0], EndsWith("\"message\":\"say \\\"hi\\\" \\\\ and\\nbye\\u0001\"}"));
  EXPECT_THAT(lines[1], EndsWith("\"message\":\"r\xC3\xA9sum\xC3\xA9\"}"));
}

TEST(Log, DroppedLinesAreCountedAndReportedBeforeTheNextLine) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
  const std::string filling(4096, 'f');
  while (::write(ends[1], filling.data(), filling.size()) > 0) continue;
  std::string text;
  {
    Log log({}, ends[1]);
    log.start_thread();
    const std::string line(1000, 'x');
    for (std::size_t i = 0; i < 2 * Log::kCapacityBytes / line.size(); ++i) log.info(line);
    const std::uint64_t dropped = log.dropped();
    EXPECT_GT(dropped, Log::kCapacityBytes / line.size() / 2);
    const auto drain = [&] {
      char piece[65536];
      for (ssize_t got = 0; (got = ::read(ends[0], piece, sizeof piece)) > 0;) {
        text.append(piece, static_cast<std::size_t>(got));
      }
    };
    while (!log.flush(std::chrono::milliseconds(1))) drain();
    drain();  // what was written since may fill the pipe
    log.info("at last");
    ASSERT_TRUE(log.flush(std::chrono::seconds(60)));
    drain();
    EXPECT_THAT(text, EndsWith("info: at last\n"));
    std::uint64_t reported = 0;  // the line that reports this may fit where a longer one does not
    for (const std::string& said : lines_of(text.substr(text.find_first_not_of('f')))) {
      if (said.find(" lines before this one were dropped") == std::string::npos) continue;
      reported += std::stoull(said.substr(said.find("warning: ") + 9));
    }
    EXPECT_EQ(reported, dropped);
    EXPECT_EQ(log.dropped(), dropped);
  }
  close(ends[0]);
  close(ends[1]);
}

}  // namespace
}  // namespace memstat
