// SPDX-License-Identifier: BSD-2-Clause
#include "core/kernel/subdirectories_linux.h"

#if defined(__linux__)

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/base/fixed_path.h"
#include "core/base/unique_fd.h"
#include "core/kernel/kernel_view.h"

namespace memstat {
namespace {

/// Whether an entry is a directory. Some file systems do not report the type (DT_UNKNOWN); the kernel's own do.
bool is_directory(int parent, const char* name, unsigned char type) {
  if (type != DT_UNKNOWN) return type == DT_DIR;
  struct stat status {};
  return ::fstatat(parent, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(status.st_mode);
}

void add_directories(int parent, const char* at, const char* end, Buffer& names) {
  while (at < end) {
    std::uint16_t size = 0;
    std::memcpy(&size, at + offsetof(dirent64, d_reclen), sizeof size);
    const char* const name = at + offsetof(dirent64, d_name);
    const std::string_view text(name);
    const auto type = static_cast<unsigned char>(at[offsetof(dirent64, d_type)]);
    if (text != "." && text != ".." && is_directory(parent, name, type)) {
      names.append(text);
      names.append({&kEndOfName, 1});
    }
    at += size;
  }
}

}  // namespace

Result<void> list_kernel_directories(std::string_view path, Buffer& names) {
  names.clear();
  FixedPath terminated;
  if (!terminated.assign(path)) return system_error(path.substr(0, 200), ENAMETOOLONG);
  struct stat status {};
  if (::stat(terminated.c_str(), &status) != 0) return system_error(path, errno);
  if (!S_ISDIR(status.st_mode)) return system_error(path, ENOTDIR);
  // A directory has one link from its parent, one from its own ".", and one from each sub-directory's "..". Most
  // control groups have no sub-directories, and listing their dozens of files takes six times as long as this call.
  // (File systems that do not count links report 1.)
  if (status.st_nlink == 2) return {};
  int opened = -1;
  do {
    opened = ::open(terminated.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECTORY);
  } while (opened < 0 && errno == EINTR);
  const UniqueFd fd(opened);
  if (!fd) return system_error(path, errno);
  alignas(dirent64) std::array<char, 4096> entries;
  while (true) {
    const ssize_t size = ::getdents64(fd.get(), entries.data(), entries.size());
    if (size < 0) return system_error(path, errno);
    if (size == 0) return {};
    add_directories(fd.get(), entries.data(), entries.data() + size, names);
  }
}

}  // namespace memstat

#endif
