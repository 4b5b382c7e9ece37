// SPDX-License-Identifier: BSD-2-Clause
#include "core/postmortem/kernel/dwarf.h"

#include <gmock/gmock.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/fake_freebsd_dump.h"
#include "tests/support/fake_linux_dump.h"

namespace memstat::postmortem {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view kStructs[] = {"outer", "many", "uma_zone", "nowhere"};
constexpr std::string_view kMembers[] = {"kz_size"};

DwarfBuilder some_dwarf(unsigned version, bool is_wide) {
  DwarfBuilder types(version, is_wide);
  const std::uint32_t number = types.add_integer("int", 4);
  const std::uint32_t pointer = types.add_pointer(number);
  types.add_function(3);
  const std::uint32_t colour = types.add_enum("colours", {{"kRed", 3}});
  const std::uint32_t inner = types.add_struct("", 16, {{"first", pointer, 0}, {"second", number, 8}});
  const std::uint32_t name = types.add_typedef("inner_t", inner);
  types.add_struct("outer", 9000, {{"head", number, 0}, {"", inner, 16}, {"hue", colour, 40}, {"list", name, 8192}});
  const std::uint32_t row = types.add_array(name, 20);
  types.add_struct("many", 960, {{"rows", types.add_array(row, 3), 0}, {"tail", types.add_array(inner, 0), 960}});
  types.add_struct("", 24, {{"kz_size", number, 0}, {"kz_name", pointer, 8}});
  types.add_struct("not asked for", 4, {{"head", number, 0}});
  types.add_struct("uma_zone", 4, {{"uz_size", number, 0}});
  return types;
}

DwarfSections sections_of(const DwarfBuilder::Sections& built) {
  DwarfSections sections;
  sections.info_bytes = built.info.size();
  sections.read_info = [&built](std::uint64_t offset, std::uint64_t size) -> Result<std::string> {
    return built.info.substr(static_cast<std::size_t>(offset), static_cast<std::size_t>(size));
  };
  sections.abbreviations = built.abbreviations;
  sections.strings = built.strings;
  sections.string_offsets = built.string_offsets;
  return sections;
}

Result<Btf> parse(const DwarfBuilder::Sections& built) {
  return parse_dwarf(sections_of(built), {.structs = kStructs, .members = kMembers}, "kernel.debug");
}

TEST(Dwarf, OfEveryVersionAndWidthIsTheSame) {
  for (const unsigned version : {2U, 4U, 5U}) {
    for (const bool is_wide : {false, true}) {
      SCOPED_TRACE(std::to_string(version) + (is_wide ? " wide" : ""));
      const auto types = parse(some_dwarf(version, is_wide).sections());
      ASSERT_TRUE(types) << to_string(types.error());
      const auto outer = types->find_struct("outer");
      ASSERT_TRUE(outer);
      EXPECT_EQ(types->size_of(*outer), 9000U);
      EXPECT_EQ(types->find_member(*outer, "second")->bit_offset, (16U + 8) * 8) << "of a struct without a name";
      EXPECT_EQ(types->find_member(*outer, "list.second")->bit_offset, (8192U + 8) * 8);
      EXPECT_EQ(types->size_of(types->find_member(*outer, "hue")->type), 4U);
      EXPECT_TRUE(types->target_of(types->find_member(*outer, "list.first")->type)) << "it is a pointer";
      EXPECT_FALSE(types->target_of(types->find_member(*outer, "head")->type));
      EXPECT_FALSE(types->find_member(*outer, "third"));
      EXPECT_FALSE(types->find_member(*outer, "a_bit_field"));
      const auto many = types->find_struct("many");
      ASSERT_TRUE(many);
      const auto rows = types->find_member(*many, "rows");
      EXPECT_EQ(types->array_of(rows->type)->count, 3U);
      EXPECT_EQ(types->array_of(types->array_of(rows->type)->element)->count, 20U);
      EXPECT_EQ(types->size_of(rows->type), 960U);
      EXPECT_EQ(types->array_of(types->find_member(*many, "tail")->type)->count, 0U);
      EXPECT_EQ(types->size_of(types->array_of(types->find_member(*many, "tail")->type)->element), 16U);
    }
  }
}

TEST(Dwarf, HasWhatIsWantedAndNoMore) {
  const auto types = parse(some_dwarf(5, false).sections());
  ASSERT_TRUE(types) << to_string(types.error());
  EXPECT_TRUE(types->find_struct("uma_zone")) << "the first source file only declares it";
  EXPECT_FALSE(types->find_struct("not asked for"));
  EXPECT_FALSE(types->find_struct("nowhere"));
  std::uint32_t found = 0;
  for (std::uint32_t type = 1; type < types->type_count(); ++type) {
    if (types->find_member(type, "kz_size")) ++found;
  }
  EXPECT_EQ(found, 1U) << "a struct without a name";
}

TEST(Dwarf, TypesThatGoInACircleEnd) {
  DwarfBuilder types(4);
  const std::uint32_t next = types.add_integer("int", 4) + 7;  // the integer has seven bytes
  const std::uint32_t first = types.add_typedef("first_t", next + 5);
  ASSERT_EQ(first, next + 5) << "volatile first_t, first_t";
  types.add_struct("outer", 8, {{"head", first, 0}});
  const auto parsed = parse(types.sections());
  ASSERT_TRUE(parsed) << to_string(parsed.error());
  const auto head = parsed->find_member(*parsed->find_struct("outer"), "head");
  ASSERT_TRUE(head);
  EXPECT_FALSE(parsed->size_of(head->type));
}

TEST(Dwarf, ThatIsCutShortAnywhereIsAnErrorOrHasFewerTypes) {
  for (const unsigned version : {4U, 5U}) {
    const DwarfBuilder::Sections whole = some_dwarf(version, false).sections();
    for (const auto part : {&DwarfBuilder::Sections::info, &DwarfBuilder::Sections::abbreviations,
                            &DwarfBuilder::Sections::strings, &DwarfBuilder::Sections::string_offsets}) {
      for (std::size_t size = 0; size < (whole.*part).size(); ++size) {
        DwarfBuilder::Sections cut = whole;
        (cut.*part).resize(size);
        const auto types = parse(cut);
        EXPECT_TRUE(types || to_string(types.error()).find("kernel.debug") != std::string::npos);
        const bool is_cut_info = types && part == &DwarfBuilder::Sections::info;
        EXPECT_FALSE(is_cut_info && types->find_struct("uma_zone"));
      }
    }
  }
}

TEST(Dwarf, OfAnotherVersionOrFormIsRefused) {
  DwarfBuilder::Sections sections = some_dwarf(4, false).sections();
  sections.info[4] = 6;
  const auto newer = parse(sections);
  ASSERT_FALSE(newer);
  EXPECT_EQ(newer.error().code, ErrorCode::kVersion);
  EXPECT_THAT(to_string(newer.error()), HasSubstr("version 6; 2 to 5 can be read"));

  sections = some_dwarf(4, false).sections();
  sections.abbreviations[4] = 0x7e;  // the form of the unit's name
  const auto unknown = parse(sections);
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, ErrorCode::kVersion);
  EXPECT_THAT(to_string(unknown.error()), HasSubstr("form 126"));

