// SPDX-License-Identifier: BSD-2-Clause
// Finds the networks of the access list that a filter blocks, by sending packets to some of their addresses.
#include "daemon/service/network_filter.h"

#include "tests/support/test.h"

namespace memstat {
namespace {

/// A filter that admits some networks, as IPAddressAllow= does.
class DeniedNetworksTest : public testing::Test {
 protected:
  static IpNetwork network(const char* address, unsigned prefix) { return {*parse_ip(address), prefix}; }
  std::vector<IpNetwork> denied(std::vector<IpNetwork> allow) {
    return denied_networks(allow, own_, [this](std::uint32_t address) {
      tried_.push_back(format_ip(IpAddress::v4(address)));
      for (const IpNetwork& let_through : let_through_) {
        if (let_through.holds(IpAddress::v4(address))) return PacketFate::kSent;
      }
      return (address >> 24U) == 0 || (address >> 28U) == 15 ? PacketFate::kUnknown : PacketFate::kDenied;
    });
  }
  std::vector<IpNetwork> let_through_;
  std::vector<std::uint32_t> own_;
  std::vector<std::string> tried_;
};

TEST_F(DeniedNetworksTest, ANetworkOfWhichNoAddressCanBeReachedIsDenied) {
  EXPECT_THAT(denied({network("10.0.0.0", 8)}), ElementsAre(network("10.0.0.0", 8)));
  EXPECT_THAT(tried_, ElementsAre("10.0.0.1", "10.255.255.254"));
}

TEST_F(DeniedNetworksTest, PermittedCallsAreNotBlocked) {
  let_through_ = {network("10.0.0.0", 8)};
  EXPECT_THAT(denied({network("10.0.0.0", 8), network("192.168.7.0", 24)}), ElementsAre(network("192.168.7.0", 24)));
}

TEST_F(DeniedNetworksTest, AHostIsTriedItself) {
  EXPECT_THAT(denied({network("10.1.2.3", 32), network("10.1.2.4", 31)}), testing::SizeIs(2));
  EXPECT_THAT(tried_, ElementsAre("10.1.2.3", "10.1.2.4"));
}

TEST_F(DeniedNetworksTest, ReportsNothingIfTheFilterPassesAPartWithThisMachine) {
  let_through_ = {network("10.1.0.0", 16)};
  own_ = {parse_ip("10.1.2.3")->v4_number(), parse_ip("172.16.0.1")->v4_number()};
  EXPECT_THAT(denied({network("10.0.0.0", 8)}), IsEmpty());
}

TEST_F(DeniedNetworksTest, TheWholeInternetIsTestedWithAReservedAddress) {
  EXPECT_THAT(denied({network("0.0.0.0", 0)}), ElementsAre(network("0.0.0.0", 0)));
  EXPECT_THAT(tried_, testing::Contains("192.0.2.1"));
}

TEST_F(DeniedNetworksTest, UntestedCallsAreNotReportedAsDenied) {
  EXPECT_THAT(denied({network("240.0.0.0", 8)}), IsEmpty());
}

TEST(UnitIn, IsTheServiceThatTheProcessBelongsTo) {
  EXPECT_EQ(unit_in("0::/system.slice/memstatd.service\n"), "memstatd.service");
  EXPECT_EQ(unit_in("0::/system.slice/system-memstatd.slice/memstatd@a.service\n"), "memstatd@a.service");
  EXPECT_EQ(unit_in("0::/user.slice/user-0.slice/user@0.service/app.slice/x.scope\n"), "");
  EXPECT_EQ(unit_in("9:memory:/a.service\n1:name=systemd:/system.slice/b.service\n0::/\n"), "b.service");
  EXPECT_EQ(unit_in("0::/\n"), "");
  EXPECT_EQ(unit_in("0::/kubepods.slice/x.scope"), "");
  EXPECT_EQ(unit_in(""), "");
}

TEST(NetworkFilterWarning, IsNothingWhereOnlyThisMachineListens) {
  EXPECT_EQ(network_filter_warning(std::vector<Endpoint>{{kLoopbackAddress, 8947}},
                                   std::vector<IpNetwork>{{*parse_ip("10.0.0.0"), 8}}),
            "");
}

}  // namespace
}  // namespace memstat
