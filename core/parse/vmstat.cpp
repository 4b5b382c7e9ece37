// SPDX-License-Identifier: BSD-2-Clause
#include "core/parse/vmstat.h"

#include <algorithm>

#include "core/base/text.h"

namespace memstat {
namespace {

/// Zone kinds in counter names, and the zone names of /proc/zoneinfo.
constexpr std::pair<std::string_view, std::string_view> kZones[] = {{"dma", "DMA"},         {"dma32", "DMA32"},
                                                                    {"normal", "Normal"},   {"high", "HighMem"},
                                                                    {"movable", "Movable"}, {"device", "Device"}};
constexpr std::size_t kMaxKindSize = 16;  // room for kinds that future kernels may add

std::string_view zone_of_kind(std::string_view kind) {
  for (const auto& [known, zone] : kZones) {
    if (known == kind) return zone;
  }
  const bool is_word =
      std::all_of(kind.begin(), kind.end(), [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); });
  return is_word && kind.size() <= kMaxKindSize ? kind : std::string_view();
}

}  // namespace

void ZoneCounters::add(std::string_view key, std::uint64_t value) {
  const std::string_view zone = zone_of_kind(key.substr(prefix_.size()));
  if (zone.empty() || size_ == counters_.size()) return;
  for (const Counter& counter : counters()) {
    if (counter.zone == zone) return;
  }
  counters_[size_++] = {zone, value};
}

std::optional<std::size_t> read_vm_counters(std::string_view text, std::span<KeyedNumber> numbers, ZoneCounters& zones) {
  for (KeyedNumber& number : numbers) number.value.reset();
  std::uint64_t wanted = 0;
  for (const KeyedNumber& number : numbers) wanted |= bit_of_key(number.key);
  std::string_view rest = text;
  std::size_t expected = 0;  // index after the number found last
  while (!rest.empty()) {
    const std::size_t offset = text.size() - rest.size();
    const std::size_t end = rest.find('\n');
    if (end == std::string_view::npos) return offset;
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end + 1);
    const std::string_view key = line.substr(0, line.find(' '));
    if (key.empty()) continue;
    line.remove_prefix(key.size());
    if (key.starts_with(zones.prefix())) {
      const auto value = parse_u64(trim(line));
      if (!value) return offset;
      zones.add(key, *value);
      continue;
    }
    if ((wanted & bit_of_key(key)) == 0) continue;
    for (std::size_t tried = 0; tried < numbers.size(); ++tried) {
      KeyedNumber& number =
          numbers[expected + tried < numbers.size() ? expected + tried : expected + tried - numbers.size()];
      if (number.key != key) continue;
      expected = static_cast<std::size_t>(&number - numbers.data()) + 1;
      if (number.value) break;
      number.value = parse_u64(trim(line));
      if (!number.value) return offset;
      break;
    }
  }
  return std::nullopt;
}

std::optional<std::size_t> read_vm_counters(std::string_view text, std::span<KeyedNumber> numbers) {
  ZoneCounters none("\n");  // not a prefix of any key
  return read_vm_counters(text, numbers, none);
}

}  // namespace memstat
