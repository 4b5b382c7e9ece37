// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/serve/authentication.h"

#include "tests/support/test.h"

namespace memstat {
namespace {

std::string read(std::string_view value) {
  const auto credentials = parse_basic_credentials(value);
  return credentials ? credentials->name + "|" + credentials->password : "nothing";
}

TEST(Credentials, AreNameAndPassword) {
  EXPECT_EQ(read("Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="), "Aladdin|open sesame") << "the example of RFC 7617";
  EXPECT_EQ(read("basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="), "Aladdin|open sesame");
  EXPECT_EQ(read("Basic   YTpi  "), "a|b");
  EXPECT_EQ(read("Basic YTpiOmM="), "a|b:c") << "the first colon";
  EXPECT_EQ(read("Basic Og=="), "|");
  EXPECT_EQ(read("Basic YTo="), "a|");
}

TEST(Credentials, AnythingElseIsNothing) {
  for (const std::string_view bad :
       {"", "Basic", "Basic ", "Basic YTp", "Basic YTpi=", "Basic YT pi", "Basic YQ==", "Bearer YTpi", "Basic YTpi====",
        "Basic =", "Basic ====", "Basic Y===", "Basic Oh==", "Basic YTpiOm-=", "BasicYTpi", "Basic YTo=YTpi"}) {
    EXPECT_EQ(read(bad), "nothing") << bad;
  }
  const std::string_view whole = "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==";
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const std::string got = read(whole.substr(0, size));
    EXPECT_TRUE(got == "nothing" || got.starts_with("Aladdin|")) << size;
  }
}

}  // namespace
}  // namespace memstat
