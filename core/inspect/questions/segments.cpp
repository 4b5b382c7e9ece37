// SPDX-License-Identifier: BSD-2-Clause
// System V segments that no process has attached: they keep their memory until they are removed (ipc/shm.c). Bytes are
// resident or swapped; the size if the kernel does not report those.
#include <optional>

#include "core/base/text.h"
#include "core/inspect/processes.h"
#include "core/parse/header_table.h"

namespace memstat::inspections::segments {
namespace {

constexpr std::string_view kPath = "/proc/sysvipc/shm";

/// The word at `place`, "" if the line is too short.
std::string_view word_at(std::string_view line, std::optional<std::size_t> place) {
  std::string_view word;
  for (std::size_t i = 0; place && i <= *place; ++i) {
    if (!next_word(line, word)) return {};
  }
  return word;
}

struct Columns {
  std::optional<std::size_t> id, size, creator, attached, uid, resident, swapped;
};

std::optional<std::uint64_t> held_bytes(std::string_view line, const Columns& columns) {
  const auto resident = parse_u64(word_at(line, columns.resident));
  if (!resident) return parse_u64(word_at(line, columns.size));
  std::uint64_t sum = 0;
  const bool is_too_large = __builtin_add_overflow(*resident, parse_u64(word_at(line, columns.swapped)).value_or(0), &sum);
  return is_too_large ? std::nullopt : std::optional(sum);
}

Result<void> look(Inspector& inspector) {
  Buffer text;
  if (auto read = inspector.view().read_file(kPath, text); !read) return read;
  std::string_view rest = text.view();
  std::string_view line;
  next_line(rest, line);
  const Columns columns{.id = column_of(line, "shmid"),
                        .size = column_of(line, "size"),
                        .creator = column_of(line, "cpid"),
                        .attached = column_of(line, "nattch"),
                        .uid = column_of(line, "uid"),
                        .resident = column_of(line, "rss"),
                        .swapped = column_of(line, "swap")};
  if (!columns.id || !columns.size || !columns.attached) return data_error(kPath, 0, "expected a line of names");
  while (next_line(rest, line) && inspector.take()) {
    if (word_at(line, columns.attached) != "0") continue;
    Holder holder;
    holder.user = word_at(line, columns.uid);
    holder.name = "segment " + std::string(word_at(line, columns.id)) + " of pid " +
                  std::string(word_at(line, columns.creator));  // it may have ended, and its ID may be reused
    holder.count = 0;
    holder.bytes = held_bytes(line, columns);
    inspector.add(std::move(holder));
  }
  return {};
}

}  // namespace

extern const Inspection inspection{.name = "segments",
                                   .question = "Which System V segments hold memory with nobody attached",
                                   .kind = "segment",
                                   .things = "processes attached",
                                   .sees = ViewPart::kIpc,
                                   .reads_polled_files = true,
                                   .look = look};

}  // namespace memstat::inspections::segments
