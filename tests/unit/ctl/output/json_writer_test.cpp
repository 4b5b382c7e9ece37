// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/output/report_table.h"

#include "tests/support/test.h"

namespace memstat::ctl {
namespace {

TEST(CompactJson, IsLaidOutAsLibxosPlainForm) {
  JsonWriter json("2", true);
  json.open_object("top");
  json.field("first", std::uint64_t{1});
  json.open_list("rows");
  json.open_object({});
  json.field("name", "a\": {, b,");
  json.field("count", std::uint64_t{2});
  json.open_list("sizes");
  json.member(16);
  json.member(32);
  json.close();
  json.close();
  json.open_object({});
  json.open_list("sizes");
  json.close();
  json.field("last", "[");
  EXPECT_EQ(json.finish(),
            "{\"__version\": \"2\", \"top\": {\"first\":1, \"rows\": [{\"name\":\"a\\\": {, b,\",\"count\":2, \"sizes\": "
            "[16,32]}, {\"sizes\": [],\"last\":\"[\"}]}}\n");
  EXPECT_EQ(JsonWriter("", true).finish(), "{}\n");
}

}  // namespace
}  // namespace memstat::ctl
