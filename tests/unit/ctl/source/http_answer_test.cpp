// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/source/http_answer.h"

#include <gtest/gtest.h>

#include <string>

namespace memstat::ctl {
namespace {

/// The answer in pieces of `piece` bytes, or the problem.
std::string read_in_pieces(std::string_view bytes, std::size_t piece, HttpAnswer* answer = nullptr) {
  HttpAnswerReader reader;
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    if (reader.add(bytes.substr(at, piece))) continue;
    if (answer != nullptr) *answer = reader.take();
    return reader.problem();
  }
  if (reader.finish() && answer != nullptr) *answer = reader.take();
  return reader.problem();
}

constexpr const char* kAnswers[] = {
    "HTTP/1.1 200 OK\r\nETag: W/\"1-2\"\r\nContent-Length: 5\r\n\r\nhello",
    "HTTP/1.1 200 OK\r\netag:W/\"1-2\" \r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n003;x=y\r\nllo\r\n0\r\n\r\n",
    "HTTP/1.0 200 OK\r\nETag: W/\"1-2\"\r\n\r\nhello",
};

TEST(HttpAnswer, IsTakenInPiecesOfAnySizeWithAnyKindOfBody) {
  for (const std::string_view bytes : kAnswers) {
    for (std::size_t piece = 1; piece <= bytes.size(); ++piece) {
      HttpAnswer answer;
      ASSERT_EQ(read_in_pieces(bytes, piece, &answer), "") << bytes;
      EXPECT_EQ(answer.status, 200);
      EXPECT_EQ(answer.etag, "W/\"1-2\"");
      EXPECT_EQ(answer.body, "hello") << bytes << piece;
    }
  }
}

TEST(HttpAnswer, ThatIsCutShortIsAProblem) {
  for (const std::string_view bytes : {std::string_view(kAnswers[0]), std::string_view(kAnswers[1])}) {
    const std::size_t whole = bytes.find("0\r\n\r\n") == std::string_view::npos ? bytes.size() : bytes.size() - 2;
    for (std::size_t size = 0; size < whole; ++size) EXPECT_NE(read_in_pieces(bytes.substr(0, size), 7), "") << size;
  }
  EXPECT_EQ(read_in_pieces("", 1), "the connection was closed without an answer");
}

TEST(HttpAnswer, ThatIsHostileIsRefused) {
  const std::string head = "HTTP/1.1 200 OK\r\n";
  EXPECT_EQ(read_in_pieces("SSH-2.0-OpenSSH_9.2\r\n", 4), "the answer is not HTTP");
  EXPECT_EQ(read_in_pieces("HTTP/1.1 2x0 OK\r\n\r\n", 4), "the answer has no status");
  EXPECT_EQ(read_in_pieces(head + "Content-Length: 67108865\r\n\r\n", 9), "the answer is larger than 64 MiB");
  EXPECT_EQ(read_in_pieces(head + "Content-Length: 99999999999999999999999\r\n\r\n", 9), "the answer is larger than 64 MiB");
  EXPECT_EQ(read_in_pieces(head + "Content-Length: -1\r\n\r\n", 9), "the answer has no possible size");
  EXPECT_EQ(read_in_pieces(head + "Transfer-Encoding: chunked\r\n\r\nfffffffffffffffffff\r\n", 9),
            "the answer is larger than 64 MiB");
  EXPECT_EQ(read_in_pieces(head + "Transfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n", 99), "the answer has a broken chunk");
  EXPECT_EQ(read_in_pieces(head + "Transfer-Encoding: chunked\r\n\r\n" + std::string(2000, '0'), 999),
            "the answer has a broken chunk");
  EXPECT_EQ(read_in_pieces(head + "Content-Encoding: gzip\r\n\r\n", 9), "the answer is compressed, which was not asked for");
  EXPECT_EQ(read_in_pieces(head + "no colon\r\n\r\n", 9), "the answer has a header line without a colon");
  EXPECT_EQ(read_in_pieces(head + std::string(70000, 'x'), 1000), "the answer's header is larger than 64 KiB");
  HttpAnswerReader endless;
  ASSERT_TRUE(endless.add(head + "\r\n"));
  const std::string piece(1 << 20, 'x');
  int pieces = 0;
  while (pieces < 100 && endless.add(piece)) ++pieces;
  EXPECT_EQ(pieces, 64) << "the bound of a body without a size";
}

TEST(HttpUrl, IsTakenApart) {
  const ParsedUrl full = parse_url("http://me:p%40ss@host:8947/behind/proxy/");
  ASSERT_EQ(full.problem, "");
  EXPECT_EQ(full.url.host, "host");
  EXPECT_EQ(full.url.port, "8947");
  EXPECT_EQ(full.url.prefix, "/behind/proxy");
  EXPECT_EQ(full.url.user, "me:p@ss");
  EXPECT_EQ(full.url.for_logs, "http://host:8947/behind/proxy") << "never the password";
  const ParsedUrl ipv6 = parse_url("HTTP://[::1]:80");
  EXPECT_EQ(ipv6.url.host + " " + ipv6.url.port + " " + ipv6.problem, "::1 80 ");
  EXPECT_EQ(parse_url("http://host").url.port, "80");
  for (const char* wrong : {"", "host:80", "ftp://host", "https://host", "http://", "http://:80", "http://host:",
                            "http://host:0", "http://host:65536", "http://host:8a", "http://host:999999999999",
                            "http://[::1", "http://[::1]x", "http://host/?q", "http://ho st", "http://host/\r\nX: y"}) {
    EXPECT_NE(parse_url(wrong).problem, "") << wrong;
  }
}

}  // namespace
}  // namespace memstat::ctl
