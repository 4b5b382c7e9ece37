// SPDX-License-Identifier: BSD-2-Clause
#include "config/values.h"
#include "tests/support/result_checks.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

TEST(Duration, AcceptsEveryUnitAloneAndTogether) {
  const std::pair<const char*, nanoseconds> cases[] = {
      {"10s", 10s},   {"500ms", 500ms}, {"1h", 1h},
      {"1m30s", 90s}, {"7us", 7us},     {"3ns", 3ns},
      {"0s", 0s},     {"2d", 48h},      {"1d2h3m4s5ms6us7ns", 26h + 3min + 4s + 5ms + 6us + 7ns},
      {"90m", 90min}, {"007s", 7s}};
  for (const auto& [text, expected] : cases) {
    const auto result = parse_duration(text);
    ASSERT_TRUE(result) << text << ": " << to_string(result.error());
    EXPECT_EQ(*result, expected) << text;
  }
}

TEST(Duration, RefusesWhatOverflowsAndTakesTheLargest) {
  ASSERT_TRUE(parse_duration("9223372036854775807ns"));
  EXPECT_EQ(*parse_duration("9223372036854775807ns"), nanoseconds::max());
  EXPECT_FALSE(parse_duration("9223372036854775808ns"));
  EXPECT_FALSE(parse_duration("9223372036s854775808ns"));
  EXPECT_FALSE(parse_duration("99999999999999999999999s"));
  EXPECT_FALSE(parse_duration("106752d"));
}

TEST(Duration, TextReadsBackAsTheSameDuration) {
  for (const nanoseconds duration :
       {nanoseconds(0s), nanoseconds(10s), nanoseconds(90s), nanoseconds(24h), nanoseconds(100ms), nanoseconds(49h),
        nanoseconds(1), nanoseconds::max(), nanoseconds(36h + 1ns)}) {
    const auto again = parse_duration(duration_text(duration));
    ASSERT_TRUE(again) << duration_text(duration);
    EXPECT_EQ(*again, duration) << duration_text(duration);
  }
  EXPECT_EQ(duration_text(24h), "24h");
  EXPECT_EQ(duration_text(90s), "1m30s");
  EXPECT_EQ(duration_text(-90s), "-1m30s");
  EXPECT_EQ(duration_text(nanoseconds::min()).front(), '-');
}

TEST(Duration, PollIntervalHasBounds) {
  EXPECT_TRUE(parse_poll_interval("100ms"));
  EXPECT_TRUE(parse_poll_interval("24h"));
  for (const auto& [text, detail] : {std::pair("99ms", "\"99ms\" is too short; write at least 100ms"),
                                     std::pair("1d1ns", "\"1d1ns\" is too long; write at most 24h"),
                                     std::pair("10", "\"10\" has no unit; write 10s if seconds are meant")}) {
    const auto result = parse_poll_interval(text);
    ASSERT_TRUE(fails(result, ErrorCode::kData)) << text;
    EXPECT_EQ(result.error().detail, detail);
  }
}

TEST(Size, AcceptsPlainDecimalAndBinaryUnits) {
  const std::pair<const char*, std::uint64_t> cases[] = {{"0", 0},
                                                         {"1048576", 1048576},
                                                         {"12B", 12},
                                                         {"10kB", 10000},
                                                         {"3MB", 3000000},
                                                         {"1KiB", 1024},
                                                         {"64MiB", std::uint64_t{64} << 20},
                                                         {"2GiB", std::uint64_t{2} << 30},
                                                         {"5TB", 5000000000000},
                                                         {"16383PiB", std::uint64_t{16383} << 50},
                                                         {"18446744073709551615", 18446744073709551615U}};
  for (const auto& [text, expected] : cases) {
    const auto result = parse_size(text);
    ASSERT_TRUE(result) << text << ": " << to_string(result.error());
    EXPECT_EQ(*result, expected) << text;
  }
}

TEST(Size, RefusesAmbiguousUnitsBlanksAndOverflow) {
  for (const char* text : {"", "10KB", "10k", "2G", "1 MiB", "MiB", "-1", "+1", "0x10", "1.5GiB", "16384PiB", "1e3",
                           "18446744073709551616", "10mib"}) {
    EXPECT_FALSE(parse_size(text)) << text;
  }
}

TEST(Listen, AcceptsAnAddressWithPort) {
  const auto result = parse_listen_address("192.0.2.7:9100");
  ASSERT_TRUE(result);
  EXPECT_EQ(result->address, IpAddress::v4(0xC0000207U));
  EXPECT_EQ(result->port, 9100);
  EXPECT_EQ(format_endpoint(*result), "192.0.2.7:9100");
  ASSERT_TRUE(parse_listen_address("127.0.0.1:0"));
  EXPECT_EQ(parse_listen_address("127.0.0.1:0")->port, 0);
  EXPECT_EQ(parse_listen_address("127.0.0.1:65535")->port, 65535);
  for (const char* text : {"[::1]:8947", "[::]:0", "[2001:db8::7]:1", "unix:/run/memstatd/memstatd.sock", "unix:/a:b"}) {
    const auto other = parse_listen_address(text);
    ASSERT_TRUE(other) << text << ": " << to_string(other.error());
    EXPECT_EQ(format_endpoint(*other), text);
  }
  EXPECT_TRUE(parse_listen_address("unix:/" + std::string(102, 'a')));
}

