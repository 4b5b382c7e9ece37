// SPDX-License-Identifier: BSD-2-Clause
// Keys that users own, against the quotas of a user: "UID: references keys/instantiated count/limit bytes/limit" in
// /proc/key-users (security/keys/proc.c, proc_key_users_show).
#include "core/base/text.h"
#include "core/inspect/processes.h"

namespace memstat::inspections::keys {
namespace {

void add_quota(Inspector& inspector, std::string_view uid, std::string_view name, std::string_view use) {
  const std::size_t slash = use.find('/');
  if (slash == std::string_view::npos) return;
  const auto used = parse_u64(use.substr(0, slash));
  const auto limit = parse_u64(use.substr(slash + 1));
  if (!used || !limit || *used == 0) return;
  Holder& holder = inspector.add({});
  holder.user = uid;
  holder.name = name;
  holder.count = *used;
  holder.limit = *limit;
}

Result<void> look(Inspector& inspector) {
  Buffer table;
  if (auto read = inspector.view().read_file("/proc/key-users", table); !read) return read;
  std::string_view rest = table.view();
  std::string_view line;
  while (next_line(rest, line)) {
    std::string_view uid;
    std::string_view references;
    std::string_view keys;
    std::string_view counts;
    std::string_view bytes;
    if (!next_word(line, uid) || !uid.ends_with(':') || !next_word(line, references) || !next_word(line, keys)) continue;
    if (!next_word(line, counts) || !next_word(line, bytes) || !inspector.take()) continue;
    add_quota(inspector, uid.substr(0, uid.size() - 1), "count", counts);
    add_quota(inspector, uid.substr(0, uid.size() - 1), "bytes", bytes);
  }
  return {};
}

}  // namespace

extern const Inspection inspection{.name = "keys",
                                   .question = "Which users own kernel keys",
                                   .kind = "user",
                                   .things = "in use",
                                   .sees = ViewPart::kUsers,
                                   .reads_polled_files = true,
                                   .look = look};

}  // namespace memstat::inspections::keys
