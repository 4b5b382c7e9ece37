// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/serve/authentication.h"

#include "daemon/serve/keyed_hash.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

// Of "secret", at the lowest cost.
const std::string kSecret = "$2b$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW";
constexpr std::string_view kMeSecret = "Basic bWU6c2VjcmV0";         // me:secret
constexpr std::string_view kMeWrong = "Basic bWU6d3Jvbmc=";          // me:wrong
constexpr std::string_view kYouSecret = "Basic eW91OnNlY3JldA==";    // you:secret
constexpr std::string_view kMeSecretNul = "Basic bWU6c2VjcmV0AA==";  // with a NUL behind it

class AuthenticationTest : public testing::Test {
 protected:
  Authentication::Verify verify() {
    return [this](const std::string& password, const std::string& hash) {
      ++verified_;
      const MutexLock lock(hold_);
      last_hash_ = hash;
      return password == hash.substr(7);
    };
  }
  static int status(Authentication& authentication, std::string_view value, bool is_own = false) {
    const HttpHeader header{"authorization", value};
    HttpRequest request;
    request.headers = {&header, value.empty() ? 0U : 1U};
    request.is_own = is_own;
    const auto refusal = authentication.refuse(request);
    return refusal ? refusal->status : 200;
  }

  Mutex hold_;
  std::atomic<int> verified_ = 0;
  std::string last_hash_;
  const Authentication::Users users_{{"me", "$2b$10$secret"}};
};

TEST(Bcrypt, KnowsTheHashesOfItsThreeNames) {
  for (const char letter : {'a', 'b', 'y'}) {
    std::string hash = kSecret;
    hash[2] = letter;
    EXPECT_TRUE(has_bcrypt_hash("secret", hash)) << hash;
    EXPECT_FALSE(has_bcrypt_hash("Secret", hash));
    EXPECT_FALSE(has_bcrypt_hash("", hash));
    hash.back() = hash.back() == 'x' ? 'y' : 'x';
    EXPECT_FALSE(has_bcrypt_hash("secret", hash));
  }
  EXPECT_FALSE(has_bcrypt_hash("secret", ""));
  EXPECT_FALSE(has_bcrypt_hash("secret", std::string(60, 'x')));
}

TEST_F(AuthenticationTest, WithoutUsersEveryoneIsAdmitted) {
  Authentication authentication({}, verify());
  EXPECT_EQ(status(authentication, ""), 200);
  EXPECT_EQ(status(authentication, kMeWrong), 200);
  EXPECT_EQ(verified_, 0);
}

TEST_F(AuthenticationTest, ARightPasswordIsVerifiedOnceAndAWrongOneEachTime) {
  Authentication authentication(users_, verify());
  for (int i = 0; i < 3; ++i) EXPECT_EQ(status(authentication, kMeSecret), 200);
  EXPECT_EQ(verified_, 1);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(status(authentication, kMeWrong), 401);
  EXPECT_EQ(verified_, 4);
  EXPECT_EQ(status(authentication, kMeSecret), 200) << "and does not affect the right one";
  EXPECT_EQ(verified_, 4);
  EXPECT_EQ(status(authentication, kMeSecretNul), 401);
}

TEST_F(AuthenticationTest, AnUnknownNameIsAsMuchWorkAsAWrongPassword) {
  Authentication authentication(users_, verify());
  EXPECT_EQ(status(authentication, kYouSecret), 401);
  EXPECT_EQ(verified_, 1);
  EXPECT_EQ(last_hash_.substr(0, 7), "$2b$10$");
  EXPECT_EQ(last_hash_.size(), 60U);
  Authentication always_right(users_, [](const std::string&, const std::string&) { return true; });
  EXPECT_EQ(status(always_right, kYouSecret), 401) << "regardless of the hash";
}

TEST_F(AuthenticationTest, MalformedCredentialsAreRefusedWithoutWork) {
  Authentication authentication(users_, verify());
  for (const std::string_view value : {"", "Basic", "Basic !!!!", "Bearer bWU6c2VjcmV0"})
    EXPECT_EQ(status(authentication, value), 401);
  EXPECT_EQ(verified_, 0);
  HttpRequest request;
  const auto refusal = authentication.refuse(request);
  ASSERT_TRUE(refusal);
  ASSERT_EQ(refusal->headers.size(), 1U);
  EXPECT_EQ(refusal->headers[0].first, "WWW-Authenticate");
  EXPECT_TRUE(refusal->headers[0].second.starts_with("Basic realm="));
}

