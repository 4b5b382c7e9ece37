// SPDX-License-Identifier: BSD-2-Clause
#include "core/postmortem/container/vmcoreinfo.h"

#include <algorithm>
#include <bit>

#include "core/base/text.h"

namespace memstat::postmortem {

VmCoreInfo::VmCoreInfo(std::string_view text) {
  std::string_view line;
  while (pairs_.size() < kMaxPairs && next_line(text, line)) {
    const std::size_t equals = line.find('=');
    if (equals == 0 || equals == std::string_view::npos) continue;
    pairs_.emplace(line.substr(0, equals), line.substr(equals + 1));
  }
}

std::optional<std::string_view> VmCoreInfo::text(std::string_view key) const {
  const auto found = pairs_.find(key);
  return found == pairs_.end() ? std::nullopt : std::optional<std::string_view>(found->second);
}

std::optional<std::uint64_t> VmCoreInfo::symbol(std::string_view name) const {
  const auto value = text("SYMBOL(" + std::string(name) + ")");
  return value ? parse_hex_u64(*value) : std::nullopt;
}

std::optional<std::uint64_t> VmCoreInfo::number(std::string_view name) const {
  const auto value = text("NUMBER(" + std::string(name) + ")");
  if (!value) return std::nullopt;
  if (value->starts_with("0x")) return parse_hex_u64(value->substr(2));
  if (!value->starts_with("-")) return parse_u64(*value);
  const auto negative = parse_i64(*value);
  if (!negative) return std::nullopt;
  return static_cast<std::uint64_t>(*negative);
}

std::uint64_t VmCoreInfo::page_bytes() const {
  const std::uint64_t bytes = parse_u64(text("PAGESIZE").value_or("")).value_or(0);
  return std::has_single_bit(bytes) && bytes >= 4096 && bytes <= 65536 ? bytes : 4096;
}

}  // namespace memstat::postmortem
