// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/serve/api_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace memstat {
namespace {

TEST(ApiRequest, WithoutParametersItIsTheLastHourInThirtyPoints) {
  const auto request = parse_api_request("");
  ASSERT_TRUE(request);
  EXPECT_FALSE(request->allocator || request->type);
  EXPECT_EQ(request->seconds, 3600);
  EXPECT_EQ(request->points, 30U);
}

TEST(ApiRequest, ParametersAreDecoded) {
  const auto request = parse_api_request("allocator=memcg&type=%2Fa%20b+c%2f%3C&seconds=86400&points=2&");
  ASSERT_TRUE(request);
  EXPECT_EQ(request->allocator, "memcg");
  EXPECT_EQ(request->type, "/a b c/<");
  EXPECT_EQ(request->seconds, 86400);
  EXPECT_EQ(request->points, 2U);
}

TEST(ApiRequest, WhatIsWrongIsSaid) {
  const std::pair<const char*, const char*> cases[] = {
      {"alocator=slab", "\"alocator\" is not a parameter; the parameters are allocator, type, seconds and points"},
      {"type=x", "type has no meaning without allocator"},
      {"allocator=a&allocator=b", "allocator is there twice"},
      {"points=3&points=3", "points is there twice"},
      {"seconds=0", "seconds must be a whole number from 1 to 86400"},
      {"seconds=86401", "from 1 to 86400"},
      {"seconds=-1", "from 1 to 86400"},
      {"points=1", "points must be a whole number from 2 to 500"},
      {"points=501", "from 2 to 500"},
      {"points=18446744073709551617", "from 2 to 500"},
      {"points", "from 2 to 500"},
      {"allocator=%zz", "has a '%'"},
      {"allocator=%4", "has a '%'"},
  };
  for (const auto& [query, why] : cases) {
    const auto request = parse_api_request(query);
    ASSERT_FALSE(request) << query;
    EXPECT_THAT(request.error().detail, testing::HasSubstr(why)) << query;
  }
}

}  // namespace
}  // namespace memstat
