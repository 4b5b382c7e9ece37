// SPDX-License-Identifier: BSD-2-Clause
#include "core/postmortem/container/temporary_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

namespace memstat::postmortem {

std::string temporary_directory() {
  const char* const directory = std::getenv("TMPDIR");
  return directory != nullptr && *directory != '\0' ? directory : "/var/tmp";
}

Result<UniqueFd> nameless_file(const std::string& directory) {
  std::string name = directory + "/memstat-dump-XXXXXX";
  UniqueFd fd(::mkostemp(name.data(), O_CLOEXEC));
  if (!fd) return system_error(directory, errno);
  ::unlink(name.c_str());
  return fd;
}

Result<void> write_all(int fd, const std::string& directory, std::string_view bytes, std::uint64_t offset) {
  while (!bytes.empty()) {
    const ssize_t done = ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return system_error(directory, done < 0 ? errno : EIO);
    bytes.remove_prefix(static_cast<std::size_t>(done));
    offset += static_cast<std::uint64_t>(done);
  }
  return {};
}

}  // namespace memstat::postmortem
