// SPDX-License-Identifier: BSD-2-Clause
#include "core/base/json_writer.h"

#include "tests/support/test.h"

namespace memstat {
namespace {

TEST(JsonWriter, WritesOneLineWithoutBlanks) {
  JsonWriter json;
  json.field("text", std::string("a")).field("view", std::string_view("b")).field("yes", true).field("none", nullptr);
  json.open_list("numbers")
      .member(-1)
      .member(std::uint8_t{7})
      .member(INT64_MIN)
      .member(UINT64_MAX)
      .member(0.1)
      .member(1e300);
  json.close().open_object("empty").close().open_list("lists").open_list().close().open_list().member("x").close();
  EXPECT_EQ(json.finish(),
            "{\"text\":\"a\",\"view\":\"b\",\"yes\":true,\"none\":null,\"numbers\":[-1,7,-9223372036854775808,"
            "18446744073709551615,0.1,1e+300],\"empty\":{},\"lists\":[[],[\"x\"]]}\n");
  EXPECT_EQ(JsonWriter().finish(), "{}\n");
}

TEST(JsonWriter, HasNullForNumbersThatJsonLacks) {
  EXPECT_EQ(JsonWriter().field("k", std::numeric_limits<double>::infinity()).finish(), "{\"k\":null}\n");
  EXPECT_EQ(JsonWriter().field("k", std::numeric_limits<double>::quiet_NaN()).finish(), "{\"k\":null}\n");
}

TEST(JsonWriter, OneLineIsHarmlessInsideAPage) {
  EXPECT_EQ(JsonWriter().field("k", "</script>\x7F").finish(), "{\"k\":\"\\u003c/script>\\u007f\"}\n");
  EXPECT_EQ(JsonWriter("").field("k", "</script>").finish(), "{\n  \"k\": \"</script>\"\n}\n") << "libxo's bytes";
}

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

}  // namespace
}  // namespace memstat
