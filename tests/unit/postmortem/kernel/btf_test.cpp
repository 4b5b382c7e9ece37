// SPDX-License-Identifier: BSD-2-Clause
#include "core/postmortem/kernel/btf.h"

#include "tests/support/fake_linux_dump.h"
#include "tests/support/result_checks.h"
#include "tests/support/test.h"

namespace memstat::postmortem {
namespace {

std::string some_types() {
  BtfBuilder builder;
  const std::uint32_t u32 = builder.add_integer("unsigned int", 4);
  const std::uint32_t size = builder.add_typedef("size_t", builder.add_integer("unsigned long", 8));
  const std::uint32_t inner = builder.add_union("", 8, {{"whole", size, 0}, {"low", u32, 0, 16}, {"high", u32, 16, 15}});
  const std::uint32_t list = builder.add_struct("list_head", 16, {{"next", builder.add_pointer(0), 0}, {"prev", size, 64}});
  builder.add_struct("thing", 104,
                     {{"count", u32, 0}, {"", inner, 64}, {"list", list, 128}, {"names", builder.add_array(size, 5), 256}});
  builder.add_enum("kind", {{"KIND_A", 3}, {"KIND_B", 9}});
  return builder.bytes();
}

TEST(Btf, FindsMembersOfStructsAndOfThoseWithoutName) {
  const auto types = Btf::parse(some_types());
  ASSERT_TRUE(types) << to_string(types.error());
  const auto thing = types->find_struct("thing");
  ASSERT_TRUE(thing);
  EXPECT_EQ(types->size_of(*thing), 104U);
  EXPECT_EQ(types->find_member(*thing, "whole")->bit_offset, 64U);
  EXPECT_EQ(types->find_member(*thing, "high")->bit_offset, 80U);
  EXPECT_EQ(types->find_member(*thing, "high")->bit_size, 15U);
  EXPECT_EQ(types->find_member(*thing, "list.prev")->bit_offset, 192U);
  EXPECT_EQ(types->size_of(types->find_member(*thing, "list.next")->type), 8U);
  const auto names = types->find_member(*thing, "names");
  ASSERT_TRUE(names);
  EXPECT_EQ(types->size_of(names->type), 40U);
  EXPECT_EQ(types->array_of(names->type)->count, 5U);
  EXPECT_EQ(types->enumerator("KIND_B"), 9U);
  for (const char* missing : {"", "no", "list.", "list.no", "count.x", ".count", "names.0"}) {
    EXPECT_FALSE(types->find_member(*thing, missing)) << missing;
  }
  EXPECT_FALSE(types->find_struct("no"));
  EXPECT_FALSE(types->enumerator("KIND_C"));
  EXPECT_FALSE(types->size_of(0));
  EXPECT_FALSE(types->size_of(9999));
}

TEST(Btf, ThatIsCutShortIsAnError) {
  const std::string whole = some_types();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_TRUE(fails(Btf::parse(whole.substr(0, size)), ErrorCode::kData)) << size;
  }
}

TEST(Btf, OfAnotherFormatIsOfAnotherVersion) {
  for (const auto& [at, value] : {std::pair{0, 'x'}, std::pair{2, '\2'}, std::pair{24 + 7, '\x1e'}}) {
    std::string bytes = some_types();
    bytes[static_cast<std::size_t>(at)] = value;
    EXPECT_TRUE(fails(Btf::parse(bytes), ErrorCode::kVersion)) << at;
  }
}

TEST(Btf, OfTypesThatAreTheirOwnIsBounded) {
  BtfBuilder builder;
  builder.add_typedef("loop", 1);
  builder.add_struct("outer", 8, {{"", 2, 0}});
  builder.add_array(3, 2);
  const auto types = Btf::parse(builder.bytes());
  ASSERT_TRUE(types) << to_string(types.error());
  EXPECT_FALSE(types->size_of(1));
  EXPECT_FALSE(types->find_member(2, "x"));
  EXPECT_FALSE(types->size_of(3));
}

// Without a limit, the second would be searched 2^30 times.
TEST(Btf, OfStructsWithoutNameThatHoldTheNextOneTwiceIsBounded) {
  BtfBuilder builder;
  for (std::uint32_t next = 2; next < 33; ++next) builder.add_struct("", 8, {{"", next, 0}, {"", next, 0}});
  builder.add_struct("", 8, {});
  const auto types = Btf::parse(builder.bytes());
  ASSERT_TRUE(types) << to_string(types.error());
  EXPECT_FALSE(types->find_member(1, "x"));
}

}  // namespace
}  // namespace memstat::postmortem