TEST(Listen, RefusesEverythingElse) {
  for (const char* text :
       {"",         ":",           "1.2.3.4",     "1.2.3.4:", "1.2.3:80", "1.2.3.4.5:80", "1.2.3.4:65536", "1.2.3.4:-1",
        "a:80",     "1.2.3.4 :80", "1.2.3.4:80s", "[::1]",    "::1",      "::1:80",       "[1.2.3.4]:80",  "[::1:80",
        "[::1]80",  "[::g]:80",    "unix:",       "unix:a",   "unix:/a/", "*:80",         "256.1.1.1:80",  "01.1.1.1:80",
        "1..1.1:80"}) {
    EXPECT_FALSE(parse_listen_address(text)) << text;
  }
  EXPECT_FALSE(parse_listen_address("unix:/" + std::string(103, 'a')));
  EXPECT_FALSE(parse_listen_address(std::string_view("unix:/a\0b", 9)));
}

TEST(Listen, OnlyLoopbackNeedsNoAccessList) {
  for (const char* text : {"127.0.0.1:1", "127.255.0.9:1", "[::1]:1", "unix:/run/a"}) {
    EXPECT_TRUE(parse_listen_address(text)->is_local()) << text;
    EXPECT_TRUE(check_listen_address(*parse_listen_address(text), false)) << text;
  }
  for (const char* text : {"0.0.0.0:1", "128.0.0.1:1", "126.0.0.1:1", "10.0.0.1:0", "[::]:1", "[2001:db8::1]:1"}) {
    EXPECT_FALSE(parse_listen_address(text)->is_local()) << text;
    EXPECT_FALSE(check_listen_address(*parse_listen_address(text), false)) << text;
    EXPECT_TRUE(check_listen_address(*parse_listen_address(text), true)) << text;
  }
}

TEST(Cidr, AcceptsNetworksAndRefusesBitsBeyondThePrefix) {
  for (const char* text : {"0.0.0.0/0", "10.0.0.0/8", "192.168.1.128/25", "192.0.2.7/32", "128.0.0.0/1", "::/0", "fe80::/10",
                           "2001:db8::1/128"}) {
    const auto result = parse_cidr(text);
    ASSERT_TRUE(result) << text << ": " << to_string(result.error());
    EXPECT_EQ(format_ip(result->address) + "/" + std::to_string(result->prefix), text);
  }
  for (const char* text : {"", "/", "/8", "10.0.0.0", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0/8", "1.0.0.0/0",
                           "10.0.0.1/31", "fe80::/8", "::/129", "::1", "2001:db8::1/127", "10.0.0.0/8/8", "10.0.0.0/8 "}) {
    EXPECT_FALSE(parse_cidr(text)) << text;
  }
}

TEST(FileMode, IsFourOctalDigits) {
  EXPECT_EQ(*parse_file_mode("0660"), 0660U);
  EXPECT_EQ(*parse_file_mode("0000"), 0U);
  EXPECT_EQ(*parse_file_mode("0777"), 0777U);
  for (const char* text : {"", "660", "0888", "1660", "00660", "-660", "0x1f", "rw-r"})
    EXPECT_FALSE(parse_file_mode(text)) << text;
}

TEST(Words, EachWordHasItsValueAndOthersNameTheChoice) {
  EXPECT_EQ(*parse_tier("minimal"), Tier::kMinimal);
  EXPECT_EQ(*parse_tier("default"), Tier::kDefault);
  EXPECT_EQ(*parse_tier("full"), Tier::kFull);
  EXPECT_EQ(*parse_log_level("trace"), LogLevel::kTrace);
  EXPECT_EQ(*parse_log_level("debug"), LogLevel::kDebug);
  EXPECT_EQ(*parse_log_level("info"), LogLevel::kInfo);
  EXPECT_EQ(*parse_log_level("warning"), LogLevel::kWarning);
  EXPECT_EQ(*parse_log_level("error"), LogLevel::kError);
  EXPECT_EQ(*parse_log_format("text"), LogFormat::kText);
  EXPECT_EQ(*parse_log_format("json"), LogFormat::kJson);
  EXPECT_EQ(*parse_switch("auto"), Switch::kAuto);
  EXPECT_EQ(*parse_switch("on"), Switch::kOn);
  EXPECT_EQ(*parse_switch("off"), Switch::kOff);
  EXPECT_EQ(parse_tier("Full").error().detail, "\"Full\" is not a known value; write minimal, default or full");
  EXPECT_EQ(parse_log_format("").error().detail, "\"\" is not a known value; write text or json");
}

TEST(Printable, KeepsAMessageOnOneLineAndShort) {
  EXPECT_EQ(printable("a\nb\x01\x7f\t"), "a\\x0ab\\x01\\x7f\\x09");
  EXPECT_EQ(printable(std::string(60, 'a')), std::string(60, 'a'));
  EXPECT_EQ(printable(std::string(61, 'a')), std::string(60, 'a') + "...");
  // A character of two bytes across the cut is dropped as a whole.
  EXPECT_EQ(printable(std::string(59, 'a') + "\xC3\xA9" + "b"), std::string(59, 'a') + "...");
  EXPECT_EQ(quoted(std::string_view("x")), "\"x\"");
}

TEST(NearestWord, FindsSlipsAndNothingFarAway) {
  constexpr std::array<std::string_view, 3> kKnown = {"listen", "lock_memory", "log"};
  EXPECT_EQ(nearest_word("lisen", kKnown), "listen");
  EXPECT_EQ(nearest_word("LOCK-MEMORY", kKnown), "lock_memory");
  EXPECT_EQ(nearest_word("lgo", kKnown), "");
  EXPECT_EQ(nearest_word("logs", kKnown), "log");
  EXPECT_EQ(nearest_word("something", kKnown), "");
  EXPECT_EQ(nearest_word("", kKnown), "");
  EXPECT_EQ(nearest_word(std::string(100000, 'l'), kKnown), "");
}

}  // namespace
}  // namespace memstat
