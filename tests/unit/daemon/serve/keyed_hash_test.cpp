// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/serve/keyed_hash.h"

#include "tests/support/test.h"

namespace memstat {
namespace {

constexpr std::array<std::uint64_t, 2> kKey{0x0706050403020100U, 0x0f0e0d0c0b0a0908U};

TEST(KeyedHash, IsWhatItsAuthorsPublished) {
  // The example in appendix A of "SipHash: a fast short-input PRF".
  const std::string text("\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e", 15);
  EXPECT_EQ(keyed_hash(kKey, text), 0xa129ca6149be45e5U);
}

TEST(KeyedHash, EveryLengthAndEveryKeyGiveAnother) {
  std::set<std::uint64_t> seen;
  for (std::size_t length = 0; length < 40; ++length) {
    EXPECT_TRUE(seen.insert(keyed_hash(kKey, std::string(length, 'x'))).second) << length;
    EXPECT_TRUE(seen.insert(keyed_hash({length, 1}, "text")).second) << length;
  }
}

}  // namespace
}  // namespace memstat
