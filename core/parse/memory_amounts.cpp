// SPDX-License-Identifier: BSD-2-Clause
#include "core/parse/memory_amounts.h"

#include "core/base/text.h"

namespace memstat {

Amount count_cpu_pages(std::string_view zoneinfo) {
  if (!zoneinfo.ends_with('\n')) return std::nullopt;
  Amount pages;
  std::string_view line;
  std::string_view word;
  while (next_line(zoneinfo, line)) {
    if (!next_word(line, word) || word != "count:") continue;
    const auto count = next_word(line, word) ? parse_u64(word) : std::nullopt;
    if (!count) return std::nullopt;
    pages = saturating_sum(pages.value_or(0), *count);
  }
  return pages;
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
