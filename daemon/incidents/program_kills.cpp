// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/incidents/program_kills.h"

#include <unistd.h>
#if defined(__linux__)
#include <sys/inotify.h>
#endif

#include <array>
#include <cerrno>

namespace memstat {

#if defined(__linux__)

bool ProgramKills::open() {
  if (!messages_.open()) return false;
  changes_ = UniqueFd(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  bool is_watched = false;
  // Directories, because journald replaces its files.
  for (const std::string& directory : messages_.directories())
    is_watched |=
        changes_ && ::inotify_add_watch(changes_.get(), directory.c_str(), IN_MODIFY | IN_CREATE | IN_MOVED_TO) >= 0;
  if (!is_watched) changes_ = UniqueFd();
  has_new();
  return is_watched;
}

bool ProgramKills::has_new() {
  std::array<char, 4096> events{};
  ssize_t size = 0;
  while ((size = ::read(changes_.get(), events.data(), events.size())) > 0 || (size < 0 && errno == EINTR)) continue;
  const std::uint64_t before = book_.kills();
  if (!messages_.follow()) return false;
  while (const auto message = messages_.next()) {
    if (message->unit.empty()) break;
    book_.add(message->unit, message->time_us, message->text);
  }
  book_.finish();
  return book_.kills() != before;
}

#else

bool ProgramKills::open() { return false; }
bool ProgramKills::has_new() { return false; }

#endif

}  // namespace memstat
