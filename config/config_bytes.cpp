// SPDX-License-Identifier: BSD-2-Clause
#include "config/config_bytes.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "config/loader.h"

namespace memstat {

ConfigBytes read_config_bytes(int descriptor, std::span<char> room) noexcept {
  ConfigBytes bytes;
  const auto stopped = [&bytes](ConfigBytes::Stop stop, int system_errno) {
    bytes.stop = stop;
    bytes.system_errno = system_errno;
    return bytes;
  };
  struct stat about = {};
  if (fstat(descriptor, &about) != 0) return stopped(ConfigBytes::Stop::kRead, errno);
  if (!S_ISREG(about.st_mode)) return stopped(ConfigBytes::Stop::kKind, S_ISDIR(about.st_mode) ? EISDIR : 0);
  bytes.is_readable_by_all = (about.st_mode & S_IROTH) != 0;
  while (bytes.size < room.size()) {
    const ssize_t got =
        pread(descriptor, room.data() + bytes.size, room.size() - bytes.size, static_cast<off_t>(bytes.size));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return stopped(ConfigBytes::Stop::kRead, errno);
    if (got == 0) return bytes;
    bytes.size += static_cast<std::size_t>(got);
  }
  return stopped(ConfigBytes::Stop::kTooLarge, 0);
}

ConfigBytes read_config_bytes(const char* path, std::span<char> room) noexcept {
  return read_config_bytes(AT_FDCWD, path, room);
}

bool is_refused(const ConfigBytes& bytes) noexcept {
  return bytes.stop == ConfigBytes::Stop::kOpen && code_of_errno(bytes.system_errno) == ErrorCode::kPermission;
}

ConfigBytes read_config_bytes(int directory, const char* name, std::span<char> room) noexcept {
  int descriptor = -1;
  do {  // O_NONBLOCK: opening a pipe would block until a writer appears
    descriptor = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  } while (descriptor < 0 && errno == EINTR);
  if (descriptor < 0) {
    // ENXIO: it is a socket.
    const bool is_other_kind = errno == ENXIO;
    return ConfigBytes{.stop = is_other_kind ? ConfigBytes::Stop::kKind : ConfigBytes::Stop::kOpen,
                       .system_errno = is_other_kind ? 0 : errno};
  }
  ConfigBytes bytes = read_config_bytes(descriptor, room);
  if (bytes.stop == ConfigBytes::Stop::kDone) {
    bytes.descriptor = descriptor;
  } else {
    close(descriptor);
  }
  return bytes;
}

Error config_bytes_error(const std::string& path, const ConfigBytes& bytes) {
  switch (bytes.stop) {
    case ConfigBytes::Stop::kOpen:
      return system_error(path, bytes.system_errno, "cannot open the configuration; check its path and its permissions");
    case ConfigBytes::Stop::kKind: {
      if (bytes.system_errno == EISDIR) {
        return system_error(path, EISDIR, "cannot read the configuration; name the file in this directory");
      }
      Error error = system_error(path, EINVAL,
                                 "the configuration must be a regular file, "
                                 "not a pipe or a device such as /dev/null: it is read again at each reload; "
                                 "for the defaults, use an empty file");
      error.system_errno = 0;  // no system call has failed
      return error;
    }
    case ConfigBytes::Stop::kTooLarge:
      return system_error(path, EFBIG, "larger than 1MiB, so not a configuration of memstatd");
    case ConfigBytes::Stop::kRead:
    case ConfigBytes::Stop::kDone: break;
  }
  return system_error(path, bytes.system_errno, "cannot read the configuration");
}

Result<std::string> read_config_file(const std::string& path) {
  std::string text(kMaxConfigBytes + 1, '\0');
  const ConfigBytes bytes = read_config_bytes(path.c_str(), std::span(text.data(), text.size()));
  if (bytes.stop != ConfigBytes::Stop::kDone) return config_bytes_error(path, bytes);
  close(bytes.descriptor);
  return text.substr(0, bytes.size);
}

}  // namespace memstat
