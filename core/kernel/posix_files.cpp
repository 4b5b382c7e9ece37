// SPDX-License-Identifier: BSD-2-Clause
#include "core/kernel/posix_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <utility>

#include "core/base/fixed_path.h"
#include "core/kernel/open_directory.h"
#include "core/kernel/read_all.h"
#include "core/kernel/spared_open.h"

namespace memstat {
namespace {

Error access_error(std::string_view path, int system_errno) {
  switch (system_errno) {
    case EACCES:
    case EPERM: return system_error(path, system_errno, "only a privileged user may read it; start as root");
    case EMFILE:
      return system_error(
          path, system_errno,
          "this process may not open more files; "
          "raise its limit (ulimit -Hn, LimitNOFILE= of the service) or switch off sources that keep many files open");
    case ENFILE:
      return system_error(
          path, system_errno,
          "this system has too many open files; raise its limit (fs.file-max of Linux, kern.maxfiles of FreeBSD)");
    default: return system_error(path, system_errno);
  }
}

Error bad_path_error(std::string_view path) {
  const bool has_nul = path.find('\0') != std::string_view::npos;
  return system_error(path.substr(0, 200), has_nul ? EINVAL : ENAMETOOLONG);
}

int open_for_reading(const FixedPath& path, int more_flags = 0, int directory = AT_FDCWD) {
  return spared_open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | more_flags, directory);
}

/// Whether a file supports reads at an offset. Reads nothing.
bool has_offsets(int fd) {
  char nothing = 0;
  return ::pread(fd, &nothing, 0, 0) >= 0 || errno != ESPIPE;
}

/// Splits a path into directory and name.
std::pair<std::string_view, std::string_view> split(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return {".", path};
  return {slash == 0 ? "/" : path.substr(0, slash), path.substr(slash + 1)};
}

/// Whether a descriptor is one of the last, which the rest of the process may need. The kernel assigns the lowest free
/// number.
bool is_reserved(int fd) {
  constexpr rlim_t kMaxReserved = 256;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return false;
  return static_cast<rlim_t>(fd) >= limit.rlim_cur - std::min(limit.rlim_cur / 4, kMaxReserved);
}

ReadLimits limits_of(ReadManner manner) {
  constexpr std::size_t kHalfPage = 2048;
  if (manner == ReadManner::kToRoom) return {.whole_below = ~std::size_t{0}};
  return {.whole_below = manner == ReadManner::kToAShort ? kHalfPage : 0};
}

auto from_start_of(int fd) {
  return [fd](char* to, std::size_t room) -> long { return ::pread(fd, to, room, 0); };
}

auto in_sequence(int fd) {
  return [fd](char* to, std::size_t room) -> long { return ::read(fd, to, room); };
}

}  // namespace

Result<void> PosixFiles::keep_open(std::string_view path) {
  if (kept_.find(path) != kept_.end()) return {};
  FixedPath terminated;
  if (!terminated.assign(path)) return bad_path_error(path);
  UniqueFd fd(open_for_reading(terminated));
  if (!fd) return access_error(path, errno);
  if (is_reserved(fd.get())) return access_error(path, EMFILE);
  Kept kept;
  kept.number = kept_.size();
  if (has_offsets(fd.get())) {
    kept.file = std::move(fd);
  } else {
    FixedPath directory;
    if (!directory.assign(split(path).first)) return bad_path_error(path);
    kept.directory = UniqueFd(open_for_reading(directory, O_DIRECTORY));
    if (!kept.directory) return access_error(path, errno);
  }
  kept_.emplace(path, std::move(kept));
  return {};
}

void PosixFiles::close_kept_after(std::size_t count) {
  std::erase_if(kept_, [count](const auto& file) { return file.second.number >= count; });
}

Result<UniqueFd> PosixFiles::open_again(std::string_view path, int directory) {
  FixedPath name;
  if (!name.assign(split(path).second)) return bad_path_error(path);
  UniqueFd opened(open_for_reading(name, 0, directory));
  if (opened) return opened;
  if (errno != EACCES && errno != EPERM) return access_error(path, errno);
  return system_error(path, errno,
                      "it cannot be read at an offset, so it is opened at every read; every user must be able to read it");
}

Result<void> PosixFiles::read_file(std::string_view path, Buffer& out, ReadManner manner) {
  if (const auto kept = kept_.find(path); kept != kept_.end()) {
    if (kept->second.directory) {
      const SpareFilesReturn files_back;
      const auto opened = open_again(path, kept->second.directory.get());
      if (!opened) return opened.error();
      return read_all(path, out, limits_of(manner), in_sequence(opened->get()));
    }
    const int fd = kept->second.file.get();
    if (manner == ReadManner::kInOne) return read_in_one(path, out, from_start_of(fd));
    return read_all(path, out, limits_of(manner), [fd, &out](char* to, std::size_t room) -> long {
      return ::pread(fd, to, room, static_cast<off_t>(out.size()));
    });
  }
  return open_and_read(path, path, AT_FDCWD, out, manner);
}

Result<void> PosixFiles::read_file_in(const BaseDirectory& directory, std::string_view path, Buffer& out,
                                      ReadManner manner) {
  const std::string_view name = path.substr(std::min(path.size(), directory.path_size + 1));
  return open_and_read(path, name, directory.descriptor.get(), out, manner);
}

Result<void> PosixFiles::open_and_read(std::string_view path, std::string_view name, int directory, Buffer& out,
                                       ReadManner manner) {
  FixedPath terminated;
  if (!terminated.assign(name)) return bad_path_error(path);
  const SpareFilesReturn files_back;
  const UniqueFd opened(open_for_reading(terminated, 0, directory));
  if (!opened) return access_error(path, errno);
  const int fd = opened.get();
  if (manner == ReadManner::kInOne) return read_in_one(path, out, from_start_of(fd));
  return read_all(path, out, limits_of(manner), in_sequence(fd));
}

bool PosixFiles::may_read(std::string_view path) const {
  if (kept_.find(path) != kept_.end()) return true;
  FixedPath terminated;
  const SpareFilesReturn files_back;
  return terminated.assign(path) && UniqueFd(open_for_reading(terminated));
}

Result<std::string> PosixFiles::read_link(std::string_view path) {
  FixedPath terminated;
  if (!terminated.assign(path)) return bad_path_error(path);
  std::array<char, FixedPath::kCapacity> target;
  const ssize_t length = ::readlink(terminated.c_str(), target.data(), target.size());
  if (length < 0) return access_error(path, errno);
  if (static_cast<std::size_t>(length) == target.size())
    return system_error(path, ENAMETOOLONG, "the target of the link is too long");
  return std::string(target.data(), static_cast<std::size_t>(length));
}

Result<void> PosixFiles::list_directory(std::string_view path, std::vector<std::string>& names) {
  names.clear();
  FixedPath terminated;
  if (!terminated.assign(path)) return bad_path_error(path);
  const SpareFilesReturn files_back;
  UniqueFd fd(open_for_reading(terminated, O_DIRECTORY));
  if (!fd) return access_error(path, errno);
  const OpenDirectory directory = open_directory(fd);
  if (!directory) return system_error(path, errno);
  if (const int failure = read_names(directory.get(), names); failure != 0) return system_error(path, failure);
  std::sort(names.begin(), names.end());
  return {};
}

}  // namespace memstat
