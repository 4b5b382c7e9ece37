// SPDX-License-Identifier: BSD-2-Clause
// Protocols and their memory from handwritten files, and from this machine's kernel against sockets that the test fills
// itself. Captured kernels: tests/guests/checker.py.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/query.h"
#include "tests/support/bundled_files.h"
#include "tests/support/fixtures.h"
#include "tests/support/result_checks.h"
#include "tests/support/source_reading.h"
#include "tests/support/staged_statistics.h"
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

TEST_F(Sockets, CountWhatLackOfMemoryMadeThemDo) {
  files_.contents[kNetstat] =
      "TcpExt: SyncookiesSent PruneCalled RcvPruned OfoPruned New ListenOverflows TCPAbortOnMemory TCPAbortFailed "
      "TCPMemoryPressures TCPMemoryPressuresChrono TCPReqQFullDoCookies TCPReqQFullDrop TCPWqueueTooBig\n"
      "TcpExt: 9 1 2 3 -9 50 4 5 6 2500 51 52 7\nIpExt: PruneCalled\nIpExt: 99\n";
  files_.contents[kSnmp] =
      "Udp: InDatagrams RcvbufErrors SndbufErrors MemErrors\nUdp: 1 10 11 12\n"
      "UdpLite: InDatagrams RcvbufErrors SndbufErrors MemErrors\nUdpLite: 1 20 21 22\n";
  files_.contents[kSnmp6] =
      "Udp6InErrors 5\nUdp6RcvbufErrors\t30\nUdp6SndbufErrors 31\nUdp6MemErrors 32\nUdpLite6MemErrors 42\n";
  EXPECT_EQ(files_.figures_of("TCP"), "bytes=221184 count=4 failures=4 size=2304");
  EXPECT_EQ(files_.figures_of("UDP"), "bytes=28672 count=5 failures=108 size=1344");
  EXPECT_EQ(files_.figures_of("UDPv6"), "count=6 size=1472");
  auto found = statistics();
  EXPECT_EQ(found["socket_events_total{TCP,PruneCalled}"], 1U);
  EXPECT_EQ(found["socket_events_total{TCP,RcvPruned}"], 2U);
  EXPECT_EQ(found["socket_events_total{TCP,OfoPruned}"], 3U);
  EXPECT_EQ(found["socket_events_total{TCP,ListenOverflows}"], 50U);
  EXPECT_EQ(found["socket_events_total{TCP,TCPReqQFullDoCookies}"], 51U);
  EXPECT_EQ(found["socket_events_total{TCP,TCPReqQFullDrop}"], 52U);
  EXPECT_EQ(found["socket_events_total{TCP,TCPAbortFailed}"], 5U);
  EXPECT_EQ(found["socket_events_total{TCP,TCPMemoryPressures}"], 6U);
  EXPECT_EQ(found["socket_events_total{TCP,TCPWqueueTooBig}"], 7U);
  EXPECT_EQ(std::bit_cast<double>(found["socket_pressure_seconds_total{TCP}"]), 2.5);
  EXPECT_EQ(found["socket_events_total{UDP,RcvbufErrors}"], 10U);
  EXPECT_EQ(found["socket_events_total{UDP-Lite,SndbufErrors}"], 21U);
  EXPECT_EQ(found["socket_events_total{UDPv6,RcvbufErrors}"], 30U);
  EXPECT_FALSE(found.contains("socket_events_total{TCP,TCPAbortOnMemory}")) << "that is failures";
  EXPECT_FALSE(found.contains("socket_events_total{UDPLITEv6,RcvbufErrors}"));
}

TEST_F(Sockets, OfPacketsAndNetlinkHaveTheirQueues) {
  files_.contents["/proc/net/packet"] =
      "sk               RefCnt Type Proto  Iface R Rmem   User   Inode\n"
      "000000007221b855 3      3    0003   2     1 4096   0      19061\n"
      "000000007221b856 3      3    0003   2     1 512    0      19062\n";
  files_.contents["/proc/net/netlink"] =
      "sk               Eth Pid        Groups   Rmem     Wmem     Dump  Locks    Drops    Inode\n"
      "000000007221b855 0   0          00000000 0        0        0     2        0        4       \n"
      "00000000e5e5e378 15  4294963126 00000002 213248   0        0     2        17       560     \n";
  auto found = statistics();
  EXPECT_EQ(found["socket_queued_bytes{PACKET}"], 4608U);
  EXPECT_EQ(found["socket_queued_bytes{NETLINK}"], 213248U);
  EXPECT_EQ(found["socket_dropped_messages{NETLINK}"], 17U);
  EXPECT_FALSE(found.contains("socket_dropped_messages{PACKET}"));
  std::string& text = files_.contents["/proc/net/netlink"];
  text.resize(text.size() - 1);
  EXPECT_TRUE(fails(files_.parse(), {.path = "/proc/net/netlink"})) << "ends within a line";
}

