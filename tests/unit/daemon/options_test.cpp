// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/options.h"

#include <new>

#include "tests/support/failing_allocations.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

/// A parsed command line and its output.
struct Outcome {
  ParsedCommandLine parsed;
  std::string out;
  std::string err;
};

/// Words separated by blanks; '' is an empty one.
Outcome parse(const std::string& line) {
  std::vector<std::string> words{"memstatd"};
  std::istringstream stream(line);
  for (std::string word; stream >> word;) words.push_back(word == "''" ? "" : word);
  std::vector<const char*> arguments;
  for (const std::string& word : words) arguments.push_back(word.c_str());
  arguments.push_back(nullptr);
  Outcome outcome;
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  outcome.parsed = parse_command_line(static_cast<int>(words.size()), arguments.data(), "1.2.3");
  std::fflush(stdout);
  outcome.out = testing::internal::GetCapturedStdout();
  outcome.err = testing::internal::GetCapturedStderr();
  return outcome;
}

TEST(Options, WithoutMemoryTheCommandLineIsNotCalledWrong) {
  const char* const arguments[] = {"memstatd",    "--config", "/etc/a-name-that-needs-memory-of-its-own.yaml",
                                   "--polls",     "3",        "--listen",
                                   "127.0.0.1:0", nullptr};
  std::ptrdiff_t failures = 0;
  for (bool has_failed = true; has_failed; ++failures) {
    const FailingAllocation failing(failures);
    try {
      EXPECT_EQ(parse_command_line(7, arguments, "1.2.3").exit_status, std::nullopt) << failures;
    } catch (const std::bad_alloc&) {
    }
    has_failed = failing.has_failed();
  }
  EXPECT_GT(failures, 100);
}

TEST(Options, EachFlagIsTaken) {
  const Outcome outcome = parse(
      "--config /etc/m.yaml --check-config --listen 127.0.0.1:0 --listen 127.0.0.1:81 --interval 1m30s --once --format "
      "protobuf --replay capture.tar --replay-speed 2.5 --replay-loop --polls 3 --record new --list-metrics --list-sources "
      "--no-sandbox --tier minimal --log-level debug");
  ASSERT_FALSE(outcome.parsed.exit_status) << outcome.err;
  const CommandLine& options = outcome.parsed.options;
  EXPECT_EQ(options.format, ExpositionFormat::kProtobuf);
  EXPECT_EQ(options.config_file, "/etc/m.yaml");
  EXPECT_TRUE(options.check_config);
  ASSERT_EQ(options.listen.size(), 2U);
  EXPECT_EQ(options.listen[0].port, 0);
  EXPECT_EQ(options.listen[1], (Endpoint{kLoopbackAddress, 81}));
  EXPECT_EQ(options.interval, std::chrono::seconds(90));
  EXPECT_TRUE(options.once);
  EXPECT_EQ(options.replay, "capture.tar");
  EXPECT_EQ(options.replay_speed, 2.5);
  EXPECT_TRUE(options.replay_loop);
  EXPECT_EQ(options.polls, 3U);
  EXPECT_EQ(options.record, "new");
  EXPECT_TRUE(options.list_metrics);
  EXPECT_TRUE(options.list_sources);
  EXPECT_TRUE(options.no_sandbox);
  EXPECT_EQ(options.tier, Tier::kMinimal);
  EXPECT_EQ(options.log_level, LogLevel::kDebug);
}

TEST(Options, AFlagBeatsItsKey) {
  const Outcome outcome =
      parse("--listen 127.0.0.1:1 --interval 2s --record there --no-sandbox --tier full --log-level error");
  Config config;
  config.poll.timeout = std::chrono::seconds(7);
  config.capture.record = "elsewhere";
  apply(outcome.parsed.options, config);
  ASSERT_EQ(config.listen.size(), 1U);
  EXPECT_EQ(config.listen[0], (Endpoint{kLoopbackAddress, 1}));
  EXPECT_EQ(config.poll.interval, std::chrono::seconds(2));
  EXPECT_EQ(config.poll.timeout, std::chrono::seconds(7));
  EXPECT_EQ(config.capture.record, "there");
  EXPECT_EQ(config.tier, Tier::kFull);
  EXPECT_EQ(config.log.level, LogLevel::kError);
  EXPECT_FALSE(config.sandbox);
}

TEST(BadOptions, EndWithStatus2AndAMessageOnStandardError) {
  std::istringstream lines(
      "--nonsense|stray|--config|--listen localhost:1|--listen 127.0.0.1:65536|--listen 127.0.0.1|--listen ''|"
      "--interval 10|--interval 1ms|--interval -1s|--interval ''|--polls 0|--polls -1|--polls many|"
      "--polls 99999999999999999999|--replay-speed 2|--replay-loop|--replay c --replay-speed 0|"
      "--replay c --replay-speed -1|--replay c --replay-speed inf|--replay c --replay-speed nan|"
      "--replay c --replay-speed fast|--tier big|--tier ''|--log-level loud|--log-level ''|--once --once=maybe|"
      "--format text|--once --format json|--once --format ''");
  std::size_t count = 0;
  for (std::string line; std::getline(lines, line, '|'); ++count) {
    const Outcome outcome = parse(line);
    EXPECT_EQ(outcome.parsed.exit_status, 2) << line;
    EXPECT_THAT(outcome.err, StartsWith("memstatd: ")) << line;
    EXPECT_THAT(outcome.err, HasSubstr("--help")) << line;
    EXPECT_EQ(outcome.out, "") << line;
  }
  EXPECT_EQ(count, 30U);
}

}  // namespace
}  // namespace memstat
