// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/serve/query.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace memstat {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(PageRequest, AnEmptyQueryIsTheWholePage) {
  for (const char* query : {"", "&", "&&&"}) {
    const auto request = parse_page_request(query);
    ASSERT_TRUE(request);
    EXPECT_TRUE(request->is_whole()) << query;
  }
}

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
  EXPECT_LT(detail(std::string(100'000, 'k')).size(), 300U) << "what is said back is short";
}

TEST(PageRequest, EveryTruncationIsAnsweredOrRefused) {
  const std::string query = "allocator%5B%5D=sl%61b&type[]=d+e&name[]=memstat_type_bytes";
  for (std::size_t size = 0; size <= query.size(); ++size) {
    const std::string cut = query.substr(0, size);
    const auto request = parse_page_request(cut);
    EXPECT_TRUE(request || !request.error().detail.empty()) << cut;
  }
}

}  // namespace
}  // namespace memstat
