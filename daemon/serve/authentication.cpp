// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/serve/authentication.h"

#include <unistd.h>
#if __has_include(<crypt.h>)
#include <crypt.h>
#endif

#include <exception>
#include <memory>
#include <random>
#include <utility>

#include "core/base/ascii.h"
#include "core/base/text.h"
#include "daemon/serve/keyed_hash.h"

namespace memstat {

namespace {

// "$2b$10$", 22 characters of salt, 31 of the hash.
constexpr std::size_t kSettingBytes = 7;
constexpr std::size_t kSaltBytes = 22;
constexpr std::size_t kHashBytes = 60;

/// A hash of the same cost that no known password has.
std::string unknown_hash_like(const std::string& hash) {
  return hash.substr(0, kSettingBytes) + std::string(kHashBytes - kSettingBytes, '.');
}

std::uint64_t random_word(std::random_device& device) { return std::uint64_t{device()} << 32U | device(); }

HttpResponse unauthorized() {
  HttpResponse response = plain(401, "This memstatd requires a name and a password.\n");
  response.headers.emplace_back("WWW-Authenticate", "Basic realm=\"memstatd\", charset=\"UTF-8\"");
  return response;
}

HttpResponse busy() {
  HttpResponse response = plain(503, "Too many passwords are being checked; try again later.\n");
  response.headers.emplace_back("Retry-After", "1");
  return response;
}

std::optional<std::string> decode_base64(std::string_view text) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  if (text.size() % 4 != 0) return {};
  std::size_t padding = 0;
  for (; padding < 2 && text.ends_with('='); ++padding) text.remove_suffix(1);
  std::string bytes;
  std::uint32_t bits = 0;
  unsigned have = 0;
  for (const char c : text) {
    const std::size_t value = kDigits.find(c);
    if (value == std::string_view::npos) return {};
    bits = bits << 6U | static_cast<std::uint32_t>(value);
    have += 6;
    if (have < 8) continue;
    have -= 8;
    bytes += static_cast<char>(bits >> have & 0xFFU);
  }
  if ((bits & ((1U << have) - 1)) != 0) return {};  // reject other encodings of the same bytes
  return bytes;
}

}  // namespace

bool has_bcrypt_hash(const std::string& password, const std::string& hash) {
  if (hash.size() != kHashBytes) return false;
  // $2a$ and $2y$ are computed identically, and not every system supports all three.
  std::string setting = hash.substr(0, kSettingBytes + kSaltBytes);
  setting[2] = 'b';
  const auto work = std::make_unique<crypt_data>();  // 32 KiB with glibc
  const char* const made = crypt_r(password.c_str(), setting.c_str(), work.get());
  if (made == nullptr) return false;
  const std::string_view found(made);
  if (found.size() != hash.size()) return false;
  unsigned difference = 0;  // compare all characters, so that the time reveals nothing
  for (std::size_t i = 3; i < hash.size(); ++i) difference |= static_cast<unsigned char>(found[i] ^ hash[i]);
  return difference == 0;
}

Authentication::Authentication(Users users, Verify verify) : verify_(std::move(verify)) {
  std::random_device device;
  for (auto& key : keys_) {
    for (std::uint64_t& word : key) word = random_word(device);
  }
  configure(std::move(users));
}

void Authentication::stop() {
  const MutexLock lock(mutex_);
  must_stop_ = true;
}

void Authentication::configure(Users users) {
  std::string unknown_hash = users.empty() ? std::string() : unknown_hash_like(users.begin()->second);
  const MutexLock lock(mutex_);
  users_.swap(users);
  unknown_hash_.swap(unknown_hash);
  right_.clear();
  ++generation_;
}

bool Authentication::is_known_right(const std::string& name, const Digest& digest) const {
  const auto known = right_.find(name);
  return known != right_.end() && known->second == digest;
}

std::optional<HttpResponse> Authentication::refuse(const HttpRequest& request) {
  if (request.is_own) return {};
  {
    const MutexLock lock(mutex_);
    if (users_.empty()) return {};
  }
  const auto header = request.header("Authorization");
  const auto credentials = header ? parse_basic_credentials(*header) : std::nullopt;
  if (!credentials) return unauthorized();

  const std::string text = credentials->name + ":" + credentials->password;
  const Digest digest{keyed_hash(keys_[0], text), keyed_hash(keys_[1], text)};
  {
    const MutexLock lock(mutex_);
    if (is_known_right(credentials->name, digest)) return {};
    if (must_stop_ || waiting_ >= kMaxWaiting) return busy();
    ++waiting_;
  }
  const Verdict verdict = check(*credentials, digest);
  {
    const MutexLock lock(mutex_);
    --waiting_;
  }
  if (verdict == Verdict::kRight) return {};
  return verdict == Verdict::kBusy ? busy() : unauthorized();
}

Authentication::Verdict Authentication::check(const Credentials& credentials, const Digest& digest) noexcept try {
  const MutexLock turn(hashing_);
  std::string hash;
  bool is_known = false;
  std::uint64_t generation = 0;
  {
    const MutexLock lock(mutex_);
    if (must_stop_) return Verdict::kBusy;
    if (is_known_right(credentials.name, digest)) return Verdict::kRight;  // checked while this request waited
    const auto user = users_.find(credentials.name);
    is_known = user != users_.end();
    hash = is_known ? user->second : unknown_hash_;
    generation = generation_;
  }
  // bcrypt would ignore a NUL in a password and everything after it. Do the same work, but reject it.
  const bool is_text = credentials.password.find('\0') == std::string::npos;
  if (!verify_(credentials.password, hash) || !is_text || !is_known) return Verdict::kWrong;
  const MutexLock lock(mutex_);
  if (generation == generation_) right_.insert_or_assign(credentials.name, digest);
  return Verdict::kRight;
} catch (const std::exception&) {  // std::bad_alloc
  return Verdict::kBusy;
}

std::optional<Credentials> parse_basic_credentials(std::string_view value) {
  constexpr std::string_view kScheme = "Basic ";
  if (value.size() < kScheme.size() || !equals_ignoring_case(value.substr(0, kScheme.size()), kScheme)) return {};
  const auto text = decode_base64(trim(value.substr(kScheme.size())));
  const std::size_t colon = text ? text->find(':') : std::string::npos;
  if (colon == std::string::npos) return {};
  return Credentials{.name = text->substr(0, colon), .password = text->substr(colon + 1)};
}

}  // namespace memstat
