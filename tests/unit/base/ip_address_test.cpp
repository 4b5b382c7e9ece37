// SPDX-License-Identifier: BSD-2-Clause
#include "core/base/ip_address.h"

#include "tests/support/test.h"

namespace memstat {
namespace {

TEST(IpAddress, OfIpv4IsFourNumbersUpTo255WithoutLeadingZeros) {
  EXPECT_EQ(parse_ip("192.0.2.1"), IpAddress::v4(0xC0000201U));
  EXPECT_EQ(parse_ip("0.0.0.0"), IpAddress::v4(0));
  EXPECT_EQ(parse_ip("255.255.255.255"), IpAddress::v4(0xFFFFFFFFU));
  for (const char* wrong : {"", "1", "1.2.3", "1.2.3.", "1.2.3.4.", ".1.2.3", "1..2.3", "1.2.3.4.5", "1.2.3.256", "01.2.3.4",
                            "1.2.3.04", "1.2.3.-4", "1.2.3.4 ", " 1.2.3.4", "a.b.c.d", "1.2.3.0004"}) {
    EXPECT_EQ(parse_ip(wrong), std::nullopt) << wrong;
  }
}

TEST(IpAddress, IsWrittenAsItIsRead) {
  for (const char* text : {"0.0.0.0", "10.20.30.40", "255.0.255.1", "::", "::1", "2001:db8::1", "fe80::1:2:3:4"}) {
    const auto address = parse_ip(text);
    ASSERT_TRUE(address) << text;
    EXPECT_EQ(format_ip(*address), text);
  }
  for (const char* wrong :
       {":", ":::", "1::2::3", "fe80::1%lo", "[::1]", "::1/128", "12345::", "1:2:3:4:5:6:7:8:9", "::g"}) {
    EXPECT_EQ(parse_ip(wrong), std::nullopt) << wrong;
  }
  EXPECT_EQ(parse_ip("::ffff:192.0.2.1"), parse_ip("192.0.2.1"));
}

TEST(IpAddress, LoopbackIsANetworkOfIpv4AndOneAddressOfIpv6) {
  for (const char* text : {"127.0.0.1", "127.255.255.255", "::1"}) EXPECT_TRUE(is_loopback(*parse_ip(text))) << text;
  for (const char* text : {"128.0.0.1", "0.0.0.0", "::", "::2", "7f00::1"})
    EXPECT_FALSE(is_loopback(*parse_ip(text))) << text;
}

TEST(IpNetwork, HoldsAddressesOfItsFamilyWithItsFirstBits) {
  const auto holds = [](const char* network, unsigned prefix, const char* address) {
    return IpNetwork{*parse_ip(network), prefix}.holds(*parse_ip(address));
  };
  EXPECT_TRUE(holds("10.0.0.0", 8, "10.255.0.1"));
  EXPECT_FALSE(holds("10.0.0.0", 8, "11.0.0.1"));
  EXPECT_TRUE(holds("192.0.2.2", 31, "192.0.2.3"));
  EXPECT_TRUE(holds("192.0.2.2", 32, "192.0.2.2"));
  EXPECT_TRUE(holds("0.0.0.0", 0, "203.0.113.9"));
  EXPECT_FALSE(holds("0.0.0.0", 0, "2001:db8::1"));
  EXPECT_TRUE(holds("::", 0, "2001:db8::1"));
  EXPECT_FALSE(holds("::", 0, "10.0.0.1")) << "though it is a mapped address inside";
  EXPECT_TRUE(holds("2001:db8::", 33, "2001:db8:7fff::1"));
  EXPECT_FALSE(holds("2001:db8::", 33, "2001:db8:8000::1"));
  EXPECT_TRUE(holds("2001:db8::5", 128, "2001:db8::5"));
}

TEST(Endpoint, IsWrittenAsAListenAddressIs) {
  EXPECT_EQ(format_endpoint({kLoopbackAddress, 8947}), "127.0.0.1:8947");
  EXPECT_EQ(format_endpoint({*parse_ip("::1"), 1}), "[::1]:1");
  EXPECT_EQ(format_endpoint({.address = {}, .port = 0, .path = "/run/a"}), "unix:/run/a");
  EXPECT_TRUE((Endpoint{.address = {}, .port = 0, .path = "/run/a"}).is_local());
  EXPECT_FALSE((Endpoint{*parse_ip("::"), 1}).is_local());
}

}  // namespace
}  // namespace memstat
