// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/json_writer.h"

#include <gtest/gtest.h>

namespace memstat::ctl {
namespace {

TEST(JsonWriter, LaysOutAsLibxoDoes) {
  JsonWriter json("2");
  json.open_object("top");
  json.open_list("rows");
  json.open_object({});
  json.field("name", "a");
  json.field("count", std::uint64_t{18446744073709551615U});
  json.open_list("empty");
  json.close();
  json.open_list("sizes");
  json.member(16);
  json.member(32);
  json.close();
  json.close();
  json.open_object({});
  json.close();
  EXPECT_EQ(
      json.finish(),
      "{\n  \"__version\": \"2\", \n  \"top\": {\n    \"rows\": [\n      {\n        \"name\": \"a\",\n"
      "        \"count\": 18446744073709551615,\n        \"empty\": [\n        ],\n        \"sizes\": [\n          16,\n"
      "          32\n        ]\n      },\n      {\n      }\n    ]\n  }\n}\n");
}

TEST(JsonWriter, EscapesWhatJsonDoesNotTake) {
  JsonWriter json("");
  json.field("k", "\"q\" \\ / \n \r \t \x1B \xC3\xA4");
  EXPECT_EQ(json.finish(), "{\n  \"k\": \"\\\"q\\\" \\\\ / \\n \\r \\u0009 \\u001b \xC3\xA4\"\n}\n");
}

TEST(JsonWriter, EscapesWhatTurnsOrHidesTextWithoutChangingItsValue) {
  JsonWriter json("");
  json.field("turn", "a\xE2\x80\xAEz\xE2\x81\xA6\xD8\x9C");        // U+202E, U+2066, U+061C
  json.field("hide", "\xE2\x80\x8B\xEF\xBB\xBF\xC2\xAD\xC2\x9B");  // U+200B, U+FEFF, U+00AD, U+009B
  json.field("pair", "\xF3\xA0\x81\x81");                          // U+E0041, of two units in JSON
  json.field("shown", "\xE2\x80\x90\xE2\x82\xAC\xF0\x9F\x98\x80\xEF\xBF\xBD");
  EXPECT_EQ(json.finish(),
            "{\n  \"turn\": \"a\\u202ez\\u2066\\u061c\",\n  \"hide\": \"\\u200b\\ufeff\\u00ad\\u009b\",\n"
            "  \"pair\": \"\\udb40\\udc41\",\n"
            "  \"shown\": \"\xE2\x80\x90\xE2\x82\xAC\xF0\x9F\x98\x80\xEF\xBF\xBD\"\n}\n");
}

TEST(CompactJson, IsLaidOutAsLibxosPlainForm) {
  JsonWriter json("2");
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
  EXPECT_EQ(compact_json(json.finish()),
            "{\"__version\": \"2\", \"top\": {\"first\":1, \"rows\": [{\"name\":\"a\\\": {, b,\",\"count\":2, \"sizes\": "
            "[16,32]}, {\"sizes\": [],\"last\":\"[\"}]}}\n");
  EXPECT_EQ(compact_json(JsonWriter("").finish()), "{}\n");
}

}  // namespace
}  // namespace memstat::ctl
