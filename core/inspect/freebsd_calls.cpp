// SPDX-License-Identifier: BSD-2-Clause
#include "core/inspect/freebsd_calls.h"

#include <cerrno>
#include <utility>

#include "core/base/text.h"

namespace memstat {

Result<void> add_holders(Inspector& inspector, std::string_view name, TextTableSource& table) {
  Buffer text;
  if (auto read = inspector.view().read_table(name, table, text); !read) return read;
  std::string_view rest = text.view();
  for (std::string_view line; next_line(rest, line);) {
    std::string_view bytes;
    std::string_view count;
    if (!next_word(line, bytes) || !next_word(line, count)) continue;
    Holder holder;
    holder.bytes = parse_u64(bytes);
    holder.count = parse_u64(count);
    holder.name = trim(line);
    if (!holder.bytes || !holder.count || holder.name.empty()) continue;
    if (!inspector.take_read()) break;
    inspector.add(std::move(holder));
  }
  return {};
}

#if !defined(__FreeBSD__)
Result<void> ModulesTable::read(Buffer&) { return system_error("kldnext", ENOENT); }
Result<void> TmpfsMountsTable::read(Buffer&) { return system_error("getfsstat", ENOENT); }
Result<void> ResourceLimitsTable::read(Buffer&) { return system_error("rctl_get_rules", ENOENT); }
#endif

}  // namespace memstat