TEST_F(Sockets, OfKernelsWithoutMemErrorsHaveNoFailures) {  // before Linux 5.11
  files_.contents[kSnmp] = "Udp: InDatagrams RcvbufErrors SndbufErrors InCsumErrors\nUdp: 1 10 11 12\n";
  EXPECT_EQ(files_.figures_of("UDP"), "bytes=28672 count=5 size=1344");
}

TEST_F(Sockets, OfOtherNamespacesAreCountedToo) {
  files_.contents[kSockstat] = "sockets: used 9\nTCP: inuse 2 orphan 0 tw 1 alloc 40 mem 3\nUDP: inuse 5 mem 0\n";
  EXPECT_EQ(statistics()["socket_allocated_objects{TCP}"], 40U);
  files_.contents[kSockstat] = "sockets: used 9\nTCP: inuse 2 orphan 0 tw 1\n";
  EXPECT_FALSE(statistics().contains("socket_allocated_objects{TCP}"));
  files_.contents[kSockstat] = "sockets: used 9\nTCP: inuse 2 alloc -4 mem 3\n";
  EXPECT_TRUE(fails(files_.parse(), {.path = kSockstat, .offset = 16U}));
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

TEST_F(Sockets, OfHostileNamesAreNeverMoreThanNames) {
  const std::string name(4096, 'x');
  files_.contents[kProtocols] =
      kHeader + name + " 1 2 3 NI\n\"a\\ 4 5 -1 NI\n\xFF\xFE 6 -7 -2 NI\nTCP 1 2 3 no\nTCP 4 5 6 yes\n";
  EXPECT_EQ(files_.figures_of(name), "bytes=12288 count=2 size=1");
  EXPECT_EQ(files_.figures_of("\"a\\"), "count=5 size=4");
  EXPECT_EQ(files_.figures_of("\xEF\xBF\xBD\xEF\xBF\xBD"), "size=6");
  EXPECT_EQ(statistics().at("socket_memory_pressure{TCP}"), 0U) << "of the first of two";
}

TEST_F(Sockets, ThatAreWrongAreRefusedWithThePlace) {
  const std::string rows = files_.contents[kProtocols];
  const std::size_t end = rows.size();
  const std::size_t first = kHeader.size();
  files_.expect_refused_with(kProtocols, "");
  files_.expect_refused_with(kProtocols, "protocol size sockets memory\n");
  files_.expect_refused_with(kProtocols, kHeader, first);
  files_.expect_refused_with(kProtocols, kHeader + "UDP 1 2 3", first);
  for (const char* line : {"UDP 1 2 3\n", "UDP\n", "\n", "a b c d e\n", "UDP 1 2 x NI\n", "UDP -1 2 3 NI\n",
                           "UDP 1 2 9223372036854775808 NI\n", "UDP 1 2 9223372036854775807 NI\n"}) {
    files_.expect_refused_with(kProtocols, rows + line, end);
  }
  for (const char* text : {"", "1 2\n", "1 2 x\n", "-1 2 3\n", "1 2 18446744073709551616\n"}) {
    files_.expect_refused_with(kTcpMem, text);
  }
  files_.expect_refused_with(kSockstat, "TCP: a\nFRAG: inuse 1\n", 7);
  files_.expect_refused_with(kSockstat, "TCP: a\nFRAG: inuse 1 memory x\n", 7);
  files_.expect_refused_with(kSockstat, "TCP: a\nFRAG: inuse 1 memory 2", 7);
  files_.expect_refused_with(kNetstat, "TcpExt: PruneCalled\nTcpExt: x\n", 20);
  files_.expect_refused_with(kSnmp, "Udp: MemErrors\n", 15);
  files_.expect_refused_with(kSnmp6, "a 1\nUdp6MemErrors x\n", 4);
  files_.contents["/proc/sys/net/ipv4/ipfrag_high_thresh"] = "x\n";
  files_.contents[kSockstat] = "FRAG: inuse 1 memory 2\n";
  files_.expect_refused("/proc/sys/net/ipv4/ipfrag_high_thresh", 0);
}

TEST_F(Sockets, OfABundleThatIsCutShortAreRefused) {
  files_.has_end = false;
  EXPECT_FALSE(files_.parse());
  files_.has_end = true;
  files_.contents = {{kSockstat, "FRAG: inuse 2 memory 968\n"}};
  EXPECT_FALSE(files_.parse());
}

/// Descriptors that the destructor closes.
class OpenSockets {
 public:
  OpenSockets() = default;
  OpenSockets(const OpenSockets&) = delete;
  OpenSockets& operator=(const OpenSockets&) = delete;
  ~OpenSockets() {
    for (const int descriptor : descriptors_) close(descriptor);
  }
  int keep(int descriptor) {
    if (descriptor >= 0) descriptors_.push_back(descriptor);
    return descriptor;
  }

 private:
  std::vector<int> descriptors_;
};

sockaddr_in loopback() {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

/// Connects to its own listener and writes until no more fits. Returns B, 0 if there is no network.
std::uint64_t fill_connection(OpenSockets& sockets) {
  sockaddr_in address = loopback();
  socklen_t size = sizeof address;
  const int listener = sockets.keep(socket(AF_INET, SOCK_STREAM, 0));
  const int client = sockets.keep(socket(AF_INET, SOCK_STREAM, 0));
  if (bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 || listen(listener, 1) != 0 ||
      getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size) != 0 ||
      connect(client, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      sockets.keep(accept(listener, nullptr, nullptr)) < 0) {
    return 0;
  }
  fcntl(client, F_SETFL, O_NONBLOCK);
  const std::string bytes(65536, 'x');
  std::uint64_t written = 0;
  for (ssize_t count = 0; (count = write(client, bytes.data(), bytes.size())) > 0;)
    written += static_cast<std::uint64_t>(count);
  return written;
}

using LiveSockets = LiveSource<source>;

TEST_F(LiveSockets, SeeSocketsAndTheirDataOfTheTest) {
  OpenSockets sockets;
  const sockaddr_in any_port = loopback();  // a datagram socket counts once it has a port
  for (int i = 0; i < 100; ++i) {
    const int udp = sockets.keep(socket(AF_INET, SOCK_DGRAM, 0));
    if (bind(udp, reinterpret_cast<const sockaddr*>(&any_port), sizeof any_port) != 0) GTEST_SKIP() << "no loopback network";
  }
  std::uint64_t written = 0;
  for (int i = 0; i < 12; ++i) written += fill_connection(sockets);
  if (written == 0) GTEST_SKIP() << "this machine has no loopback network";
  ASSERT_TRUE(refreshes());
  const MemoryType* udp = list_.find(Allocator::kSocket, "UDP");
  const MemoryType* tcp = list_.find(Allocator::kSocket, "TCP");
  ASSERT_TRUE(udp != nullptr && tcp != nullptr);
  EXPECT_GE(udp->figure(Field::kCount), 100U);
  EXPECT_GE(tcp->figure(Field::kCount), 36U);
  // Each CPU may withhold 1 MiB, and data are in sockets' memory as soon as they are written.
  const std::uint64_t held_back = std::uint64_t{view_->cpu_count()} << 20U;
  if (written > held_back) {
    EXPECT_GE(tcp->figure(Field::kBytes), written - held_back) << "of " << written;
  }
  EXPECT_LT(tcp->figure(Field::kBytes), std::uint64_t{1} << 40U);
  Buffer limits;
  if (!view_->read_file(kTcpMem, limits)) GTEST_SKIP() << "limits are the business of another network namespace";
  std::uint64_t pages[3] = {};
  ASSERT_EQ(std::sscanf(std::string(limits.view()).c_str(), "%lu %lu %lu", &pages[0], &pages[1], &pages[2]), 3);
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  EXPECT_EQ(tcp->figure(Field::kBytesLimit), pages[2] * page);
  EXPECT_EQ(find_statistic(reader_.staging, metric_named("memstat_socket_pressure_threshold_bytes"), "TCP"),
            pages[1] * page);
}

}  // namespace
}  // namespace memstat::linux_socket_test
