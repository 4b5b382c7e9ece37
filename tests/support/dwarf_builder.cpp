// SPDX-License-Identifier: BSD-2-Clause
#include "tests/support/fake_freebsd_dump.h"
#include "tests/support/fake_linux_dump.h"

namespace memstat {
namespace {

// Codes of abbreviations.
constexpr char kUnitCode = 1, kIntegerCode = 2, kPointerCode = 3, kTypedefCode = 4, kArrayCode = 5, kCountedCode = 6,
               kUncountedCode = 7, kStructCode = 8, kNamelessCode = 9, kMemberCode = 10, kEnumCode = 11, kConstantCode = 12,
               kFunctionCode = 13, kArgumentCode = 14, kDeclaredCode = 15, kBitsCode = 16, kVolatileCode = 17,
               kLocatedCode = 18;

std::string leb_of(std::uint64_t value) {
  std::string bytes;
  do {
    bytes += static_cast<char>((value & 0x7fU) | (value > 0x7fU ? 0x80U : 0U));
    value >>= 7U;
  } while (value != 0);
  return bytes;
}

}  // namespace

DwarfBuilder::DwarfBuilder(unsigned version, bool is_wide) : version_(version), is_wide_(is_wide) {
  body_ += kUnitCode;
  if (version_ >= 5) body_ += offset(is_wide_ ? 16 : 8);
  body_ += text("sys/kern/kern_malloc.c");
}

std::string DwarfBuilder::offset(std::uint64_t value) const {
  return is_wide_ ? raw_bytes(value) : raw_bytes(static_cast<std::uint32_t>(value));
}

std::string DwarfBuilder::header(std::size_t body) const {
  std::string rest = raw_bytes(static_cast<std::uint16_t>(version_));
  const std::string address_size(1, '\x08');
  rest += version_ >= 5 ? "\x01" + address_size + offset(0) : offset(0) + address_size;
  const std::uint64_t length = rest.size() + body;
  return (is_wide_ ? raw_bytes(std::uint32_t{0xffff'ffff}) : std::string()) + offset(length) + rest;
}

std::string DwarfBuilder::text(const std::string& string) {
  const std::uint64_t place = strings_.size();
  strings_ += string + '\0';
  if (version_ < 5) return offset(place);
  string_places_.push_back(place);
  return raw_bytes(static_cast<std::uint16_t>(string_places_.size() - 1));
}

std::uint32_t DwarfBuilder::begin(char code) {
  const auto place = static_cast<std::uint32_t>(header(0).size() + body_.size());
  body_ += code;
  return place;
}

std::uint32_t DwarfBuilder::add_integer(const std::string& name, std::uint32_t size) {
  const std::uint32_t place = begin(kIntegerCode);
  body_ += text(name) + static_cast<char>(size) + '\x07';
  return place;
}
std::uint32_t DwarfBuilder::add_pointer(std::uint32_t target) {
  const std::uint32_t place = begin(kPointerCode);
  body_ += raw_bytes(target);
  return place;
}
/// As clang has it of `typedef volatile TARGET NAME`.
std::uint32_t DwarfBuilder::add_typedef(const std::string& name, std::uint32_t target) {
  const std::uint32_t inner = begin(kVolatileCode);
  body_ += raw_bytes(target);
  const std::uint32_t place = begin(kTypedefCode);
  body_ += text(name) + raw_bytes(inner);
  return place;
}
std::uint32_t DwarfBuilder::add_array(std::uint32_t element, std::uint32_t count) {
  const std::uint32_t place = begin(kArrayCode);
  body_ += raw_bytes(element);
  body_ += count == 0 ? kUncountedCode : kCountedCode;
  body_ += raw_bytes(element);
  if (count != 0) body_ += raw_bytes(static_cast<std::uint16_t>(count));
  body_ += '\0';
  return place;
}
std::uint32_t DwarfBuilder::add_function(std::uint32_t arguments) {
  const std::uint32_t integer = add_integer("argument_t", 4);
  const std::uint32_t place = begin(kFunctionCode);
  body_ += std::string("a_function") + '\0' + raw_bytes(std::uint64_t{0xffff'ffff'8020'0000}) + raw_bytes(std::uint64_t{64});
  body_ += "\x01\x56";
  for (std::uint32_t i = 0; i < arguments; ++i) {
    body_ += kArgumentCode + raw_bytes(integer) + "\x02\x91\x10";
  }
  body_ += '\0';
  return place;
}
std::uint32_t DwarfBuilder::add_enum(const std::string& name,
                                     const std::vector<std::pair<std::string, std::uint32_t>>& constants) {
  const std::uint32_t place = begin(kEnumCode);
  body_ += text(name) + '\x04';
  for (const auto& [constant, value] : constants) body_ += kConstantCode + text(constant) + leb_of(value);
  body_ += '\0';
  return place;
}
std::uint32_t DwarfBuilder::add_struct(const std::string& name, std::uint64_t size, const std::vector<Member>& members) {
  const std::uint32_t place = begin(name.empty() ? kNamelessCode : kStructCode);
  body_ += name.empty() ? leb_of(size) : text(name) + raw_bytes(static_cast<std::uint32_t>(size));
  for (const Member& member : members) {
    body_ += version_ == 2 ? kLocatedCode : kMemberCode;
    body_ += text(member.name) + raw_bytes(member.type);
    if (version_ == 2) {
      const std::string operation = '\x23' + leb_of(member.offset);
      body_ += static_cast<char>(operation.size()) + operation;
    } else {
      body_ += raw_bytes(static_cast<std::uint32_t>(member.offset));
    }
  }
  if (!members.empty()) {
    body_ += kBitsCode + text("a_bit_field") + raw_bytes(members[0].type) + '\x03' + leb_of(5);
  }
  body_ += '\0';
  return place;
}

DwarfBuilder::Sections DwarfBuilder::sections() const {
  const char string = version_ >= 5 ? '\x26' : '\x0e';
  std::string table;
  const auto add = [&table](char code, char tag, bool has_children, std::string_view attributes) {
    table += code;
    table += tag;
    table += static_cast<char>(has_children ? 1 : 0);
    table += attributes;
    table += std::string(2, '\0');
  };
  const std::string name = std::string("\x03") + string;
  add(kUnitCode, '\x11', true, (version_ >= 5 ? std::string("\x72\x17") : std::string()) + name);
  add(kIntegerCode, '\x24', false, name + "\x0b\x0b\x3e\x0b");
  add(kPointerCode, '\x0f', false, "\x49\x13");
  add(kTypedefCode, '\x16', false, name + "\x49\x13");
  add(kArrayCode, '\x01', true, "\x49\x13");
  add(kCountedCode, '\x21', false, "\x49\x13\x37\x05");
  add(kUncountedCode, '\x21', false, "\x49\x13");
  add(kStructCode, '\x13', true, name + "\x0b\x06");
  add(kNamelessCode, '\x13', true, "\x0b\x0f");
  add(kMemberCode, '\x0d', false, name + "\x49\x13\x38\x06");
  add(kEnumCode, '\x04', true, name + "\x0b\x0b");
  add(kConstantCode, '\x28', false, name + "\x1c\x0f");
  add(kFunctionCode, '\x2e', true, "\x03\x08\x11\x01\x12\x07\x40\x18\x3f\x19");
  add(kArgumentCode, '\x05', false, "\x49\x13\x02\x18");
  add(kDeclaredCode, '\x13', false, name + "\x3c\x19");
  add(kBitsCode, '\x0d', false, name + "\x49\x13\x0d\x0b\x6b\x0f");
  add(kVolatileCode, '\x35', false, "\x49\x13");
  add(kLocatedCode, '\x0d', false, name + "\x49\x13\x38\x0a");
  table += '\0';

  // The first source file declares a struct that the second one has.
  DwarfBuilder other = *this;
  other.body_.clear();
  other.body_ += kUnitCode;
  if (version_ >= 5) other.body_ += offset(is_wide_ ? 16 : 8);
  other.body_ += other.text("sys/kern/init_main.c");
  other.body_ += kDeclaredCode + other.text("uma_zone") + '\0';

  Sections sections;
  sections.info = other.header(other.body_.size()) + other.body_ + header(body_.size() + 1) + body_ + '\0';
  sections.abbreviations = table;
  sections.strings = other.strings_;
  if (version_ >= 5) {
    std::string places;
    for (const std::uint64_t place : other.string_places_) places += offset(place);
    sections.string_offsets = (is_wide_ ? raw_bytes(std::uint32_t{0xffff'ffff}) : std::string()) +
                              offset(places.size() + 4) + raw_bytes(std::uint16_t{5}) + raw_bytes(std::uint16_t{0}) + places;
  }
  return sections;
}

}  // namespace memstat