TEST_F(AuthenticationTest, TheServersOwnRequestNeedsNoPassword) {
  Authentication authentication(users_, verify());
  EXPECT_EQ(status(authentication, "", true), 200);
}

TEST_F(AuthenticationTest, NewUsersMakeItForget) {
  Authentication authentication(users_, verify());
  EXPECT_EQ(status(authentication, kMeSecret), 200);
  authentication.configure({{"me", "$2b$10$wrong"}});
  EXPECT_EQ(status(authentication, kMeSecret), 401);
  EXPECT_EQ(status(authentication, kMeWrong), 200);
  authentication.configure({});
  EXPECT_EQ(status(authentication, ""), 200);
  authentication.configure(users_);
  EXPECT_EQ(status(authentication, ""), 401);
}

TEST_F(AuthenticationTest, MoreThanAFewDoNotWaitAndTheKnownOneIsServed) {
  Authentication authentication(users_, verify());
  EXPECT_EQ(status(authentication, kMeSecret), 200);
  std::vector<std::thread> clients;
  std::atomic<int> busy = 0;
  std::atomic<int> refused = 0;
  {
    const MutexLock lock(hold_);  // no hash ends
    for (std::size_t i = 0; i < 3 * Authentication::kMaxWaiting; ++i) {
      clients.emplace_back([&] { (status(authentication, kMeWrong) == 503 ? busy : refused) += 1; });
    }
    while (busy < static_cast<int>(2 * Authentication::kMaxWaiting)) std::this_thread::yield();
    EXPECT_EQ(status(authentication, kMeSecret), 200);
  }
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(refused, static_cast<int>(Authentication::kMaxWaiting));
}

TEST_F(AuthenticationTest, AStopAnswersThoseThatWait) {
  Authentication authentication(users_, verify());
  std::vector<std::thread> clients;
  std::atomic<int> busy = 0;
  {
    const MutexLock lock(hold_);
    for (int i = 0; i < 3; ++i) clients.emplace_back([&] { busy += status(authentication, kMeWrong) == 503 ? 1 : 0; });
    while (verified_ == 0) std::this_thread::yield();
    authentication.stop();
  }
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(busy, 2) << "all except the one whose hash was being computed";
  EXPECT_EQ(status(authentication, kMeWrong), 503);
}

TEST_F(AuthenticationTest, SurvivesAHashThatCannotBeComputed) {
  Authentication authentication(users_, [](const std::string&, const std::string&) -> bool { throw std::bad_alloc(); });
  EXPECT_EQ(status(authentication, kMeSecret), 503);
}

std::string read_credentials(std::string_view value) {
  const auto credentials = parse_basic_credentials(value);
  return credentials ? credentials->name + "|" + credentials->password : "nothing";
}

TEST(Credentials, AreNameAndPassword) {
  EXPECT_EQ(read_credentials("Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="), "Aladdin|open sesame") << "the example of RFC 7617";
  EXPECT_EQ(read_credentials("basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="), "Aladdin|open sesame");
  EXPECT_EQ(read_credentials("Basic   YTpi  "), "a|b");
  EXPECT_EQ(read_credentials("Basic YTpiOmM="), "a|b:c") << "the first colon";
  EXPECT_EQ(read_credentials("Basic Og=="), "|");
  EXPECT_EQ(read_credentials("Basic YTo="), "a|");
}

TEST(Credentials, AnythingElseIsNothing) {
  for (const std::string_view bad :
       {"", "Basic", "Basic ", "Basic YTp", "Basic YTpi=", "Basic YT pi", "Basic YQ==", "Bearer YTpi", "Basic YTpi====",
        "Basic =", "Basic ====", "Basic Y===", "Basic Oh==", "Basic YTpiOm-=", "BasicYTpi", "Basic YTo=YTpi"}) {
    EXPECT_EQ(read_credentials(bad), "nothing") << bad;
  }
  const std::string_view whole = "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==";
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const std::string got = read_credentials(whole.substr(0, size));
    EXPECT_TRUE(got == "nothing" || got.starts_with("Aladdin|")) << size;
  }
}

TEST(KeyedHash, IsWhatItsAuthorsPublished) {
  // The example in appendix A of "SipHash: a fast short-input PRF".
  const std::string text("\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e", 15);
  EXPECT_EQ(keyed_hash({0x0706050403020100U, 0x0f0e0d0c0b0a0908U}, text), 0xa129ca6149be45e5U);
}

}  // namespace
}  // namespace memstat
