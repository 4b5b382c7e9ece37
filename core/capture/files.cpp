// SPDX-License-Identifier: BSD-2-Clause
#include "core/capture/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <new>
#include <utility>

#include "core/base/fixed_path.h"
#include "core/capture/archive_error.h"
#include "core/capture/packed_sysctls.h"
#include "core/capture/poll_segments.h"
#include "core/capture/replay_view.h"
#include "core/kernel/open_directory.h"
#include "core/kernel/read_all.h"

namespace memstat {
namespace {

constexpr std::uint64_t kMaxPollBytes = 1ULL << 30;

class DirectoryFiles final : public CaptureFiles {
 public:
  DirectoryFiles(std::string name, UniqueFd directory) : name_(std::move(name)), directory_(std::move(directory)) {}

  [[nodiscard]] const std::string& name() const override { return name_; }

  Result<FileKind> kind(std::string_view path) const override {
    if (path.empty()) return FileKind::kDirectory;
    FixedPath terminated;
    if (!terminated.assign(path)) return system_error(full_name(path.substr(0, 200)), ENAMETOOLONG);
    struct stat status {};
    if (::fstatat(directory_.get(), terminated.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
      if (errno == ENOENT || errno == ENOTDIR) return FileKind::kAbsent;
      return system_error(full_name(path), errno);
    }
    if (S_ISREG(status.st_mode)) return FileKind::kFile;
    if (S_ISDIR(status.st_mode)) return FileKind::kDirectory;
    return S_ISLNK(status.st_mode) ? FileKind::kLink : FileKind::kOther;
  }

  Result<void> read(std::string_view path, Buffer& out) const override {
    const auto fd = open(path, O_NONBLOCK);  // in case it was replaced by a pipe
    if (!fd) return fd.error();
    const int raw_fd = fd->get();
    // Reserve the whole size and one byte more, which detects the end. Growing step by step would copy a stream of 500 MiB
    // twice.
    const ReadLimits limits{.max_bytes = static_cast<std::size_t>(max_file_bytes(path))};
    struct stat status {};
    if (::fstat(raw_fd, &status) == 0 && status.st_size > 0) {
      if (static_cast<std::uint64_t>(status.st_size) > limits.max_bytes) return oversized(full_name(path), limits.max_bytes);
      try {
        out.reserve(static_cast<std::size_t>(status.st_size) + 1);
      } catch (const std::bad_alloc&) {  // read_all reports it, unless the file is now shorter
      }
    }
    auto result =
        read_all(path, out, limits, [raw_fd](char* to, std::size_t room) -> long { return ::read(raw_fd, to, room); });
    if (!result) result.error().path = full_name(path);
    return result;
  }

  Result<std::string> read_link(std::string_view path) const override {
    FixedPath terminated;
    if (!terminated.assign(path)) return system_error(full_name(path.substr(0, 200)), ENAMETOOLONG);
    std::array<char, FixedPath::kCapacity> target;
    const ssize_t length = ::readlinkat(directory_.get(), terminated.c_str(), target.data(), target.size());
    if (length < 0) return system_error(full_name(path), errno);
    return std::string(target.data(), static_cast<std::size_t>(length));
  }

  Result<void> list(std::string_view path, std::vector<std::string>& names) const override {
    names.clear();
    auto fd = open(path.empty() ? "." : path, O_DIRECTORY);
    if (!fd) return fd.error();
    const OpenDirectory stream = open_directory(*fd);
    if (!stream) return system_error(full_name(path), errno);
    if (const int failure = read_names(stream.get(), names); failure != 0) return system_error(full_name(path), failure);
    std::sort(names.begin(), names.end());
    return {};
  }

 private:
  Result<UniqueFd> open(std::string_view path, int more_flags) const {
    FixedPath terminated;
    if (!terminated.assign(path)) return system_error(full_name(path.substr(0, 200)), ENAMETOOLONG);
    UniqueFd fd(::openat(directory_.get(), terminated.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | more_flags));
    if (!fd) return system_error(full_name(path), errno);
    return fd;
  }

  std::string name_;
  UniqueFd directory_;
};

Result<void> copy_tree(const CaptureFiles& from, const std::string& path, std::uint64_t& bytes_left, MemoryFiles& to) {
  const auto kind = from.kind(path);
  if (!kind) return kind.error();
  switch (*kind) {
    case FileKind::kFile: {
      Buffer bytes;
      if (auto result = from.read(path, bytes); !result) return result;
      if (bytes.size() > bytes_left) {
        return data_error(from.full_name(path), 0,
                          "the capture is too large to hold in memory; "
                          "raise the limit with --replay-max, or replay it as a user who may read it");
      }
      bytes_left -= bytes.size();
      return add_poll_file(to, path, std::string(bytes.view()));
    }
    case FileKind::kLink: {
      auto target = from.read_link(path);
      return target ? to.add_link(path, *std::move(target)) : Result<void>(target.error());
    }
    case FileKind::kDirectory: {
      std::vector<std::string> names;
      if (auto result = from.list(path, names); !result) return result;
      if (!path.empty()) {
        if (auto result = to.add_directory(path); !result) return result;
      }
      for (const std::string& name : names) {
        if (auto result = copy_tree(from, path.empty() ? name : path + "/" + name, bytes_left, to); !result) return result;
      }
      return {};
    }
    case FileKind::kAbsent:
    case FileKind::kOther: return {};  // not part of a capture
  }
  return {};
}

}  // namespace

Result<void> copy_poll(const CaptureFiles& from, const std::string& path, MemoryFiles& to) {
  std::uint64_t bytes_left = kMaxPollBytes;
  return copy_tree(from, path, bytes_left, to);
}

std::string CaptureFiles::full_name(std::string_view path) const {
  return path.empty() ? name() : name() + "/" + std::string(path);
}

Result<std::unique_ptr<CaptureFiles>> open_directory_files(const std::string& directory) {
  UniqueFd fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return system_error(directory, errno, "cannot open the capture's directory");
  return open_directory_files(directory, std::move(fd));
}

Result<std::unique_ptr<CaptureFiles>> open_directory_files(std::string name, UniqueFd directory) {
  const int fd = directory.get();
  return with_segments(std::make_unique<DirectoryFiles>(std::move(name), std::move(directory)), fd);
}

MemoryFiles::MemoryFiles(std::string name, std::uint64_t max_bytes) : name_(std::move(name)), bytes_left_(max_bytes) {
  nodes_.emplace("", Node{});
}

Result<void> MemoryFiles::add_file(std::string_view path, std::string bytes) {
  return add(path, FileKind::kFile, std::move(bytes));
}
Result<void> MemoryFiles::add_link(std::string_view path, std::string target) {
  return add(path, FileKind::kLink, std::move(target));
}
Result<void> MemoryFiles::add_directory(std::string_view path) { return add(path, FileKind::kDirectory, {}); }

Result<void> MemoryFiles::count(std::uint64_t bytes, std::string_view path) {
  if (bytes > bytes_left_)
    return data_error(full_name(path.substr(0, 200)), 0,
                      "the names and files of the capture need more memory than it may take; "
                      "if you trust it, raise the limit in the environment: MEMSTAT_CAPTURE_MAX=4GiB");
  bytes_left_ -= bytes;
  return {};
}

Result<void> MemoryFiles::add(std::string_view path, FileKind kind, std::string bytes) {
  constexpr std::uint64_t kNodeBytes = sizeof(Node) + 2 * sizeof(std::string) + 64;  // in the map, and in its parent
  if (auto counted = count(bytes.size(), path); !counted) return counted;
  const auto refuse = [&](std::string_view what) { return make_error(ErrorCode::kData, full_name(path), what); };
  if (!is_safe_relative_path(path))
    return refuse("a name that is absolute, empty or has empty, \".\" or \"..\" parts is refused");
  Node* parent = &nodes_.find("")->second;
  for (std::size_t end = path.find('/');; end = path.find('/', end + 1)) {
    const std::string_view here = path.substr(0, end);
    const bool is_last = end == std::string_view::npos;
    auto found = nodes_.find(here);
    if (found != nodes_.end() && (is_last ? kind != FileKind::kDirectory : false)) return refuse("appears twice");
    if (found != nodes_.end() && found->second.kind != FileKind::kDirectory)
      return refuse("has a parent that is not a directory");
    if (found == nodes_.end()) {
      if (auto counted = count(kNodeBytes + 2 * here.size(), path); !counted) return counted;
      found = nodes_.emplace(std::string(here), Node{}).first;
      parent->children.emplace_back(here.substr(here.rfind('/') + 1));  // npos + 1 is 0: the whole path
      if (is_last) {
        found->second.kind = kind;
        found->second.bytes = std::move(bytes);  // NOLINT(bugprone-use-after-move): the loop ends with this round
      }
    }
    if (is_last) return {};
    parent = &found->second;
  }
}

const MemoryFiles::Node* MemoryFiles::find(std::string_view path) const {
  const auto found = nodes_.find(path);
  return found == nodes_.end() ? nullptr : &found->second;
}

Result<FileKind> MemoryFiles::kind(std::string_view path) const {
  const Node* node = find(path);
  return node == nullptr ? FileKind::kAbsent : node->kind;
}

Result<void> MemoryFiles::read(std::string_view path, Buffer& out) const {
  const Node* node = find(path);
  if (node == nullptr) return system_error(full_name(path), ENOENT);
  if (node->kind != FileKind::kFile)
    return system_error(full_name(path), node->kind == FileKind::kDirectory ? EISDIR : ELOOP);
  out.assign(node->bytes);
  return {};
}

Result<std::string> MemoryFiles::read_link(std::string_view path) const {
  const Node* node = find(path);
  if (node == nullptr) return system_error(full_name(path), ENOENT);
  if (node->kind != FileKind::kLink) return system_error(full_name(path), EINVAL);
  return node->bytes;
}

Result<void> MemoryFiles::list(std::string_view path, std::vector<std::string>& names) const {
  names.clear();
  const Node* node = find(path);
  if (node == nullptr) return system_error(full_name(path), ENOENT);
  if (node->kind != FileKind::kDirectory) return system_error(full_name(path), ENOTDIR);
  names = node->children;
  std::sort(names.begin(), names.end());
  return {};
}

std::optional<std::string_view> below_top(std::string_view path) {
  const std::size_t slash = path.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  return path.substr(slash + 1);
}

std::uint64_t max_file_bytes(std::string_view path) {
  const std::string_view in_poll = below_top(path).value_or("");
  if (path == kManifestName) return 1U << 20U;
  if (in_poll == "poll.yaml") return 64U << 10U;
  if (in_poll == "errors.yaml") return 4U << 20U;
  return kMaxPollBytes;
}

bool is_in_index(std::string_view path) {
  const auto in_poll = below_top(path);
  return !in_poll || *in_poll == "poll.yaml" || *in_poll == "errors.yaml";
}

Result<void> add_poll_link(MemoryFiles& files, std::string_view path, const std::string& target, const std::string& shown) {
  constexpr std::string_view kTree = "fs/";
  const std::string_view in_poll = below_top(path).value_or("");
  if (in_poll.starts_with(kTree) && link_stays_inside(in_poll.substr(kTree.size()), target)) {
    return files.add_link(path, target);
  }
  return refused(shown, "a link that leaves the capture is refused; it points to \"" + target + "\"");
}

Result<PackedFiles::Files> PackedFiles::files_of(std::string_view path, bool is_listed) const {
  const std::string_view poll = path.substr(0, path.find('/'));
  if (!is_packed(poll)) return others_;
  return is_in_index(path) && !(is_listed && path == poll) ? index_ : load(poll);
}

Result<PackedFiles::Files> PackedFiles::load(std::string_view poll) const {
  const MutexLock lock(mutex_);
  const auto found = std::find_if(loaded_.begin(), loaded_.end(), [&](const Loaded& one) { return one.poll == poll; });
  if (found != loaded_.end()) {
    std::rotate(loaded_.begin(), found, found + 1);
    return loaded_.front().files;
  }
  if (loaded_.size() >= kept_polls_) loaded_.resize(kept_polls_ - 1);
  auto files = unpack(poll);
  loaded_.insert(loaded_.begin(), {.poll = std::string(poll), .files = std::move(files)});
  return loaded_.front().files;
}

Result<FileKind> PackedFiles::kind(std::string_view path) const {
  const auto files = files_of(path, false);
  return files ? (*files)->kind(path) : Result<FileKind>(files.error());
}

Result<void> PackedFiles::read(std::string_view path, Buffer& out) const {
  const auto files = files_of(path, false);
  return files ? (*files)->read(path, out) : Result<void>(files.error());
}

Result<std::string> PackedFiles::read_link(std::string_view path) const {
  const auto files = files_of(path, false);
  return files ? (*files)->read_link(path) : Result<std::string>(files.error());
}

Result<void> PackedFiles::list(std::string_view path, std::vector<std::string>& names) const {
  const auto files = files_of(path, true);
  return files ? (*files)->list(path, names) : Result<void>(files.error());
}

bool link_stays_inside(std::string_view link_path, std::string_view target) {
  if (target.empty() || target.front() == '/' || target.find('\0') != std::string_view::npos) return false;
  std::size_t depth = static_cast<std::size_t>(std::count(link_path.begin(), link_path.end(), '/'));
  while (true) {
    const std::size_t slash = target.find('/');
    const std::string_view part = target.substr(0, slash);
    if (part == "..") {
      if (depth == 0) return false;
      --depth;
    } else if (!part.empty() && part != ".") {
      ++depth;
    }
    if (slash == std::string_view::npos) return true;
    target.remove_prefix(slash + 1);
  }
}

Result<std::unique_ptr<CaptureFiles>> load_into_memory(const CaptureFiles& from, std::uint64_t max_bytes) {
  if (auto found = require_manifest(from); !found) return found.error();
  auto memory = std::make_unique<MemoryFiles>(from.name(), max_bytes);
  std::vector<std::string> names;
  if (auto listed = from.list("", names); !listed) return listed.error();
  std::erase_if(names, [](const std::string& name) { return name != kManifestName && !is_poll_directory(name); });
  for (const std::string& name : names) {
    if (auto copied = copy_tree(from, name, max_bytes, *memory); !copied) return copied.error();
  }
  return std::unique_ptr<CaptureFiles>(std::move(memory));
}

Result<void> require_manifest(const CaptureFiles& files) {
  const auto kind = files.kind(kManifestName);
  if (!kind) return kind.error();
  if (*kind == FileKind::kFile) return {};
  return make_error(*kind == FileKind::kAbsent ? ErrorCode::kNotPresent : ErrorCode::kData, files.name(),
                    "this is not a capture: it has no manifest.yaml");
}

}  // namespace memstat
