// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/options.h"

#include <gtest/gtest.h>

#include <vector>

namespace memstat::ctl {
namespace {

ParsedCommandLine parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "memstatctl");
  return parse_command_line(static_cast<int>(arguments.size()), arguments.data());
}

TEST(CtlOptions, DefaultsLeaveEverythingToTheCommand) {
  for (const auto& [name, command] : {std::pair{"malloc", Command::kMalloc}, std::pair{"zones", Command::kZones},
                                      std::pair{"mbufs", Command::kMbufs}, std::pair{"types", Command::kTypes}}) {
    const ParsedCommandLine parsed = parse({name});
    ASSERT_FALSE(parsed.exit_status) << name;
    EXPECT_EQ(parsed.options.command, command);
    EXPECT_EQ(name_of(command), name);
    EXPECT_FALSE(parsed.options.from || parsed.options.json || parsed.options.human);
    EXPECT_EQ(parsed.options.format, Format::kFreeBsd15);
  }
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

TEST(CtlOptions, ArgumentsAreProcessesAddressesAndPaths) {
  EXPECT_EQ(parse({"process", "1", "2147483647"}).options.pids, (std::vector<int>{1, 2147483647}));
  EXPECT_TRUE(parse({"process", "--from", "live"}).options.pids.empty());
  EXPECT_EQ(parse({"node", "0x1f", "17", "0XfFfFfFfFfFfFfFfF"}).options.addresses,
            (std::vector<std::uint64_t>{31, 17, ~std::uint64_t{0}}));
  EXPECT_EQ(parse({"resident", "a b", "0x1f"}).options.paths, (std::vector<std::string>{"a b", "0x1f"}));
  EXPECT_FALSE(parse({"resident", "a"}).options.from);
}

}  // namespace
}  // namespace memstat::ctl
