// SPDX-License-Identifier: BSD-2-Clause
// A raw HTTP client for tests: sends any bytes, valid or not, and reads answers under a deadline.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace memstat {

/// One raw answer.
struct HttpAnswer {
  int status = 0;
  std::string head;  ///< Status line and header lines, without the empty line.
  std::string body;
  /// The value of the first header of this name (regardless of case), or nothing.
  [[nodiscard]] std::optional<std::string> header(std::string_view name) const;
};

/// One TCP connection. No call takes longer than its deadline. Thread safety: none.
class HttpClient {
 public:
  using Milliseconds = std::chrono::milliseconds;

  /// Connects to "127.0.0.1:8947". A `receive_buffer` above 0 is the socket's receive buffer in bytes.
  explicit HttpClient(std::string_view address, Milliseconds deadline = Milliseconds(60'000), int receive_buffer = 0);
  ~HttpClient();
  HttpClient(HttpClient&& other) noexcept;
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  [[nodiscard]] bool connected() const { return descriptor_ >= 0; }

  /// Sends all bytes. False when the peer has closed or the deadline passed.
  bool send(std::string_view bytes);

  /// Closes our half of the connection.
  void finish_sending();

  /// Ends the connection with a reset, as a crashed client or a port scanner does.
  void reset_on_close();

  /// Waits until bytes of an answer have come, and reads none of them. False when the deadline passed.
  [[nodiscard]] bool wait_for_bytes() const;

  /// Waits until the peer has closed or reset the connection, and reads nothing. False when the deadline passed.
  [[nodiscard]] bool wait_for_end() const;

  /// The next answer, of its Content-Length; `without_body` for the answer to HEAD. Nothing if the peer closes before
  /// it is complete, or if the deadline passes.
  std::optional<HttpAnswer> read_answer(bool without_body = false);

  /// Sends "METHOD target HTTP/1.1" with a valid Host and `extra` header lines (each with its CR LF), and reads the answer.
  std::optional<HttpAnswer> request(std::string_view method, std::string_view target, std::string_view extra = {});

  /// All bytes until the peer closes; nothing if it does not close before the deadline. A reset counts as a close.
  std::optional<std::string> read_to_end();

 private:
  using Clock = std::chrono::steady_clock;
  enum class Read { kBytes, kEnd, kLate };
  Read read_some(Clock::time_point until);

  int descriptor_ = -1;
  Milliseconds deadline_;
  std::string received_;
};

}  // namespace memstat
