// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>

#include "tests/support/fake_linux_dump.h"

namespace memstat {

std::uint32_t TypeBuilder::string_at(const std::string& text) {
  if (text.empty()) return 0;
  const auto at = static_cast<std::uint32_t>(strings_.size());
  strings_ += text + '\0';
  return at;
}

std::uint32_t TypeBuilder::add_integer(const std::string& name, std::uint32_t size) {
  return add(name, kinds_.integer, 0, size, true, raw_bytes(size * 8));
}
std::uint32_t TypeBuilder::add_pointer(std::uint32_t target) { return add("", kinds_.pointer, 0, target, false, {}); }
std::uint32_t TypeBuilder::add_typedef(const std::string& name, std::uint32_t target) {
  return add(name, kinds_.alias, 0, target, false, {});
}
std::uint32_t TypeBuilder::add_array(std::uint32_t element, std::uint32_t count) {
  return add("", kinds_.array, 0, 0, false, array(element, count));
}
std::uint32_t TypeBuilder::add_enum(const std::string& name,
                                    const std::vector<std::pair<std::string, std::uint32_t>>& constants) {
  std::string extra;
  for (const auto& [constant, value] : constants) extra += raw_bytes(string_at(constant), value);
  return add(name, kinds_.enumeration, static_cast<std::uint32_t>(constants.size()), 4, true, extra);
}

std::uint32_t BtfBuilder::add(const std::string& name, std::uint32_t kind, std::uint32_t count, std::uint64_t last,
                              bool /*is_size*/, std::string_view extra) {
  types_ += raw_bytes(string_at(name), kind << 24U | count, static_cast<std::uint32_t>(last));
  types_ += extra;
  return ++count_;
}

std::string BtfBuilder::array(std::uint32_t element, std::uint32_t count) const { return raw_bytes(element, 0U, count); }

std::uint32_t BtfBuilder::add_compound(std::uint32_t kind, const std::string& name, std::uint32_t size,
                                       const std::vector<Member>& members) {
  const bool has_bits = std::any_of(members.begin(), members.end(), [](const Member& one) { return one.bit_size != 0; });
  std::string extra;
  for (const Member& member : members) {
    extra += raw_bytes(string_at(member.name), member.type, member.bit_offset | member.bit_size << 24U);
  }
  return add(name, (has_bits ? 1U << 7U : 0U) | kind, static_cast<std::uint32_t>(members.size()), size, true, extra);
}

std::string BtfBuilder::bytes() const {
  const auto types_size = static_cast<std::uint32_t>(types_.size());
  return raw_bytes(0x0001eb9fU, 24U, 0U, types_size, types_size, static_cast<std::uint32_t>(strings_.size())) + types_ +
         strings_;
}

}  // namespace memstat
