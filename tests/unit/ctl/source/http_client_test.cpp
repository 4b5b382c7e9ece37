// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/source/http_client.h"

#include "tests/support/test.h"

namespace memstat::ctl {
namespace {

std::string problem_of(std::string_view bytes) {
  HttpAnswer answer;
  return parse_answer(bytes, answer);
}

constexpr const char* kAnswers[] = {
    "HTTP/1.1 200 OK\r\nETag: W/\"1-2\"\r\nContent-Length: 5\r\n\r\nhello",
    "HTTP/1.0 200 OK\r\nETag: W/\"1-2\"\r\n\r\nhello",
};

TEST(HttpAnswer, IsReadWithAnyKindOfBody) {
  for (const std::string_view bytes : kAnswers) {
    HttpAnswer answer;
    ASSERT_EQ(parse_answer(bytes, answer), "") << bytes;
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.etag, "W/\"1-2\"");
    EXPECT_EQ(answer.body, "hello") << bytes;
  }
  HttpAnswer known;
  EXPECT_EQ(parse_answer("HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", known), "");
  EXPECT_EQ(known.status, 304);
}

TEST(HttpAnswer, ThatIsCutShortIsAProblem) {
  const std::string_view bytes(kAnswers[0]);
  for (std::size_t size = 0; size < bytes.size(); ++size) EXPECT_NE(problem_of(bytes.substr(0, size)), "") << size;
  EXPECT_EQ(problem_of(""), "the connection was closed without an answer");
}

TEST(HttpAnswer, ThatIsHostileIsRefused) {
  const std::string head = "HTTP/1.1 200 OK\r\n";
  EXPECT_EQ(problem_of("SSH-2.0-OpenSSH_9.2\r\n"), "the answer is not HTTP");
  EXPECT_EQ(problem_of("HTTP/1.1 2x0 OK\r\n\r\n"), "the answer has no status");
  EXPECT_EQ(problem_of(head + "Content-Length: 67108865\r\n\r\n"), "the answer is larger than 64 MiB");
  EXPECT_EQ(problem_of(head + "Content-Length: 99999999999999999999999\r\n\r\n"), "the answer has no valid size");
  EXPECT_EQ(problem_of(head + "Content-Length: -1\r\n\r\n"), "the answer has no valid size");
  EXPECT_EQ(problem_of(head + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
            "the answer has a transfer coding that was not requested");
  EXPECT_EQ(problem_of(head + "Transfer-Encoding: gzip\r\n\r\n"), "the answer has a transfer coding that was not requested");
  EXPECT_EQ(problem_of(head + "Content-Encoding: gzip\r\n\r\n"),
            "the answer is compressed, although that was not requested");
  EXPECT_EQ(problem_of(head + "no colon\r\n\r\n"), "the answer has a header line without a colon");
  EXPECT_EQ(problem_of(head + std::string(70000, 'x')), "the answer's header is larger than 64 KiB");
  EXPECT_EQ(problem_of(head + "\r\n" + std::string(kMaxHttpBody + 1, 'x')), "the answer is larger than 64 MiB");
}

TEST(HttpUrl, IsTakenApart) {
  const ParsedUrl full = parse_url("http://me:p%40ss@host:8947/behind/proxy/");
  ASSERT_EQ(full.problem, "");
  EXPECT_EQ(full.url.host, "host");
  EXPECT_EQ(full.url.port, "8947");
  EXPECT_EQ(full.url.prefix, "/behind/proxy");
  EXPECT_EQ(full.url.credentials, "bWU6cEBzcw==") << "me:p@ss";
  EXPECT_EQ(full.url.for_logs, "http://host:8947/behind/proxy") << "never the password";
  const ParsedUrl ipv6 = parse_url("HTTP://[::1]:80");
  EXPECT_EQ(ipv6.url.host + " " + ipv6.url.port + " " + ipv6.problem, "::1 80 ");
  EXPECT_EQ(parse_url("http://host").url.port, "80");
  const ParsedUrl https = parse_url("https://host/memstatd");
  EXPECT_TRUE(https.url.is_https);
  EXPECT_EQ(https.url.port + https.url.prefix + https.url.for_logs, "443/memstatdhttps://host/memstatd");
  EXPECT_EQ(parse_url("unix:/run/memstatd.sock").url.socket, "/run/memstatd.sock");
  for (const char* wrong :
       {"", "host:80", "ftp://host", "https://", "http://", "http://:80", "http://host:", "http://host:0",
        "http://host:65536", "http://host:8a", "http://host:999999999999", "http://[::1", "http://[::1]x", "http://host/?q",
        "http://ho st", "http://host/\r\nX: y", "http://me:5%@host", "unix:memstatd.sock"}) {
    EXPECT_NE(parse_url(wrong).problem, "") << wrong;
  }
}

}  // namespace
}  // namespace memstat::ctl
