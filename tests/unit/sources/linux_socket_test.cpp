// SPDX-License-Identifier: BSD-2-Clause
// Protocols and their memory from handwritten files. Captured and live kernels: tests/guests/checker.py.
#include "core/query.h"
#include "tests/support/bundled_files.h"
#include "tests/support/test.h"

namespace memstat::linux_socket_test {
namespace {

const SourceDescriptor& source() { return *find_source("linux_socket"); }

constexpr const char* kProtocols = "/proc/net/protocols";
constexpr const char* kSockstat = "/proc/net/sockstat";
constexpr const char* kNetstat = "/proc/net/netstat";
constexpr const char* kSnmp = "/proc/net/snmp";
constexpr const char* kSnmp6 = "/proc/net/snmp6";
constexpr const char* kTcpMem = "/proc/sys/net/ipv4/tcp_mem";

const std::string kHeader = "protocol  size sockets  memory press maxhdr  slab module     cl co\n";

class Sockets : public testing::Test {
 protected:
  Sockets() : files_(source()) {
    files_.contents[kProtocols] = kHeader +
                                  "UNIX-STREAM 1152      2      -1   NI       0   yes  kernel      y  n\n"
                                  "MPTCP     1936      1      54   no       0   yes  kernel      y  y\n"
                                  "UDP       1344      5       7   NI       0   yes  kernel      y  y\n"
                                  "UDPv6     1472      6       7   NI       0   yes  kernel      y  y\n"
                                  "TCPv6     2432      3      54   no     192   yes  kernel      y  y\n"
                                  "TCP       2304      4      54   no     192   yes  kernel      y  y\n";
  }
  std::map<std::string, std::uint64_t> statistics() { return files_.statistics(); }
  BundledFiles files_;
};

TEST_F(Sockets, ShowMemoryThatProtocolsShareOnce) {
  EXPECT_EQ(files_.figures_of("TCP"), "bytes=221184 count=4 size=2304");
  EXPECT_EQ(files_.figures_of("TCPv6"), "count=3 size=2432");
  EXPECT_EQ(files_.figures_of("MPTCP"), "count=1 size=1936");
  EXPECT_EQ(files_.figures_of("UDP"), "bytes=28672 count=5 size=1344");
  EXPECT_EQ(files_.figures_of("UDPv6"), "count=6 size=1472");
  EXPECT_EQ(files_.figures_of("UNIX-STREAM"), "count=2 size=1152") << "not counted by the kernel";
  files_.contents[kProtocols] += "DECnet    900      1       3   no     192   yes  decnet      y  y\n";
  EXPECT_EQ(files_.figures_of("DECnet"), "bytes=12288 count=1 size=900") << "an account of its own";
  files_.raw().page_size = 65536;
  EXPECT_EQ(files_.figures_of("UDP"), "bytes=458752 count=5 size=1344");
}

TEST_F(Sockets, HaveTheirColumnsByName) {
  files_.contents[kProtocols] = "new press memory sockets protocol size\n- NI 3 2 UDP 1\n";
  EXPECT_EQ(files_.figures_of("UDP"), "bytes=12288 count=2 size=1");
}

TEST_F(Sockets, HaveLimitsAndThresholds) {
  files_.contents[kTcpMem] = "100\t200\t300\n";
  files_.contents["/proc/sys/net/ipv4/udp_mem"] = "10 20 9223372036854775807\n";
  EXPECT_EQ(files_.figures_of("TCP"), "bytes=221184 count=4 byteslimit=1228800 size=2304");
  EXPECT_EQ(files_.figures_of("UDP"), "bytes=28672 count=5 byteslimit=40960 size=1344") << "the first number refuses";
  auto found = statistics();
  EXPECT_EQ(found["socket_pressure_threshold_bytes{TCP}"], 819200U);
  EXPECT_FALSE(found.contains("socket_pressure_threshold_bytes{UDP}")) << "it has no state of pressure";
  EXPECT_EQ(found.at("socket_memory_pressure{TCP}"), 0U);
  EXPECT_FALSE(found.contains("socket_memory_pressure{UDP}"));
  files_.contents["/proc/sys/net/ipv4/udp_mem"] = "9223372036854775807 9223372036854775807 9223372036854775807\n";
  EXPECT_EQ(files_.figures_of("UDP"), "bytes=28672 count=5 size=1344") << "no limit at all";
  std::string& text = files_.contents[kProtocols];
  text.replace(text.find("no     192   yes  kernel      y  y\n", text.find("\nTCP ")), 3, "yes");
  EXPECT_EQ(statistics().at("socket_memory_pressure{TCP}"), 1U);
}

TEST_F(Sockets, OfKernelsWithoutMemErrorsHaveNoFailures) {  // before Linux 5.11
  files_.contents[kSnmp] = "Udp: InDatagrams RcvbufErrors SndbufErrors InCsumErrors\nUdp: 1 10 11 12\n";
  EXPECT_EQ(files_.figures_of("UDP"), "bytes=28672 count=5 size=1344");
}

TEST_F(Sockets, HaveFragmentsInAddition) {
  files_.contents[kSockstat] = "sockets: used 13\nTCP: inuse 1 mem 0\nFRAG: inuse 2 new 5 memory 968\n";
  files_.contents["/proc/net/sockstat6"] = "TCP6: inuse 0\nFRAG6: inuse 3 memory 70\n";
  EXPECT_EQ(files_.figures_of("FRAG"), "bytes=968 count=2");
  EXPECT_EQ(files_.figures_of("FRAG6"), "bytes=70 count=3");
  files_.contents["/proc/sys/net/ipv4/ipfrag_high_thresh"] = "4194304\n";
  EXPECT_EQ(files_.figures_of("FRAG"), "bytes=968 count=2 byteslimit=4194304");
  files_.contents[kSockstat] = "sockets: used 13\n";
  EXPECT_EQ(files_.figures_of("FRAG"), "none");
}

TEST_F(Sockets, ThatAreWrongAreRefusedWithThePlace) {
  const std::string rows = files_.contents[kProtocols];
  const std::size_t end = rows.size();
  const std::size_t first = kHeader.size();
  files_.expect_refused_with(kProtocols, "");
  files_.expect_refused_with(kProtocols, "protocol size sockets memory\n");
  files_.expect_refused_with(kProtocols, kHeader, first);
  files_.expect_refused_with(kProtocols, kHeader + "UDP 1 2 3", first);
  for (const char* line : {"UDP 1 2 3\n", "\n", "UDP 1 2 x NI\n", "UDP 1 2 9223372036854775807 NI\n"}) {
    files_.expect_refused_with(kProtocols, rows + line, end);
  }
  for (const char* text : {"1 2\n", "-1 2 3\n"}) files_.expect_refused_with(kTcpMem, text);
  files_.expect_refused_with(kSockstat, "TCP: a\nFRAG: inuse 1 memory x\n", 7);
  files_.expect_refused_with(kNetstat, "TcpExt: PruneCalled\nTcpExt: x\n", 20);
  files_.expect_refused_with(kSnmp, "Udp: MemErrors\n", 15);
  files_.expect_refused_with(kSnmp6, "a 1\nUdp6MemErrors x\n", 4);
  files_.contents["/proc/sys/net/ipv4/ipfrag_high_thresh"] = "x\n";
  files_.contents[kSockstat] = "FRAG: inuse 1 memory 2\n";
  files_.expect_refused("/proc/sys/net/ipv4/ipfrag_high_thresh", 0);
}

TEST_F(Sockets, WithoutProtocolsAreRefused) {
  files_.contents = {{kSockstat, "FRAG: inuse 2 memory 968\n"}};
  EXPECT_FALSE(files_.parse());
}

}  // namespace
}  // namespace memstat::linux_socket_test