  sections = some_dwarf(4, false).sections();
  sections.info[0] = '\xff';
  const auto beyond = parse(sections);
  ASSERT_FALSE(beyond);
  EXPECT_EQ(beyond.error().code, ErrorCode::kData);
}

/// An attribute of a form that no wanted one has, and the bytes of its value in a unit of version 5 with offsets of 32 bits.
struct FormOfAttribute {
  char form;
  std::string value;
};

/// A unit whose only struct has such an attribute before its name and size.
DwarfBuilder::Sections struct_with(const FormOfAttribute& attribute) {
  DwarfBuilder::Sections sections;
  // Code, tag, children, then attributes with their forms: 0x2001 is of a vendor.
  sections.abbreviations = std::string("\x01\x11\x01\0\0\x02\x13\x01\x81\x40", 10) + attribute.form;
  if (attribute.form == '\x21') sections.abbreviations += '\x05';  // its value stands here
  sections.abbreviations += std::string("\x03\x08\x0b\x0b\0\0\x03\x0d\0\x03\x08\x38\x0b\0\0\0", 16);
  const std::string end(1, '\0');
  const std::string body =
      "\x01\x02" + attribute.value + "outer" + end + '\x18' + '\x03' + "head" + end + '\x10' + end + end;
  const std::string rest = raw_bytes(std::uint16_t{5}) + "\x01\x08" + raw_bytes(std::uint32_t{0}) + body;
  sections.info = raw_bytes(static_cast<std::uint32_t>(rest.size())) + rest;
  return sections;
}

