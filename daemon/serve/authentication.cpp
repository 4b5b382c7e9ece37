// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/serve/authentication.h"

#include <unistd.h>
#if __has_include(<crypt.h>)
#include <crypt.h>
#endif

#include <algorithm>
#include <exception>
#include <memory>
#include <random>
#include <utility>

#include "core/base/ascii.h"
#include "core/base/text.h"
#include "core/base/thread_name.h"
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

Authentication::~Authentication() {
  stop();
  if (thread_.joinable()) thread_.join();
}

void Authentication::stop() {
  {
    const MutexLock lock(mutex_);
    must_stop_ = true;
    for (PendingCheck* const check : waiting_) check->verdict = Verdict::kBusy;
    waiting_.clear();
  }
  has_work_.notify_all();
  answered_.notify_all();
}

void Authentication::configure(Users users) {
  if (!users.empty() && !thread_.joinable()) thread_ = std::thread([this] { run(); });
  std::string unknown_hash = users.empty() ? std::string() : unknown_hash_like(users.begin()->second);
  const MutexLock lock(mutex_);
  users_.swap(users);
  unknown_hash_.swap(unknown_hash);
  right_.clear();
  ++generation_;
}

Authentication::Digest Authentication::digest_of(const Credentials& credentials) const {
  const std::string text = credentials.name + ":" + credentials.password;
  return {keyed_hash(keys_[0], text), keyed_hash(keys_[1], text)};
}

std::optional<HttpResponse> Authentication::refuse(const HttpRequest& request) {
  if (request.is_own) return {};
  {
    const MutexLock lock(mutex_);
    if (users_.empty()) return {};
  }
  const auto header = request.header("Authorization");
  auto credentials = header ? parse_basic_credentials(*header) : std::nullopt;
  if (!credentials) return unauthorized();
  const Digest digest = digest_of(*credentials);
  PendingCheck check{.credentials = *std::move(credentials), .digest = digest};
  switch (await_verdict(check)) {
    case Verdict::kRight: return {};
    case Verdict::kBusy: return busy();
    case Verdict::kWrong:
    case Verdict::kWaiting: break;
  }
  return unauthorized();
}

Authentication::Verdict Authentication::await_verdict(PendingCheck& check) {
  MutexLock lock(mutex_);
  const auto known = right_.find(check.credentials.name);
  if (known != right_.end() && known->second == check.digest) return Verdict::kRight;
  if (must_stop_ || waiting_.size() >= kMaxWaiting) return Verdict::kBusy;
  waiting_.push_back(&check);
  has_work_.notify_one();
  answered_.wait(mutex_, [&]() MEMSTAT_REQUIRES(mutex_) { return check.verdict != Verdict::kWaiting; });
  return check.verdict;
}

std::optional<Authentication::Job> Authentication::job_of(const PendingCheck& check) try {
  const auto user = users_.find(check.credentials.name);
  const bool is_known = user != users_.end();
  return Job{.credentials = check.credentials,
             .digest = check.digest,
             .hash = is_known ? user->second : unknown_hash_,
             .is_known = is_known,
             .generation = generation_};
} catch (const std::exception&) {  // std::bad_alloc
  return {};
}

Authentication::Verdict Authentication::verify(const std::optional<Job>& job) const try {
  if (!job) return Verdict::kBusy;
  // bcrypt would ignore a NUL in a password and everything after it. Do the same work, but reject it.
  const bool is_text = job->credentials.password.find('\0') == std::string::npos;
  const bool is_right = verify_(job->credentials.password, job->hash);
  return is_right && is_text && job->is_known ? Verdict::kRight : Verdict::kWrong;
} catch (const std::exception&) {
  return Verdict::kBusy;
}

void Authentication::remember(const Job& job) try {
  if (job.generation == generation_) right_.insert_or_assign(job.credentials.name, job.digest);
} catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): it is verified again next time
}

void Authentication::run() {
  name_thread("memstatd-auth");
  MutexLock lock(mutex_);
  while (true) {
    has_work_.wait(mutex_, [this]() MEMSTAT_REQUIRES(mutex_) { return must_stop_ || !waiting_.empty(); });
    if (must_stop_) return;
    const std::optional<Job> job = job_of(*waiting_.front());  // stays in the queue meanwhile
    lock.unlock();
    const Verdict verdict = verify(job);
    lock.lock();
    if (must_stop_) return;  // stop() has answered it
    if (verdict == Verdict::kRight) remember(*job);
    waiting_.front()->verdict = verdict;
    waiting_.pop_front();
    answered_.notify_all();
  }
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
