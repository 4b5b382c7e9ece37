// SPDX-License-Identifier: BSD-2-Clause
// URLs of a memstatd, and the bytes of an HTTP answer. Pure: nothing here opens a connection.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace memstat::ctl {

/// http://[USER[:PASSWORD]@]HOST[:PORT][/PREFIX] or unix:PATH, taken apart. Thread safety: a plain value.
struct HttpUrl {
  std::string socket;    ///< Path of a unix socket; "" for TCP.
  std::string host;      ///< Without the brackets of an IPv6 address.
  std::string port;      ///< "80" when not said.
  std::string prefix;    ///< Before /api/v1: "" or "/memstatd"; never ends with a slash.
  std::string user;      ///< With the password, "user:password"; "" for none.
  std::string for_logs;  ///< The URL without user and password.
};

/// `problem` is "" exactly when the URL is one that can be asked.
struct ParsedUrl {
  HttpUrl url;
  std::string problem;
};
ParsedUrl parse_url(std::string_view text);

/// An answer. Thread safety: a plain value.
struct HttpAnswer {
  int status = 0;
  std::string etag;  ///< "" for none.
  std::string body;
};

/// Bytes of header lines, and of a body, at most.
inline constexpr std::size_t kMaxHttpHead = 64 * 1024;
inline constexpr std::size_t kMaxHttpBody = 64 * 1024 * 1024;

/// Takes an answer as its bytes arrive. Thread safety: none.
class HttpAnswerReader {
 public:
  /// Adds bytes. False when no more are wanted: the answer is whole, or `problem()` says what is wrong with it.
  bool add(std::string_view bytes);
  /// The connection has ended. False when the answer is not whole.
  bool finish();
  [[nodiscard]] const std::string& problem() const { return problem_; }
  /// Requires that add() or finish() found it whole.
  [[nodiscard]] HttpAnswer take() { return std::move(answer_); }

 private:
  bool fail(const char* why);
  bool read_head();
  bool read_body();
  bool read_chunks();

  enum class Body { kUntilEnd, kSized, kChunked };
  std::string bytes_;  // not taken yet
  HttpAnswer answer_;
  std::string problem_;
  std::size_t size_ = 0;  // of the body, or left of the chunk
  Body body_ = Body::kUntilEnd;
  bool has_head_ = false;
  bool is_in_chunk_ = false;
  bool is_whole_ = false;
};

}  // namespace memstat::ctl
