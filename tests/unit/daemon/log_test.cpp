// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "tests/support/page.h"

namespace memstat {
namespace {

using namespace std::string_view_literals;
using testing::ContainsRegex;
using testing::EndsWith;
using testing::HasSubstr;
using testing::SizeIs;

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

TEST(Log, WritesFromItsLevelUp) {
  const auto all = [](Log& log) {
    for (const LogLevel level :
         {LogLevel::kTrace, LogLevel::kDebug, LogLevel::kInfo, LogLevel::kWarning, LogLevel::kError}) {
      log.write(level, "x");
    }
  };
  EXPECT_THAT(lines_of(logged({.level = LogLevel::kTrace}, all)), SizeIs(5));
  EXPECT_THAT(lines_of(logged({.level = LogLevel::kInfo}, all)), SizeIs(3));
  EXPECT_THAT(lines_of(logged({.level = LogLevel::kWarning}, all)), SizeIs(2));
  const std::string errors = logged({.level = LogLevel::kError}, all);
  EXPECT_THAT(lines_of(errors), SizeIs(1));
  EXPECT_THAT(errors, HasSubstr("error: x"));
}

TEST(Log, AMessageIsAlwaysOneLineWithoutControlCharacters) {
  const std::string text = logged({}, [](Log& log) { log.error("a\nb\tc\x1B[31m\x7F\0d"sv); });
  EXPECT_THAT(text, EndsWith("error: a\\x0ab\\x09c\\x1b[31m\\x7f\\x00d\n"));
  EXPECT_THAT(lines_of(text), SizeIs(1));
}

TEST(Log, BracesAndPercentSignsAreNoFormat) {
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
  EXPECT_THAT(lines[0], EndsWith("\"message\":\"say \\\"hi\\\" \\\\ and\\u000abye\\u0001\"}"));
  EXPECT_THAT(lines[1], EndsWith("\"message\":\"r\xC3\xA9sum\xC3\xA9\"}"));
}

TEST(Log, LevelAndFormatChangeWhileItRuns) {
  const std::string text = logged({.level = LogLevel::kError}, [](Log& log) {
    log.info("not seen");
    log.configure({.level = LogLevel::kInfo, .format = LogFormat::kJson});
    log.info("seen");
  });
  EXPECT_THAT(lines_of(text), SizeIs(1));
  EXPECT_THAT(text, HasSubstr("\"message\":\"seen\""));
}

TEST(Log, LinesOfSeveralThreadsAreWhole) {
  const std::string text = logged({}, [](Log& log) {
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&log, i] {
        for (int line = 0; line < 50; ++line) {
          log.info(std::string(40, static_cast<char>('a' + i)));
          if (i == 0 && line == 25) log.configure({});
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  });
  const std::vector<std::string> lines = lines_of(text);
  EXPECT_THAT(lines, SizeIs(200));
  for (const std::string& line : lines) EXPECT_THAT(line, ContainsRegex(" info: (a{40}|b{40}|c{40}|d{40})$"));
}

}  // namespace
}  // namespace memstat
