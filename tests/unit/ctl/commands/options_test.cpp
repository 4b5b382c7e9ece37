// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/commands/options.h"

#include "tests/support/test.h"

namespace memstat::ctl {
namespace {

ParsedCommandLine parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "memstatctl");
  return parse_command_line(static_cast<int>(arguments.size()), arguments.data());
}

TEST(CtlCommands, AreRowsWithUniqueNamesThatParse) {
  std::set<std::string_view> names;
  for (const Command* const command : commands()) {
    SCOPED_TRACE(command->name);
    EXPECT_TRUE(names.insert(command->name).second);
    EXPECT_EQ(find_command(command->name), command);
    EXPECT_NE(std::string_view(command->help), "");
    EXPECT_NE(std::string_view(command->examples).find("memstatctl "), std::string_view::npos);
    const bool takes_words = std::any_of(command->options.begin(), command->options.end(), [](const Option& option) {
      const std::string_view name = option.name;
      return option.is_argument() && name != "SHELL" && name != "STATE";  // one of three; two of them
    });
    EXPECT_EQ(parse({command->name, "--json", "1"}).options.command != nullptr, takes_words);
  }
  EXPECT_EQ(find_command("malloc "), nullptr);
  EXPECT_TRUE(command_names(" or ").starts_with("why, incidents, top, hosts, demo, types, "));
  EXPECT_TRUE(command_names(" or ").ends_with(", doctor or completion"));
  EXPECT_EQ(find_command("memuse"), find_command("stacks"));
  EXPECT_EQ(find_command("cpu"), find_command("show"));
  EXPECT_EQ(find_command(""), nullptr);
}

TEST(CtlOptions, AreTakenAsTheyAreGiven) {
  const CommandLine options = parse({"malloc", "--from", "a b.tar@3", "--json", "--format", "freebsd-12"}).options;
  EXPECT_EQ(options.from, "a b.tar@3");
  EXPECT_TRUE(options.json);
  EXPECT_EQ(options.format, Format::kFreeBsd12);
  EXPECT_EQ(parse({"zones", "--format", "freebsd-10"}).options.format, Format::kFreeBsd10);
  EXPECT_EQ(parse({"zones", "--format", "freebsd-13"}).options.format, Format::kFreeBsd13);
  EXPECT_EQ(parse({"types", "--no-human"}).options.human, false);
  EXPECT_EQ(parse({"malloc", "--human"}).options.human, true);
}

TEST(CtlOptions, IntervalsAndSizesHaveUnits) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  for (const auto& [text, wanted] : std::map<const char*, std::int64_t>{{"100ms", kSecond / 10},
                                                                        {"2", 2 * kSecond},
                                                                        {"2s", 2 * kSecond},
                                                                        {"3m", 180 * kSecond},
                                                                        {"24h", 86400 * kSecond},
                                                                        {"1d", 86400 * kSecond}}) {
    EXPECT_EQ(parse({"watch", "a", "--interval", text}).options.interval_ns, wanted) << text;
  }
  for (const char* text : {"99ms", "25h", "", "s", "-1s", "1 s", "2d", "0x10", "18446744073709551615h"}) {
    EXPECT_EQ(parse({"watch", "a", "--interval", text}).exit_status, 2) << text;
  }
  EXPECT_EQ(parse({"record", "a"}).options.max_bytes, 1ULL << 30U);
  EXPECT_EQ(parse({"record", "a", "--max-size", "3MiB"}).options.max_bytes, 3ULL << 20U);
  EXPECT_EQ(parse({"record", "a", "--max-size", "0"}).options.max_bytes, 0U);
  EXPECT_EQ(parse({"record", "a", "--max-size", "3MB"}).exit_status, 2);
}

TEST(CtlOptions, OfMemuseHaveDefaultsAndBounds) {
  EXPECT_EQ(parse({"memuse"}).options.memuse.older_ns, std::nullopt);
  const CommandLine given = parse({"memuse", "--seconds", "5", "--older", "500ms", "--memory", "2MiB", "--folded"}).options;
  EXPECT_EQ(given.window_ns, 5'000'000'000);
  EXPECT_EQ(given.memuse.older_ns, 500'000'000);
  EXPECT_EQ(given.memuse.memory_bytes, 2ULL << 20U);
  EXPECT_TRUE(given.memuse.is_folded);
  for (const auto& wrong : std::vector<std::vector<const char*>>{{"memuse", "--match", "0"},
                                                                 {"memuse", "--frames", "33"},
                                                                 {"memuse", "--memory", "1KiB"},
                                                                 {"memuse", "--memory", "5GiB"},
                                                                 {"memuse", "--seconds", "10", "--older", "10s"},
                                                                 {"memuse", "--older", "60s"},
                                                                 {"memuse", "--json", "--folded"}}) {
    EXPECT_EQ(parse(wrong).exit_status, 2) << wrong[1];
  }
}

TEST(CtlOptions, TheReferenceOfAMemstatdMayBeShort) {
  for (const char* const text :
       {"127.0.0.1:8947", "http://127.0.0.1:8947", "http://127.0.0.1:8947/", "http://127.0.0.1:8947/metrics"}) {
    EXPECT_EQ(parse({"types", "--from", text}).options.from, "http://127.0.0.1:8947") << text;
  }
  EXPECT_EQ(parse({"types", "--from", "https://h/memstatd/metrics"}).options.from.value_or("refused"),
            parse({"types", "--from", "https://h/memstatd"}).options.from.value_or("refused"));
  EXPECT_EQ(parse({"types", "--from", "a@3"}).options.from, "a@3");
}

}  // namespace
}  // namespace memstat::ctl
