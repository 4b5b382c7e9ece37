// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/incidents/program_kills.h"

#include "daemon/incidents/directory_changes.h"

namespace memstat {

bool ProgramKills::open() {
  if (!messages_.open()) return false;
  changes_ = watch_directories(messages_.directories());  // and not files, because journald replaces them
  has_new();
  return changes_.get() >= 0;
}

bool ProgramKills::has_new() {
  if (changes_.get() >= 0) discard_changes(changes_.get());
  const std::uint64_t before = book_.kills();
  if (!messages_.follow()) return false;
  while (const auto message = messages_.next()) {
    if (message->unit.empty()) break;
    book_.add(message->unit, message->time_us, message->text);
  }
  book_.finish();
  return book_.kills() != before;
}

}  // namespace memstat
