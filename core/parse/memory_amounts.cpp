// SPDX-License-Identifier: BSD-2-Clause
#include "core/parse/memory_amounts.h"

#include <array>

#include "core/base/text.h"
#include "core/parse/key_values.h"

namespace memstat {

namespace {

/// The largest number of "(0, 2912, 7899)".
Amount largest_of(std::string_view list) {
  Amount largest;
  std::string_view word;
  while (next_word(list, word)) {
    if (word.starts_with('(')) word.remove_prefix(1);
    if (word.ends_with(',') || word.ends_with(')')) word.remove_suffix(1);
    const auto number = parse_u64(word);
    if (!number) return std::nullopt;
    largest = std::max(largest.value_or(0), *number);
  }
  return largest;
}

}  // namespace

ZoneAmounts read_zone_amounts(std::string_view zoneinfo) {
  if (!zoneinfo.ends_with('\n')) return {};
  ZoneAmounts amounts;
  Amount min;
  Amount managed;
  std::string_view line;
  std::string_view word;
  while (next_line(zoneinfo, line)) {
    if (!next_word(line, word)) continue;
    Amount number;
    if (word == "protection:") {
      number = largest_of(line);
      if (number && min && managed) {
        amounts.reserve = sum_of(amounts.reserve, std::min(saturating_sum(*min, *number), *managed));
      }
      min = managed = std::nullopt;
    } else if (word == "count:" || word == "min" || word == "managed") {
      const bool is_count = word == "count:";
      Amount& figure = word == "min" ? min : managed;
      number = next_word(line, word) ? parse_u64(word) : std::nullopt;
      if (is_count) {
        amounts.cpu_pages = sum_of(amounts.cpu_pages, number);
      } else {
        figure = number;
      }
    } else {
      continue;
    }
    if (!number) return {};
  }
  return amounts;
}

std::optional<MachineAmounts> read_machine_amounts(std::string_view meminfo, const ZoneAmounts& zones,
                                                   std::uint64_t page_size) {
  std::array<KeyedNumber, 7> lines = {{{"MemFree", {}},
                                       {"Active(file)", {}},
                                       {"Inactive(file)", {}},
                                       {"SwapFree", {}},
                                       {"Zswap", {}},
                                       {"KReclaimable", {}},
                                       {"SReclaimable", {}}}};
  if (!meminfo.ends_with('\n') || read_keyed_numbers(meminfo, lines)) return std::nullopt;
  const auto& [free, active, inactive, swap, zswap, kernel, slab] = lines;
  const Amount reserve = times(zones.reserve, page_size);
  if (!free.value || !active.value || !inactive.value || !reserve) return std::nullopt;
  Amount sure = sum_of(free.value, times(zones.cpu_pages, page_size));
  sure = sum_of(sum_of(sure, active.value), inactive.value);
  return MachineAmounts{.sure = without(*sure, *reserve),
                        .kernel = kernel.value.value_or(slab.value.value_or(0)),
                        .swap_free = swap.value.value_or(0),
                        .has_zswap = zswap.value.value_or(0) != 0};
}

Amount count_socket_pages(std::string_view sockstat) {
  if (!sockstat.ends_with('\n')) return std::nullopt;
  Amount pages;
  std::string_view line;
  std::string_view word;
  while (next_line(sockstat, line)) {
    if (!next_word(line, word) || (word != "TCP:" && word != "UDP:")) continue;
    std::string_view value;
    while (next_word(line, word) && next_word(line, value)) {
      if (word == "mem") pages = sum_of(pages, parse_u64(value));
    }
  }
  return pages;
}

Amount hyperv_bytes(std::string_view text) {
  Amount pages;
  Amount size;
  std::string_view line;
  std::string_view word;
  while (next_line(text, line)) {
    if (!next_word(line, word) || (word != "pages_ballooned" && word != "page_size")) continue;
    Amount& figure = word == "page_size" ? size : pages;
    if (next_word(line, word) && word == ":" && next_word(line, word)) figure = parse_u64(word);
  }
  return size ? times(pages, *size) : std::nullopt;
}

Amount tracing_bytes(std::string_view text) {
  std::string_view rest = trim(text);
  std::string_view word;
  return next_word(rest, word) ? times(parse_u64(word), 1024) : std::nullopt;
}

Amount pool_bytes(std::string_view directory, std::string_view pages) {
  constexpr std::string_view kPrefix = "hugepages-";
  if (!directory.starts_with(kPrefix) || !directory.ends_with("kB")) return std::nullopt;
  directory.remove_prefix(kPrefix.size());
  directory.remove_suffix(2);
  const Amount size = times(parse_u64(directory), 1024);
  return size ? times(parse_u64(trim(pages)), *size) : std::nullopt;
}

}  // namespace memstat
