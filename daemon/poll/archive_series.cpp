// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/poll/archive_series.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <map>
#include <optional>
#include <vector>

#include "core/base/text.h"
#include "core/kernel/open_directory.h"

namespace memstat {
namespace {

/// The parts of a name: "rec" and ".tar.zst".
struct Parts {
  std::string_view stem;
  std::string_view ending;
};

Parts split(std::string_view name) {
  const std::size_t dot = name.rfind(".tar");
  return {name.substr(0, dot), name.substr(dot)};
}

std::string numbered(const Parts& parts, std::uint64_t number) {
  std::string name(parts.stem);
  if (number > 1) name += "-" + std::to_string(number);
  return name.append(parts.ending);
}

/// A file's number in the series; 1 for the name without a number.
std::optional<std::uint64_t> number_of(const Parts& parts, std::string_view name) {
  if (!name.starts_with(parts.stem) || !name.ends_with(parts.ending) ||
      name.size() < parts.stem.size() + parts.ending.size())
    return std::nullopt;
  std::string_view middle = name.substr(parts.stem.size(), name.size() - parts.stem.size() - parts.ending.size());
  if (middle.empty()) return 1;
  if (middle.front() != '-') return std::nullopt;
  middle.remove_prefix(1);
  if (middle.empty() || middle.front() == '0' || middle.size() > 9) return std::nullopt;
  const auto number = parse_u64(middle);
  return number && *number >= 2 ? number : std::nullopt;
}

bool is_ours(const struct stat& status, const SeriesOptions& options) {
  return status.st_uid == ::geteuid() || (options.owner >= 0 && status.st_uid == static_cast<uid_t>(options.owner));
}

/// Reuses an empty archive that no process has open.
std::optional<UniqueFd> take_empty(int parent, const std::string& name, const SeriesOptions& options) {
  struct stat status {};
  UniqueFd file(::openat(parent, name.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_size != 0 ||
      !is_ours(status, options) || status.st_nlink != 1 || ::flock(file.get(), LOCK_EX | LOCK_NB) != 0)
    return std::nullopt;
  if (::fchmod(file.get(), 0600) != 0) return std::nullopt;
  return file;
}

std::optional<UniqueFd> create(int parent, const std::string& name) {
  UniqueFd file(::openat(parent, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) return std::nullopt;
  const int locked = ::flock(file.get(), LOCK_EX | LOCK_NB);  // a file system without locks is accepted
  (void)locked;
  return file;
}

/// Removes the oldest archives until the limits are met.
void remove_old(int parent, const std::map<std::uint64_t, std::string>& archives, const SeriesOptions& options) {
  struct Archive {
    std::string name;
    std::uint64_t bytes;
    std::int64_t age_ns;
  };
  std::vector<Archive> ours;  // oldest first
  std::uint64_t total = 0;
  const auto now = static_cast<std::time_t>(options.clock.realtime_ns() / 1'000'000'000);
  for (const auto& [number, name] : archives) {
    struct stat status {};
    if (::fstatat(parent, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(status.st_mode) ||
        !is_ours(status, options) || status.st_size == 0)
      continue;
    ours.push_back({name, static_cast<std::uint64_t>(status.st_size), (now - status.st_mtime) * 1'000'000'000LL});
    total += ours.back().bytes;
  }
  for (const Archive& archive : ours) {
    const bool is_too_old = options.max_age_ns > 0 && archive.age_ns > options.max_age_ns;
    if (!is_too_old && (options.max_bytes == 0 || total <= options.max_bytes)) continue;
    if (::unlinkat(parent, archive.name.c_str(), 0) == 0) total -= archive.bytes;
  }
}

std::map<std::uint64_t, std::string> list(int parent, const Parts& parts) {
  std::map<std::uint64_t, std::string> archives;
  UniqueFd again(::openat(parent, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!again) return archives;
  const OpenDirectory directory = open_directory(again);
  if (directory == nullptr) return archives;
  while (const dirent* entry = ::readdir(directory.get())) {
    if (const auto number = number_of(parts, entry->d_name)) archives.emplace(*number, entry->d_name);
  }
  return archives;
}

Result<SeriesArchive> find_or_make(int parent, const std::string& path, const SeriesOptions& options) {
  const std::string name = path.substr(path.rfind('/') + 1);
  const Parts parts = split(name);
  std::map<std::uint64_t, std::string> archives;
  std::string wanted = name;
  if (options.may_number) {
    archives = list(parent, parts);
    remove_old(parent, archives, options);
    if (!archives.empty()) {
      const auto& [last, last_name] = *archives.rbegin();
      if (auto empty = take_empty(parent, last_name, options)) return SeriesArchive{last_name, *std::move(empty)};
      wanted = numbered(parts, last + 1);
    }
  } else if (auto empty = take_empty(parent, name, options)) {
    return SeriesArchive{name, *std::move(empty)};
  }
  auto file = create(parent, wanted);
  if (!file) {
    return system_error(path, errno, errno == EEXIST ? "a recording never overwrites a file; name another one" : "");
  }
  return SeriesArchive{wanted, *std::move(file)};
}

}  // namespace

Result<SeriesArchive> open_in_series(int parent, const std::string& path, const SeriesOptions& options) {
  auto archive = find_or_make(parent, path, options);
  if (!archive || options.owner < 0) return archive;
  if (::fchown(archive->file.get(), static_cast<uid_t>(options.owner), static_cast<gid_t>(options.group)) == 0)
    return archive;
  Error error = system_error(path, errno, "cannot give the archive to the account");
  ::unlinkat(parent, archive->name.c_str(), 0);
  return error;
}

}  // namespace memstat