// Each form as the standard has it (DWARF 5, section 7.5.6): were one longer or shorter, the name behind it would be
// another.
TEST(Dwarf, AttributesOfEveryFormAreSkipped) {
  const auto of_size = [](std::size_t size) { return std::string(size, '\x01'); };
  const std::string number = "\x81\x02";  // LEB128
  const std::string block = "ab";
  const std::string zero(1, '\0');
  const std::vector<FormOfAttribute> attributes = {
      {'\x01', of_size(8)},
      {'\x03', "\x02" + zero + block},
      {'\x04', "\x02" + zero + zero + zero + block},
      {'\x05', of_size(2)},
      {'\x06', of_size(4)},
      {'\x07', of_size(8)},
      {'\x08', "text" + zero},
      {'\x09', "\x02" + block},
      {'\x0a', "\x02" + block},
      {'\x0b', of_size(1)},
      {'\x0c', of_size(1)},
      {'\x0d', number},
      {'\x0e', of_size(4)},
      {'\x0f', number},
      {'\x10', of_size(4)},
      {'\x11', of_size(1)},
      {'\x12', of_size(2)},
      {'\x13', of_size(4)},
      {'\x14', of_size(8)},
      {'\x15', number},
      {'\x16', "\x05" + of_size(2)},
      {'\x17', of_size(4)},
      {'\x18', "\x02" + block},
      {'\x19', ""},
      {'\x1a', number},
      {'\x1b', number},
      {'\x1c', of_size(4)},
      {'\x1d', of_size(4)},
      {'\x1e', of_size(16)},
      {'\x1f', of_size(4)},
      {'\x20', of_size(8)},
      {'\x21', ""},
      {'\x22', number},
      {'\x23', number},
      {'\x24', of_size(8)},
      {'\x25', of_size(1)},
      {'\x26', of_size(2)},
      {'\x27', of_size(3)},
      {'\x28', of_size(4)},
      {'\x29', of_size(1)},
      {'\x2a', of_size(2)},
      {'\x2b', of_size(3)},
      {'\x2c', of_size(4)},
  };
  for (const FormOfAttribute& attribute : attributes) {
    SCOPED_TRACE("form " + std::to_string(attribute.form));
    const DwarfBuilder::Sections whole = struct_with(attribute);
    const auto types = parse(whole);
    ASSERT_TRUE(types) << to_string(types.error());
    const auto outer = types->find_struct("outer");
    ASSERT_TRUE(outer);
    EXPECT_EQ(types->size_of(*outer), 24U);
    EXPECT_EQ(types->find_member(*outer, "head")->bit_offset, 16U * 8);
    // Cut anywhere before its end, with the length of the unit as it was and as it is.
    for (std::size_t size = 4; size < whole.info.size() - 2; ++size) {
      DwarfBuilder::Sections cut = whole;
      cut.info.resize(size);
      EXPECT_FALSE(parse(cut));
      cut.info.replace(0, 4, raw_bytes(static_cast<std::uint32_t>(size - 4)));
      const auto fewer = parse(cut);
      EXPECT_FALSE(fewer && fewer->find_struct("outer")) << size;
    }
  }
  for (const char own : {'\x16', '\x21'}) {  // a form that is told by the value itself may not be one of these
    EXPECT_FALSE(parse(struct_with({'\x16', std::string(1, own) + "\x05"})));
  }
}

}  // namespace
}  // namespace memstat::postmortem
