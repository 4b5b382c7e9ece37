// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <new>
#include <string>
#include <vector>

#include "tests/support/failing_allocations.h"

namespace memstat {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

/// A parsed command line and what was printed meanwhile.
struct Outcome {
  ParsedCommandLine parsed;
  std::string out;
  std::string err;
};

Outcome parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "memstatd");
  arguments.push_back(nullptr);
  Outcome outcome;
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  outcome.parsed = parse_command_line(static_cast<int>(arguments.size()) - 1, arguments.data(), "1.2.3");
  std::fflush(stdout);
  outcome.out = testing::internal::GetCapturedStdout();
  outcome.err = testing::internal::GetCapturedStderr();
  return outcome;
}

TEST(Options, WithoutFlagsEverythingHasItsDefault) {
  const Outcome outcome = parse({});
  EXPECT_FALSE(outcome.parsed.exit_status);
  const CommandLine& options = outcome.parsed.options;
  EXPECT_EQ(options.config_file, "");
  EXPECT_TRUE(options.listen.empty());
  EXPECT_FALSE(options.interval || options.tier || options.log_level || options.polls);
  EXPECT_FALSE(options.check_config || options.no_sandbox || options.once || options.replay_loop || options.list_metrics ||
               options.list_sources);
  EXPECT_EQ(options.replay_speed, 1);
  EXPECT_EQ(options.format, ExpositionFormat::kText);
  EXPECT_EQ(outcome.out + outcome.err, "");
  Config config;
  apply(options, config);
  EXPECT_TRUE(config == Config{});
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
  const Outcome outcome = parse({"--config",
                                 "/etc/m.yaml",
                                 "--check-config",
                                 "--listen",
                                 "127.0.0.1:0",
                                 "--listen",
                                 "127.0.0.1:81",
                                 "--interval",
                                 "1m30s",
                                 "--once",
                                 "--format",
                                 "protobuf",
                                 "--replay",
                                 "capture.tar",
                                 "--replay-speed",
                                 "2.5",
                                 "--replay-loop",
                                 "--polls",
                                 "3",
                                 "--record",
                                 "new",
                                 "--list-metrics",
                                 "--list-sources",
                                 "--no-sandbox",
                                 "--tier",
                                 "minimal",
                                 "--log-level",
                                 "debug"});
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
  const Outcome outcome = parse({"--listen", "127.0.0.1:1", "--interval", "2s", "--record", "there", "--no-sandbox",
                                 "--tier", "full", "--log-level", "error"});
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

class BadOptionsTest : public testing::TestWithParam<std::vector<const char*>> {};

TEST_P(BadOptionsTest, EndWithStatus2AndAMessageOnStandardError) {
  const Outcome outcome = parse(GetParam());
  EXPECT_EQ(outcome.parsed.exit_status, 2);
  EXPECT_THAT(outcome.err, StartsWith("memstatd: "));
  EXPECT_THAT(outcome.err, HasSubstr("--help"));
  EXPECT_EQ(outcome.out, "");
}

INSTANTIATE_TEST_SUITE_P(
    All, BadOptionsTest,
    testing::Values(std::vector<const char*>{"--nonsense"}, std::vector<const char*>{"stray"},
                    std::vector<const char*>{"--config"}, std::vector<const char*>{"--listen", "localhost:1"},
                    std::vector<const char*>{"--listen", "127.0.0.1:65536"},
                    std::vector<const char*>{"--listen", "127.0.0.1"}, std::vector<const char*>{"--listen", ""},
                    std::vector<const char*>{"--interval", "10"}, std::vector<const char*>{"--interval", "1ms"},
                    std::vector<const char*>{"--interval", "-1s"}, std::vector<const char*>{"--interval", ""},
                    std::vector<const char*>{"--polls", "0"}, std::vector<const char*>{"--polls", "-1"},
                    std::vector<const char*>{"--polls", "many"}, std::vector<const char*>{"--polls", "99999999999999999999"},
                    std::vector<const char*>{"--replay-speed", "2"}, std::vector<const char*>{"--replay-loop"},
                    std::vector<const char*>{"--replay", "c", "--replay-speed", "0"},
                    std::vector<const char*>{"--replay", "c", "--replay-speed", "-1"},
                    std::vector<const char*>{"--replay", "c", "--replay-speed", "inf"},
                    std::vector<const char*>{"--replay", "c", "--replay-speed", "nan"},
                    std::vector<const char*>{"--replay", "c", "--replay-speed", "fast"},
                    std::vector<const char*>{"--tier", "big"}, std::vector<const char*>{"--tier", ""},
                    std::vector<const char*>{"--log-level", "loud"}, std::vector<const char*>{"--log-level", ""},
                    std::vector<const char*>{"--once", "--once=maybe"}, std::vector<const char*>{"--format", "text"},
                    std::vector<const char*>{"--once", "--format", "json"},
                    std::vector<const char*>{"--once", "--format", ""}));

TEST(Options, AMistakesMessageNamesTheOptionAndWhatWouldBeRight) {
  EXPECT_THAT(parse({"--interval", "10"}).err, HasSubstr("--interval"));
  EXPECT_THAT(parse({"--log-level", "loud"}).err, HasSubstr("warning"));
  EXPECT_THAT(parse({"--tier", "big"}).err, HasSubstr("minimal, default or full"));
  EXPECT_THAT(parse({"--listen", "localhost:1"}).err, HasSubstr("--listen"));
  EXPECT_THAT(parse({"--nonsense"}).err, HasSubstr("--nonsense"));
}

TEST(Options, VersionIsPrintedWithStatus0) {
  const Outcome outcome = parse({"--version"});
  EXPECT_EQ(outcome.parsed.exit_status, 0);
  EXPECT_EQ(outcome.out, "memstatd 1.2.3\n");
  EXPECT_THAT(outcome.err, IsEmpty());
}

TEST(Options, HelpNamesEveryFlagOfThisVersion) {
  const Outcome outcome = parse({"--help"});
  EXPECT_EQ(outcome.parsed.exit_status, 0);
  EXPECT_THAT(outcome.err, IsEmpty());
  for (const char* flag : {"--config", "--check-config", "--listen", "--interval", "--once", "--replay", "--replay-speed",
                           "--replay-loop", "--polls", "--record", "--format", "--list-metrics", "--list-sources",
                           "--no-sandbox", "--tier", "--log-level", "--version", "--help"}) {
    EXPECT_THAT(outcome.out, HasSubstr(flag));
  }
}

}  // namespace
}  // namespace memstat
