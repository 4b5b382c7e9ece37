// SPDX-License-Identifier: BSD-2-Clause
#include "core/capture/directory_writer.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "core/kernel/open_directory.h"

namespace memstat {
namespace {

constexpr int kMaxDepth = 64;  // deeper than any kernel path, so a deeper directory is not ours

OpenDirectory open_subdirectory(int parent, const char* name) {
  UniqueFd fd(::openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd) return nullptr;
  return open_directory(fd);
}

/// Returns 0 or an errno.
int remove_tree_at(int parent, const char* name, int depth) {
  if (::unlinkat(parent, name, 0) == 0 || errno == ENOENT) return 0;
  if (errno != EISDIR && errno != EPERM) return errno;  // for a directory: EPERM in POSIX, EISDIR on Linux
  const int failure = errno;
  if (depth > kMaxDepth) return ELOOP;
  const OpenDirectory directory = open_subdirectory(parent, name);
  if (!directory) return errno == ENOTDIR ? failure : errno;
  std::vector<std::string> names;  // read all names first: removing entries while reading may skip some
  if (const int unread = read_names(directory.get(), names); unread != 0) return unread;
  for (const std::string& entry : names) {
    if (const int inner = remove_tree_at(::dirfd(directory.get()), entry.c_str(), depth + 1); inner != 0) return inner;
  }
  return ::unlinkat(parent, name, AT_REMOVEDIR) == 0 ? 0 : errno;
}

int measure_at(int parent, const char* name, int depth, std::uint64_t& bytes) {
  struct stat status {};
  if (::fstatat(parent, name, &status, AT_SYMLINK_NOFOLLOW) != 0) return errno == ENOENT ? 0 : errno;
  if (!S_ISDIR(status.st_mode)) {
    bytes += disk_bytes(static_cast<std::uint64_t>(status.st_size));
    return 0;
  }
  bytes += disk_bytes(0);
  if (depth > kMaxDepth) return ELOOP;
  const OpenDirectory directory = open_subdirectory(parent, name);
  if (!directory) return errno;
  while (const char* entry = next_name(directory.get())) {
    if (const int failure = measure_at(::dirfd(directory.get()), entry, depth + 1, bytes); failure != 0) return failure;
  }
  return errno;
}

Error not_writable(const std::string& directory, std::string_view why) { return system_error(directory, EACCES, why); }

/// Checks a directory that already existed.
Result<void> check_ours(const std::string& directory, int fd, const DirectoryOwner& owner) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) return system_error(directory, errno);
  const uid_t wanted = owner.user >= 0 ? static_cast<uid_t>(owner.user) : ::geteuid();
  if (status.st_uid == wanted) return {};
  return not_writable(
      directory, "the directory exists and belongs to user " + std::to_string(status.st_uid) +
                     ", but it would be written as user " + std::to_string(wanted) +
                     "; memstatd does not take over a directory that it did not make: name a new one, or chown this one");
}

/// Changes the owner of a directory that we have just created. Checks that it is still ours and was not replaced.
Result<void> give_away(const std::string& directory, int fd, const DirectoryOwner& owner) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) return system_error(directory, errno);
  if (status.st_uid != ::geteuid()) return not_writable(directory, "another directory took the place of the new one");
  if (owner.user < 0 && owner.group < 0) return {};
  if (::fchown(fd, static_cast<uid_t>(owner.user), static_cast<gid_t>(owner.group)) != 0)
    return system_error(directory, errno, "cannot give the new directory to the daemon's user");
  return {};
}

}  // namespace

Error DirectoryWriter::error(std::string_view path, int system_errno, std::string_view detail) const {
  return system_error(path.empty() ? name_ : name_ + "/" + std::string(path), system_errno, detail);
}

Result<DirectoryWriter> DirectoryWriter::open(const std::string& directory, const DirectoryOwner& owner) {
  std::string path = directory;  // a trailing slash would follow a symbolic link
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  const bool is_new = ::mkdir(path.c_str(), 0700) == 0;
  if (!is_new && errno != EEXIST) return system_error(directory, errno, "cannot make the directory");
  struct stat named {};
  if (!is_new && ::lstat(path.c_str(), &named) == 0 && !S_ISDIR(named.st_mode)) {
    return system_error(directory, ENOTDIR,
                        S_ISLNK(named.st_mode) ? "is a symbolic link; name the directory itself, or a new one"
                                               : "exists and is not a directory; name a new one");
  }
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd) return system_error(directory, errno, "cannot open the directory");
  const Result<void> usable = is_new ? give_away(directory, fd.get(), owner) : check_ours(directory, fd.get(), owner);
  if (!usable) return usable.error();
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    const bool taken = errno == EWOULDBLOCK;
    return system_error(directory, errno, taken ? "another process writes into this directory; choose another one" : "");
  }
  return DirectoryWriter(directory, std::move(fd));
}

Result<UniqueFd> DirectoryWriter::create_file(std::string_view path, const DirectoryOwner& owner) {
  const std::string terminated(path);
  UniqueFd fd(::openat(directory_.get(), terminated.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd) return error(path, errno, "cannot write the file");
  // Use the descriptor: the directory's owner may replace this name at any time.
  if ((owner.user >= 0 || owner.group >= 0) &&
      ::fchown(fd.get(), static_cast<uid_t>(owner.user), static_cast<gid_t>(owner.group)) != 0) {
    return error(path, errno, "cannot give the file to the daemon's user");
  }
  return fd;
}

Result<void> DirectoryWriter::write_file(std::string_view path, std::string_view bytes, bool durable,
                                         const DirectoryOwner& owner) {
  auto created = create_file(path, owner);
  if (!created) return created.error();
  const UniqueFd fd = *std::move(created);
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return error(path, written == 0 ? EIO : errno, "cannot write the file");
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  if (durable && ::fsync(fd.get()) != 0) return error(path, errno, "cannot sync the file to the disk");
  return {};
}

Result<void> DirectoryWriter::rename(std::string_view from, std::string_view to) {
  if (::renameat(directory_.get(), std::string(from).c_str(), directory_.get(), std::string(to).c_str()) != 0) {
    return error(to, errno, "cannot rename " + std::string(from));
  }
  return {};
}

Result<void> DirectoryWriter::list(std::vector<std::string>& names) const {
  names.clear();
  const OpenDirectory directory = open_subdirectory(directory_.get(), ".");
  if (!directory) return error("", errno);
  if (const int failure = read_names(directory.get(), names); failure != 0) return error("", failure);
  return {};
}

Result<void> DirectoryWriter::remove_tree(std::string_view path) {
  if (const int failure = remove_tree_at(directory_.get(), std::string(path).c_str(), 0); failure != 0) {
    return error(path, failure, "cannot remove it");
  }
  return {};
}

Result<std::uint64_t> DirectoryWriter::measure(std::string_view path) const {
  std::uint64_t bytes = 0;
  if (const int failure = measure_at(directory_.get(), std::string(path).c_str(), 0, bytes); failure != 0) {
    return error(path, failure, "cannot read its size");
  }
  return bytes;
}

Result<void> DirectoryWriter::sync_directory(std::string_view path) {
  const std::string terminated(path.empty() ? "." : path);
  const UniqueFd fd(::openat(directory_.get(), terminated.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd || ::fsync(fd.get()) != 0) return error(path, errno, "cannot sync the directory to the disk");
  return {};
}

Result<UniqueFd> DirectoryWriter::reopen() const {
  UniqueFd fd(::openat(directory_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return error("", errno);
  return fd;
}

}  // namespace memstat
