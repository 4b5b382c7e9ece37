// SPDX-License-Identifier: BSD-2-Clause
#include "core/postmortem/linux/kallsyms.h"

#include <array>

#include "core/postmortem/container/bytes.h"

namespace memstat::postmortem {

std::string_view SymbolNames::token(std::uint8_t number) const {
  const std::size_t at = number_at<std::uint16_t>(index_, std::uint64_t{number} * 2);
  if (at >= tokens_.size()) return {};
  const std::string_view rest = tokens_.substr(at);
  const std::size_t end = rest.find('\0');
  return end == std::string_view::npos ? std::string_view() : rest.substr(0, end);
}

Result<void> SymbolNames::for_each(std::uint32_t count,
                                   const std::function<bool(std::uint32_t, std::string_view)>& visit) const {
  std::array<std::string_view, kTokens> tokens;
  for (std::size_t i = 0; i < kTokens; ++i) tokens[i] = token(static_cast<std::uint8_t>(i));
  std::array<char, kMaxName> name;
  std::uint64_t at = 0;
  for (std::uint32_t symbol = 0; symbol < count; ++symbol) {
    const std::uint64_t begin = at;
    if (!holds(names_, at, 1)) return data_error("kallsyms_names", at, "ends before symbol " + std::to_string(symbol));
    std::uint64_t length = number_at<std::uint8_t>(names_, at++);
    if ((length & 0x80U) != 0) {  // two bytes with seven bits each, since Linux commit 73bbb94466fd (v6.1)
      length = (length & 0x7fU) | (std::uint64_t{number_at<std::uint8_t>(names_, at++)} << 7U);
    }
    if (length == 0 || !holds(names_, at, length)) {
      return data_error("kallsyms_names", begin, "has a name of " + std::to_string(length) + " tokens, which does not fit");
    }
    std::size_t size = 0;
    for (std::uint64_t i = 0; i < length; ++i) {
      const std::string_view part = tokens[number_at<std::uint8_t>(names_, at + i)];
      if (part.size() > name.size() - size)
        return data_error("kallsyms_names", begin, "has a name of more than 1024 letters");
      part.copy(name.data() + size, part.size());
      size += part.size();
    }
    at += length;
    const std::string_view whole(name.data(), size);
    if (!visit(symbol, whole.substr(whole.empty() ? 0 : 1))) return {};
  }
  return {};
}

std::uint64_t symbol_address(SymbolAddresses how, std::uint32_t number, std::uint64_t base, std::uint64_t place) {
  const auto distance = static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<std::int32_t>(number)));
  switch (how) {
    case SymbolAddresses::kPerCpuAbsolute: return static_cast<std::int32_t>(number) >= 0 ? number : base - 1 - distance;
    case SymbolAddresses::kRelative: return base + number;
    case SymbolAddresses::kPlace: return place + distance;
  }
  return 0;
}

}  // namespace memstat::postmortem
