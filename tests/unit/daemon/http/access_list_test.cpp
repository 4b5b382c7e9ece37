// SPDX-License-Identifier: BSD-2-Clause
// Who may connect, and the rules on the text of a request.
#include "daemon/http/rules.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "daemon/http/server.h"
#include "tests/support/http_client.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

// An address of this host other than loopback: connections to it come from it, as from another host.
std::optional<IpAddress> other_address() {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return {};
  std::optional<IpAddress> found;
  for (const ifaddrs* entry = list; entry != nullptr && !found; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr || entry->ifa_addr->sa_family != AF_INET || (entry->ifa_flags & IFF_UP) == 0) continue;
    const auto* address = reinterpret_cast<const sockaddr_in*>(entry->ifa_addr);
    if (const IpAddress ip = IpAddress::v4(ntohl(address->sin_addr.s_addr)); !is_loopback(ip)) found = ip;
  }
  ::freeifaddrs(list);
  return found;
}

TEST(HttpServer, RefusesAddressesThatAreNotAllowedAndServesThoseThatAre) {
  const auto own = other_address();
  if (!own) GTEST_SKIP() << "this host has no address but loopback";
  std::mutex mutex;
  std::string lines;
  const auto log = [&](std::string_view line) {
    const std::lock_guard lock(mutex);
    lines += line;
  };
  for (const bool allowed : {false, true}) {
    HttpServerOptions options;
    options.listen = {{*own, 0}};
    if (allowed) options.allow = {{own->masked(24), 24}};
    options.log = log;
    auto server = HttpServer::start(options, [](const HttpRequest&) { return HttpResponse{}; });
    ASSERT_TRUE(server) << to_string(server.error());
    HttpClient client((*server)->addresses()[0]);
    ASSERT_TRUE(client.connected());
    client.send("GET /metrics HTTP/1.1\r\nHost: any.example\r\n\r\n");
    const auto got = client.read_answer();
    EXPECT_EQ(got.has_value(), allowed);
    EXPECT_EQ(got ? got->status : 200, 200) << "Host is checked on loopback only";
  }
  const std::lock_guard lock(mutex);
  EXPECT_NE(lines.find(format_ip(*own)), std::string::npos) << lines;
}

TEST(AccessList, AdmitsLoopbackAndTheNetworksOfTheConfiguration) {
  const auto admits = [](const std::vector<std::pair<const char*, unsigned>>& networks, const char* address) {
    std::vector<IpNetwork> allow;
    for (const auto& [network, prefix] : networks) allow.push_back({*parse_ip(network), prefix});
    return may_connect(*parse_ip(address), allow);
  };
  EXPECT_TRUE(admits({}, "127.0.0.1"));
  EXPECT_TRUE(admits({}, "127.255.255.255"));
  EXPECT_FALSE(admits({}, "128.0.0.1"));
  EXPECT_FALSE(admits({}, "10.0.0.1"));
  EXPECT_TRUE(admits({{"10.0.0.0", 8}}, "10.255.0.1"));
  EXPECT_FALSE(admits({{"10.0.0.0", 8}}, "11.0.0.1"));
  EXPECT_TRUE(admits({{"10.0.0.0", 8}, {"192.0.2.1", 32}}, "192.0.2.1"));
  EXPECT_FALSE(admits({{"10.0.0.0", 8}, {"192.0.2.1", 32}}, "192.0.2.2"));
  EXPECT_TRUE(admits({{"0.0.0.0", 0}}, "203.0.113.9"));
  EXPECT_TRUE(admits({}, "::1"));
  EXPECT_FALSE(admits({{"0.0.0.0", 0}}, "2001:db8::1"));
  EXPECT_TRUE(admits({{"2001:db8::", 32}}, "2001:db8:1::1"));
}

TEST(HttpRules, HeaderEndsAtTheEmptyLineOrAtAControlCharacter) {
  const std::string one = "GET / HTTP/1.1\r\nA: b\r\n\r\n";
  EXPECT_EQ(header_length(one, 0), one.size());
  EXPECT_EQ(header_length(one + one, 0), one.size());
  for (std::size_t seen = 0; seen < one.size(); ++seen) EXPECT_EQ(header_length(one, seen), one.size()) << seen;
  for (const std::string_view whole :
       {"GET / HTTP/1.1\n\n", "GET / HTTP/1.1\n\r\n", "GET \x01", "\x16\x03", "GET /\t", "\x7f"}) {
    EXPECT_EQ(header_length(whole, 0), whole.size()) << whole;
  }
  for (const char* part : {"", "G", "GET / HTTP/1.1", "GET / HTTP/1.1\r", "GET / HTTP/1.1\r\n", "GET / HTTP/1.1\r\n\r",
                           "\r\n", "\n", "\xff\xfe"}) {
    EXPECT_EQ(header_length(part, 0), 0U) << part;
  }
}

TEST(HttpRules, HeaderThatTwoReadersMayReadDifferentlyIsNotStrict) {
  for (const char* good : {"GET / HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\nA: b\r\n\r\n",
                           "GET / HTTP/1.1\r\nA:\r\nB:  c d\r\n\r\n", "FETCH * HTTP/9\r\n\r\n"}) {
    EXPECT_TRUE(is_strict_header(good)) << good;
  }
  for (const char* bad : {"",
                          "\r\n",
                          "\r\n\r\n",
                          "GET / HTTP/1.1",
                          "GET / HTTP/1.1\r\n",
                          "GET / HTTP/1.1\n\n",
                          "GET / HTTP/1.1\r\n\n",
                          "GET / HTTP/1.1\n\r\n",
                          "GET / HTTP/1.1\r\n\r\nX",
                          "GET /\r\n\r\n",
                          "GET  / HTTP/1.1\r\n\r\n",
                          "GET / HTTP/1.1 \r\n\r\n",
                          " GET / HTTP/1.1\r\n\r\n",
                          "GET /  HTTP/1.1\r\n\r\n",
                          "GET / x HTTP/1.1\r\n\r\n",
                          "GET / HTTP/1.1\r\nA\r\n\r\n",
                          "GET / HTTP/1.1\r\nA : b\r\n\r\n",
                          "GET / HTTP/1.1\r\n A: b\r\n\r\n",
                          "GET / HTTP/1.1\r\n: b\r\n\r\n",
                          "GET / HTTP/1.1\r\nA: b\rc\r\n\r\n",
                          "GET / HTTP/1.1\r\nA: b\tc\r\n\r\n",
                          "GET / HTTP/1.1\r\nA: b\x7f\r\n\r\n"}) {
    EXPECT_FALSE(is_strict_header(bad)) << bad;
  }
}

TEST(HttpRules, ListsAreSearchedByWholeTokens) {
  EXPECT_TRUE(list_contains("a, Keep-Alive ,b", "keep-alive"));
  EXPECT_FALSE(list_contains("keep-alive-not", "keep-alive"));
  EXPECT_FALSE(list_contains("", "keep-alive"));
  EXPECT_FALSE(list_contains(",,", "keep-alive"));
}

}  // namespace
}  // namespace memstat
