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

}  // namespace
}  // namespace memstat
