// SPDX-License-Identifier: BSD-2-Clause
#include "core/inspect/freebsd_calls.h"

#include <cerrno>

#include "core/base/text.h"

namespace memstat {

std::vector<NamedAmount> parse_amounts(std::string_view text) {
  std::vector<NamedAmount> amounts;
  for (std::string_view line; next_line(text, line);) {
    std::string_view bytes;
    std::string_view count;
    if (!next_word(line, bytes) || !next_word(line, count)) continue;
    const auto size = parse_u64(bytes);
    const auto number = parse_u64(count);
    const std::string_view name = trim(line);
    if (size && number && !name.empty()) amounts.push_back({.bytes = *size, .count = *number, .name = std::string(name)});
  }
  return amounts;
}

#if !defined(__FreeBSD__)
Result<void> ModulesTable::read(Buffer&) { return system_error("kldnext", ENOENT); }
Result<void> TmpfsMountsTable::read(Buffer&) { return system_error("getfsstat", ENOENT); }
#endif

}  // namespace memstat
