// SPDX-License-Identifier: BSD-2-Clause
// Any bytes in a file: a result, never a crash, an exception or a message of several lines.
#include "config/loader.h"
#include "tests/support/fixtures.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

constexpr std::array<std::string_view, 3> kHostileSources = {"freebsd_malloc", "freebsd_uma", "linux_slabinfo"};

/// Loads, and checks invariants of the result. Returns the first problem, "" if there is none.
std::string check(std::string_view yaml) {
  const ConfigResult result = load_config_text(yaml, "f.yaml", ConfigContext{kHostileSources});
  EXPECT_EQ(result.has_value(), result.problems().empty());
  EXPECT_LE(result.problems().size(), 50U);
  for (const std::string& line : result.problems()) {
    EXPECT_EQ(line.substr(0, 7), "f.yaml:");
    EXPECT_EQ(line.find_first_of(std::string_view("\n\r\0\x1b", 4)), std::string::npos) << line;
    EXPECT_LT(line.size(), 1000U) << line;
  }
  return result.problems().empty() ? "" : result.problems().front();
}

std::string repeated(std::string_view unit, std::size_t size) {
  std::string text;
  while (text.size() < size) text += unit;
  return text;
}

TEST(HostileInput, EveryTruncationOfTheShippedFileIsAnswered) {
  const std::string text = read_text(source_path("config/memstatd.yaml"));
  ASSERT_GT(text.size(), 1000U);
  for (std::size_t size = 0; size <= text.size(); ++size) check(std::string_view(text).substr(0, size));
}

TEST(HostileInput, AMebibyteOfOneThingIsAnswered) {
  for (const char* unit :
       {"[", "{", "- ", "? ",   "a: ", "\"",    "'", "&a ", "*a ", "!", "a\n",           "a: b\n",   "[],", "- -\n",
        "%", "#", "|",  "{a: ", "? [", "---\n", " ", "\t",  "\n",  "a", "a: {b: [c]}\n", "\xC3\xA9", "a,",  ": "}) {
    check(repeated(unit, kMaxConfigBytes - 16));
  }
}

TEST(HostileInput, ALongListIsCounted) {
  EXPECT_EQ(check("allow: [" + repeated("10.0.0.0/8,", 11 * 1001) + "]"),
            "f.yaml:1:8: allow: has 1001 entries; write at most 1000");
  EXPECT_EQ(check("allow: [" + repeated("10.0.0.0/8,", 11 * 1000) + "]"), "");
  EXPECT_EQ(check("allow:\n" + repeated("- x\n", 4 * 20001)),
            "f.yaml:19999:3: (file): holds more than 20000 values; shorten it");
}

TEST(HostileInput, TheFirstByteThatIsNotTextIsNamed) {
  const std::string why = ": (file): holds a byte that is not text; save it as UTF-8 without control characters";
  EXPECT_EQ(check(std::string_view("tier: full\n\0", 12)), "f.yaml:2:1" + why);
  EXPECT_EQ(check("tier: full\n# caf\xE9\n"), "f.yaml:2:6" + why);
  EXPECT_EQ(check("a\x04"
                  "b"),
            "f.yaml:1:2" + why);
  EXPECT_EQ(check("a: \x1b[31m\xFF"), "f.yaml:1:4" + why);
  EXPECT_EQ(check(std::string_view("\xFF\xFEt\0i\0", 6)), "f.yaml:1:1" + why);
  EXPECT_EQ(check("# caf\xC3\xA9\n"), "");
}

TEST(HostileInput, ATextBeyondTheLimitIsRefusedUnread) {
  EXPECT_EQ(check(std::string(kMaxConfigBytes, '#')), "");
  EXPECT_EQ(check(std::string(kMaxConfigBytes + 1, '#')),
            "f.yaml:1:1: (file): is larger than 1MiB; this is not a configuration of memstatd");
}

TEST(HostileInput, WhatAUserWroteIsShownShortAndOnOneLine) {
  EXPECT_EQ(check("tier: \"a\\nb\\e[31m\"\n"),
            "f.yaml:1:7: tier: \"a\\x0ab\\x1b[31m\" is not a known value; write minimal, "
            "default or full");
  EXPECT_EQ(check("tier: " + std::string(5000, 'x') + "\n"),
            "f.yaml:1:7: tier: \"" + std::string(60, 'x') + "...\" is not a known value; write minimal, default or full");
  const std::string key(900, 'k');
  EXPECT_EQ(check("log: {" + key + ": 1}").substr(0, 80), "f.yaml:1:7: log." + std::string(60, 'k') + "...:");
}

}  // namespace
}  // namespace memstat
