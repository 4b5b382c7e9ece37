// SPDX-License-Identifier: BSD-2-Clause
#include "tests/support/fake_linux_dump.h"

namespace memstat {
namespace {

enum BuiltKind : std::uint32_t { kInt = 1, kPointer = 2, kArray = 3, kStruct = 4, kUnion = 5, kEnum = 6, kTypedef = 8 };

template <typename... Numbers>
std::string words(Numbers... numbers) {
  std::string bytes;
  for (const std::uint32_t number : {static_cast<std::uint32_t>(numbers)...}) {
    bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
  }
  return bytes;
}

}  // namespace

std::uint32_t BtfBuilder::string_at(const std::string& text) {
  if (text.empty()) return 0;
  const auto at = static_cast<std::uint32_t>(strings_.size());
  strings_ += text + '\0';
  return at;
}

std::uint32_t BtfBuilder::add(const std::string& name, std::uint32_t kind, std::uint32_t count, std::uint32_t last,
                              std::string_view extra, bool flag) {
  types_ += words(string_at(name), (flag ? 1U << 31U : 0U) | kind << 24U | count, last);
  types_ += extra;
  return ++count_;
}

std::uint32_t BtfBuilder::add_integer(const std::string& name, std::uint32_t size) {
  return add(name, kInt, 0, size, words(size * 8));
}
std::uint32_t BtfBuilder::add_pointer(std::uint32_t target) { return add("", kPointer, 0, target, {}); }
std::uint32_t BtfBuilder::add_typedef(const std::string& name, std::uint32_t target) {
  return add(name, kTypedef, 0, target, {});
}
std::uint32_t BtfBuilder::add_array(std::uint32_t element, std::uint32_t count) {
  return add("", kArray, 0, 0, words(element, 0, count));
}

std::uint32_t BtfBuilder::add_compound(std::uint32_t kind, const std::string& name, std::uint32_t size,
                                       const std::vector<Member>& members) {
  bool has_bits = false;
  for (const Member& member : members) has_bits = has_bits || member.bit_size != 0;
  std::string extra;
  for (const Member& member : members) {
    extra += words(string_at(member.name), member.type, member.bit_offset | member.bit_size << 24U);
  }
  return add(name, kind, static_cast<std::uint32_t>(members.size()), size, extra, has_bits);
}
std::uint32_t BtfBuilder::add_struct(const std::string& name, std::uint32_t size, const std::vector<Member>& members) {
  return add_compound(kStruct, name, size, members);
}
std::uint32_t BtfBuilder::add_union(const std::string& name, std::uint32_t size, const std::vector<Member>& members) {
  return add_compound(kUnion, name, size, members);
}

std::uint32_t BtfBuilder::add_enum(const std::string& name,
                                   const std::vector<std::pair<std::string, std::uint32_t>>& constants) {
  std::string extra;
  for (const auto& [constant, value] : constants) extra += words(string_at(constant), value);
  return add(name, kEnum, static_cast<std::uint32_t>(constants.size()), 4, extra);
}

std::string BtfBuilder::bytes() const {
  std::string header = words(0x0001eb9fU, 24U, 0U, types_.size(), types_.size(), strings_.size());
  return header + types_ + strings_;
}

}  // namespace memstat
