// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/serve/query.h"

#include "tests/support/test.h"

namespace memstat {
namespace {

TEST(PageRequest, TakesEachParameterAsOftenAsItComes) {
  const auto request = parse_page_request("allocator[]=slab&type[]=dentry&allocator[]=uma&name[]=memstat_type_bytes&");
  ASSERT_TRUE(request);
  EXPECT_THAT(request->allocators, ElementsAre("slab", "uma"));
  EXPECT_THAT(request->types, ElementsAre("dentry"));
  EXPECT_THAT(request->names, ElementsAre("memstat_type_bytes"));
  EXPECT_FALSE(request->is_whole());
}

TEST(PageRequest, DecodesKeysAndValues) {
  const auto request = parse_page_request("type%5B%5d=UMA+Zones&type[]=a%26b%3dc&type[]=%C3%a9=");
  ASSERT_TRUE(request);
  EXPECT_THAT(request->types, ElementsAre("UMA Zones", "a&b=c", "\xC3\xA9="));
  EXPECT_THAT(request->allocators, IsEmpty());
}

TEST(PageRequest, SaysWhatIsWrong) {
  const auto detail = [](std::string_view query) {
    const auto request = parse_page_request(query);
    return request ? std::string("none") : request.error().detail;
  };
  EXPECT_THAT(detail("allocator=slab"),
              HasSubstr("\"allocator\" is not a parameter; the parameters are allocator[], type[] and name[]"));
  EXPECT_THAT(detail("type[]=a&x"), HasSubstr("\"x\" is not a parameter"));
  EXPECT_THAT(detail("type[]"), HasSubstr("type[] has no value"));
  EXPECT_THAT(detail("type[]="), HasSubstr("type[] has no value"));
  for (const char* broken : {"type[]=%", "type[]=%4", "type[]=%zz", "type[]=%-1", "type[]=% 1", "%=a", "type[]=a%0x"}) {
    EXPECT_THAT(detail(broken), HasSubstr("two hexadecimal digits")) << broken;
  }
  EXPECT_LT(detail(std::string(100'000, 'k')).size(), 300U) << "the message is short";
}

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

TEST(ApiRequest, ErrorsAreReported) {
  const std::pair<const char*, const char*> cases[] = {
      {"alocator=slab", "\"alocator\" is not a parameter; the parameters are allocator, type, seconds and points"},
      {"type=x", "type has no meaning without allocator"},
      {"allocator=a&allocator=b", "allocator is given twice"},
      {"points=3&points=3", "points is given twice"},
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
    EXPECT_THAT(request.error().detail, HasSubstr(why)) << query;
  }
}

}  // namespace
}  // namespace memstat
