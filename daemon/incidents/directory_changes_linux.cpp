// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/incidents/directory_changes.h"

#if defined(__linux__)
#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>
#endif

namespace memstat {

#if defined(__linux__)

UniqueFd watch_directories(std::span<const std::string> directories) {
  UniqueFd changes(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  bool is_watched = false;
  for (const std::string& directory : directories) {
    constexpr std::uint32_t kWritten = IN_MODIFY | IN_CREATE | IN_MOVED_TO;
    if (changes.get() >= 0 && ::inotify_add_watch(changes.get(), directory.c_str(), kWritten) >= 0) is_watched = true;
  }
  return is_watched ? std::move(changes) : UniqueFd();
}

void discard_changes(int changes) {
  std::array<char, 4096> events{};
  ssize_t size = 0;
  do {
    size = ::read(changes, events.data(), events.size());
  } while (size > 0 || (size < 0 && errno == EINTR));
}

#else

UniqueFd watch_directories(std::span<const std::string>) { return {}; }
void discard_changes(int) {}

#endif

}  // namespace memstat
