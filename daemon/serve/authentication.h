// SPDX-License-Identifier: BSD-2-Clause
// Key `basic_auth`: admits requests with a name and password from the configuration. By design a bcrypt hash takes a tenth
// of a second of CPU time. So one hash is computed at a time, a few requests may wait for it, and correct passwords are
// cached.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/mutex.h"
#include "core/base/not_copyable.h"
#include "daemon/http/server.h"

namespace memstat {

/// A client's name and password. Not verified.
struct Credentials {
  std::string name;
  std::string password;
};

/// Parses the header's value: scheme Basic and base64 text that contains a colon. Rejects anything else, including other
/// characters in the base64 text, wrong padding and non-zero unused bits.
std::optional<Credentials> parse_basic_credentials(std::string_view value);

/// Whether `password` has this bcrypt hash. Takes the time of the hash's cost, whatever the result.
bool has_bcrypt_hash(const std::string& password, const std::string& hash);

/// Thread safety: safe.
class Authentication : NotCopyable {
 public:
  /// Names and password hashes, all of the same cost. Empty: everyone is admitted.
  using Users = std::map<std::string, std::string, std::less<>>;
  using Verify = std::function<bool(const std::string& password, const std::string& hash)>;

  /// Maximum number of requests that wait for a hash. Others are rejected with 503, so that known clients keep their
  /// threads.
  static constexpr std::size_t kMaxWaiting = 8;

  explicit Authentication(Users users, Verify verify = has_bcrypt_hash);

  /// Nothing if the request is admitted, otherwise its response: 401, or 503 if too many are waiting. An unknown name takes
  /// as long as a wrong password.
  std::optional<HttpResponse> refuse(const HttpRequest& request);
  /// Replaces the users and clears the cache.
  void configure(Users users);
  /// Rejects waiting and later requests, for a server that is about to stop. The hash being computed is completed.
  void stop();

 private:
  using Digest = std::array<std::uint64_t, 2>;
  enum class Verdict { kRight, kWrong, kBusy };

  [[nodiscard]] bool is_known_right(const std::string& name, const Digest& digest) const MEMSTAT_REQUIRES(mutex_);
  Verdict check(const Credentials& credentials, const Digest& digest) noexcept;

  const Verify verify_;
  std::array<std::array<std::uint64_t, 2>, 2> keys_;
  Mutex hashing_;  // held while a hash is computed
  Mutex mutex_;
  Users users_ MEMSTAT_GUARDED_BY(mutex_);
  std::string unknown_hash_ MEMSTAT_GUARDED_BY(mutex_);  // matches no password
  std::map<std::string, Digest, std::less<>> right_ MEMSTAT_GUARDED_BY(mutex_);
  std::uint64_t generation_ MEMSTAT_GUARDED_BY(mutex_) = 0;
  std::size_t waiting_ MEMSTAT_GUARDED_BY(mutex_) = 0;
  bool must_stop_ MEMSTAT_GUARDED_BY(mutex_) = false;
};

}  // namespace memstat
