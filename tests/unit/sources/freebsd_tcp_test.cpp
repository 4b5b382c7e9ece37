// SPDX-License-Identifier: BSD-2-Clause
// FreeBSD's counters of TCP, from handwritten structures.
#include "core/query.h"
#include "tests/support/staged_statistics.h"
#include "tests/support/sysctl_kernel.h"
#include "tests/support/test.h"

namespace memstat::freebsd_tcp_test {
namespace {

const SourceDescriptor& source() { return *find_source("freebsd_tcp"); }

/// Counters that hold their own place.
std::string counters(std::uint64_t count) {
  std::string bytes;
  for (std::uint64_t i = 0; i < count; ++i) bytes += SysctlKernel::bytes_of(i);
  return bytes;
}

class FreeBsdTcp : public testing::Test {
 protected:
  std::map<std::string, std::uint64_t> read() {
    const auto refreshed = refresh(reader_, kernel_, list_, 1);
    EXPECT_TRUE(refreshed) << to_string(refreshed.error());
    return statistics_of(reader_.staging);
  }
  SysctlKernel kernel_;
  SourceReader reader_{source()};
  MemoryTypeList list_;
};

TEST_F(FreeBsdTcp, FindsTheCountersBySize) {
  kernel_.set("net.inet.tcp.stats", counters(113));
  auto found = read();
  EXPECT_EQ(found.at("socket_events_total{TCP,tcps_listendrop}"), 62U);
  EXPECT_EQ(found.at("socket_events_total{TCP,tcps_rcvreassfull}"), 32U);
  EXPECT_EQ(found.at("socket_events_total{TCP,tcps_sc_sendcookie}"), 77U);
  kernel_.set("net.inet.tcp.stats", counters(125));
  found = read();
  EXPECT_EQ(found.at("socket_events_total{TCP,tcps_listendrop}"), 63U);
  EXPECT_EQ(found.at("socket_events_total{TCP,tcps_sc_zonefail}"), 77U);
}

TEST_F(FreeBsdTcp, LeavesOutStructuresThatItDoesNotKnow) {
  kernel_.set("net.inet.tcp.stats", counters(124));
  kernel_.set("net.inet.tcp.states", counters(12));
  EXPECT_TRUE(read().empty());
}

TEST_F(FreeBsdTcp, CountsConnectionsByState) {
  std::string states = counters(11);
  states.replace(0, 8, SysctlKernel::bytes_of(std::int64_t{-1}));
  kernel_.set("net.inet.tcp.stats", counters(113));
  kernel_.set("net.inet.tcp.states", states);
  const auto found = read();
  EXPECT_EQ(found.at("tcp_connections{closed}"), 0U) << "added up without a lock";
  EXPECT_EQ(found.at("tcp_connections{listen}"), 1U);
  EXPECT_EQ(found.at("tcp_connections{time_wait}"), 10U);
}

}  // namespace
}  // namespace memstat::freebsd_tcp_test
