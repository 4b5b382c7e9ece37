// SPDX-License-Identifier: BSD-2-Clause
#include "core/postmortem/kernel/btf.h"

#include "tests/support/fake_freebsd_dump.h"
#include "tests/support/test.h"

namespace memstat::postmortem {
namespace {

CtfBuilder some_ctf(unsigned version) {
  CtfBuilder types(version);
  const std::uint32_t number = types.add_integer("int", 4);
  const std::uint32_t pointer = types.add_pointer(number);
  types.add_function(3);
  types.add_function(2);
  types.add_enum("colours", {{"kRed", 3}});
  const std::uint32_t inner = types.add_struct("", 16, {{"first", pointer, 0}, {"second", number, 8}});
  const std::uint32_t name = types.add_typedef("inner_t", inner);
  types.add_struct("outer", 9000, {{"head", number, 0}, {"", inner, 16}, {"list", name, 8192}});
  types.add_struct("many", 320, {{"all", types.add_array(inner, 20), 0}});
  return types;
}

TEST(Ctf, OfBothVersionsPackedAndNotIsTheSame) {
  for (const unsigned version : {2U, 3U}) {
    for (const bool is_packed : {false, true}) {
      const auto types = parse_ctf(some_ctf(version).bytes(is_packed), "kernel");
      ASSERT_TRUE(types) << to_string(types.error());
      const auto outer = types->find_struct("outer");
      ASSERT_TRUE(outer);
      EXPECT_EQ(types->size_of(*outer), 9000U);
      EXPECT_EQ(types->find_member(*outer, "second")->bit_offset, (16U + 8) * 8);
      EXPECT_EQ(types->find_member(*outer, "list.second")->bit_offset, (8192U + 8) * 8) << "large structs have wide offsets";
      EXPECT_FALSE(types->find_member(*outer, "third"));
      const auto all = types->find_member(*types->find_struct("many"), "all");
      ASSERT_TRUE(all);
      EXPECT_EQ(types->array_of(all->type)->count, 20U);
      EXPECT_EQ(types->size_of(all->type), 320U);
      EXPECT_EQ(types->enumerator("kRed"), 3U);
    }
  }
}

TEST(Ctf, KnowsSizesThatDoNotFitTheirWord) {
  for (const unsigned version : {2U, 3U}) {
    CtfBuilder types(version);
    const std::uint32_t number = types.add_integer("int", 4);
    types.add_struct("large", 100000, {{"last", number, 99996}});
    const auto parsed = parse_ctf(types.bytes(false), "kernel");
    ASSERT_TRUE(parsed) << to_string(parsed.error());
    EXPECT_EQ(parsed->size_of(*parsed->find_struct("large")), 100000U);
    EXPECT_EQ(parsed->find_member(*parsed->find_struct("large"), "last")->bit_offset, 99996U * 8);
  }
}

TEST(Ctf, ThatIsCutShortAnywhereIsAnError) {
  for (const bool is_packed : {false, true}) {
    const std::string whole = some_ctf(3).bytes(is_packed);
    for (std::size_t size = 0; size < whole.size(); ++size) {
      const auto types = parse_ctf(std::string_view(whole).substr(0, size), "kernel");
      ASSERT_FALSE(types) << size;
      EXPECT_FALSE(types.error().detail.empty());
    }
  }
}

TEST(Ctf, OfOtherVersionsAndWithOffsetsThatCannotBeIsRefused) {
  std::string bytes = some_ctf(3).bytes(false);
  bytes[2] = 4;
  EXPECT_EQ(parse_ctf(bytes, "kernel").error().code, ErrorCode::kVersion);
  bytes = some_ctf(3).bytes(false);
  bytes[0] = 0;
  EXPECT_THAT(parse_ctf(bytes, "kernel").error().detail, HasSubstr("does not begin with the number that marks CTF"));
  bytes = some_ctf(3).bytes(false);
  bytes[27] = 0x7f;  // types behind the strings
  EXPECT_THAT(parse_ctf(bytes, "kernel").error().detail, HasSubstr("where they cannot be"));
  bytes = some_ctf(3).bytes(false);
  bytes[35] = 0x7f;  // strings of 2 GB
  EXPECT_THAT(parse_ctf(bytes, "kernel").error().detail, HasSubstr("where they cannot be"));
}

}  // namespace
}  // namespace memstat::postmortem
