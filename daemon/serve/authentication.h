// SPDX-License-Identifier: BSD-2-Clause
// Key `basic_auth`: which requests carry a name and a password that the configuration knows. A hash of bcrypt takes a tenth
// of a second of a processor by design, so hashes are computed on one thread of their own, a few may wait for it, and what
// was found right is remembered.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <thread>

#include "core/base/mutex.h"
#include "daemon/http/server.h"
#include "daemon/serve/credentials.h"

namespace memstat {

/// Whether `password` has this hash of bcrypt. Takes as long as the hash's cost says, whatever the answer. Thread safety:
/// safe.
bool has_bcrypt_hash(const std::string& password, const std::string& hash);

/// Thread safety: refuse() is safe; the rest belongs to one thread.
class Authentication {
 public:
  /// Names and the hashes of their passwords, all of the same cost. Empty: everyone is admitted.
  using Users = std::map<std::string, std::string, std::less<>>;
  using Verify = std::function<bool(const std::string& password, const std::string& hash)>;

  /// Requests that may wait for their hash. More are refused with 503, so that those of known clients keep their threads.
  static constexpr std::size_t kMaxWaiting = 8;

  explicit Authentication(Users users, Verify verify = has_bcrypt_hash);
  /// Requests that wait are refused.
  ~Authentication();
  Authentication(const Authentication&) = delete;
  Authentication& operator=(const Authentication&) = delete;

  /// Nothing when the request may go on, else its answer: 401, or 503 when too many wait. An unknown name takes as long as a
  /// wrong password.
  std::optional<HttpResponse> refuse(const HttpRequest& request);
  /// New users. What was remembered is forgotten. Throws std::system_error when its thread cannot be made; then the users
  /// stay as they were.
  void configure(Users users);
  /// Requests that wait are refused, and all that come later. For a server that is about to stop.
  void stop();

 private:
  using Digest = std::array<std::uint64_t, 2>;
  enum class Verdict { kWaiting, kRight, kWrong, kBusy };
  struct Question {
    Credentials credentials;
    Digest digest;
    Verdict verdict = Verdict::kWaiting;
  };

  /// What the thread needs of a question, which may be gone before there is an answer.
  struct Job {
    Credentials credentials;
    Digest digest;
    std::string hash;
    bool is_known = false;
    std::uint64_t generation = 0;
  };

  Verdict ask(Question& question);
  void run();
  /// Nothing when there is no memory for it.
  std::optional<Job> job_of(const Question& question) MEMSTAT_REQUIRES(mutex_);
  [[nodiscard]] Verdict verify(const std::optional<Job>& job) const;
  void remember(const Job& job) MEMSTAT_REQUIRES(mutex_);
  [[nodiscard]] Digest digest_of(const Credentials& credentials) const;

  const Verify verify_;
  std::array<std::array<std::uint64_t, 2>, 2> keys_;
  Mutex mutex_;
  CondVar asked_;
  CondVar answered_;
  Users users_ MEMSTAT_GUARDED_BY(mutex_);
  std::string unknown_hash_ MEMSTAT_GUARDED_BY(mutex_);  // which no password has
  std::map<std::string, Digest, std::less<>> right_ MEMSTAT_GUARDED_BY(mutex_);
  std::uint64_t generation_ MEMSTAT_GUARDED_BY(mutex_) = 0;
  std::deque<Question*> waiting_ MEMSTAT_GUARDED_BY(mutex_);
  bool must_stop_ MEMSTAT_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace memstat
