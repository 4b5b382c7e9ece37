// SPDX-License-Identifier: BSD-2-Clause
#include "core/kernel/capture_archive.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <ctime>
#include <new>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/kernel/fixed_path.h"
#include "core/kernel/unique_fd.h"

#if defined(MEMSTAT_HAVE_LIBARCHIVE)
#include <archive.h>
#include <archive_entry.h>
#endif

namespace memstat {
namespace {

Error refused(std::string_view path, const std::string& what) {
  Error error = data_error(path, 0, what);
  error.offset.reset();
  return error;
}

#if defined(MEMSTAT_HAVE_LIBARCHIVE)

struct FreeReader {
  void operator()(archive* reader) const { ::archive_read_free(reader); }
};
struct FreeWriter {
  void operator()(archive* writer) const { ::archive_write_free(writer); }
};
struct FreeEntry {
  void operator()(archive_entry* entry) const { ::archive_entry_free(entry); }
};
using Reader = std::unique_ptr<archive, FreeReader>;
using Writer = std::unique_ptr<archive, FreeWriter>;
using Entry = std::unique_ptr<archive_entry, FreeEntry>;

std::string said_by(archive* of) {
  const char* text = ::archive_error_string(of);
  return text == nullptr ? "unknown failure" : text;
}

struct Member {
  std::string path;
  FileKind kind = FileKind::kFile;
  std::string bytes;
};

/// The path without its first part; nothing when it has one part only.
std::optional<std::string_view> below_top(std::string_view path) {
  const std::size_t slash = path.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  return path.substr(slash + 1);
}

/// Whether a path relative to the capture is one that a replay may look at.
bool is_part_of_capture(std::string_view path) {
  return path == "manifest.yaml" || is_poll_folder(path.substr(0, path.find('/')));
}

/// A link may only stand in a poll's `fs`, and stay there.
bool is_good_link(std::string_view path, std::string_view target) {
  const auto in_poll = below_top(path);
  constexpr std::string_view kTree = "fs/";
  return in_poll && in_poll->substr(0, kTree.size()) == kTree && link_stays_inside(in_poll->substr(kTree.size()), target);
}

/// Reads all members that may matter.
class ArchiveReader {
 public:
  ArchiveReader(std::string name, const ArchiveLimits& limits) : name_(std::move(name)), limits_(limits) {}

  Result<std::vector<Member>> read(int fd) {
    reader_.reset(::archive_read_new());
    if (!reader_) return system_error(name_, ENOMEM);
    archive* reader = reader_.get();
    // Without zstd of its own libarchive would run a program, which it announces with a warning.
    if (::archive_read_support_filter_zstd(reader) != ARCHIVE_OK) {
      ::archive_clear_error(reader);
      reader_.reset(::archive_read_new());
      reader = reader_.get();
      if (reader == nullptr) return system_error(name_, ENOMEM);
    }
    ::archive_read_support_format_tar(reader);
    if (::archive_read_open_fd(reader, fd, 1U << 16U) != ARCHIVE_OK) return broken("is not a .tar or .tar.zst");
    std::vector<Member> members;
    std::uint64_t count = 0;
    while (true) {
      archive_entry* entry = nullptr;
      const int status = ::archive_read_next_header(reader, &entry);
      if (status == ARCHIVE_EOF) break;
      if (status != ARCHIVE_OK && status != ARCHIVE_WARN)
        return broken(count == 0 ? "is not a .tar or .tar.zst" : "is damaged");
      if (++count > limits_.members) return refused(name_, "has more than " + std::to_string(limits_.members) + " members");
      if (auto taken = take(entry, members); !taken) return taken.error();
    }
    // A tar ends with an empty block; libarchive takes the file's end for it as well.
    if (::archive_filter_bytes(reader, 0) <= ::archive_read_header_position(reader)) {
      return refused(name_, "is cut short: the archive's end mark is missing");
    }
    return members;
  }

 private:
  Error broken(const std::string& what) { return refused(name_, what + " (" + said_by(reader_.get()) + ")"); }
  [[nodiscard]] Error member_error(std::string_view path, const std::string& what) const {
    return refused(name_ + "/" + std::string(path), what);
  }

  Result<void> take(archive_entry* entry, std::vector<Member>& members) {
    const char* raw_path = ::archive_entry_pathname(entry);
    if (raw_path == nullptr) raw_path = ::archive_entry_pathname_utf8(entry);
    if (raw_path == nullptr) return refused(name_, "has a member whose name cannot be read");
    std::string_view path = raw_path;
    while (path.substr(0, 2) == "./") path.remove_prefix(2);
    const auto type = ::archive_entry_filetype(entry);
    if (type == AE_IFDIR) {
      if (!path.empty() && path.back() == '/') path.remove_suffix(1);
      if (path.empty() || path == ".") return {};
    }
    if (!is_safe_relative_path(path))
      return member_error(raw_path, "a name that is absolute or has empty, \".\" or \"..\" parts is refused");
    const auto inner = below_top(path);
    const bool matters = is_part_of_capture(path) || (inner && is_part_of_capture(*inner));
    Member member{.path = std::string(path), .kind = FileKind::kFile, .bytes = {}};
    if (::archive_entry_hardlink(entry) != nullptr) {
      if (matters) return member_error(path, "is a hard link; pack the capture from a folder without them");
      return {};
    }
    if (type == AE_IFLNK) {
      const char* target = ::archive_entry_symlink(entry);
      if (target == nullptr) return member_error(path, "is a link whose target cannot be read");
      member.kind = FileKind::kLink;
      member.bytes = target;
    } else if (type == AE_IFDIR) {
      member.kind = FileKind::kFolder;
    } else if (type == AE_IFREG) {
      if (auto read = read_content(entry, matters, member); !read) return read;
    } else if (matters) {
      return member_error(path, "is neither a file nor a folder nor a symbolic link");
    }
    if (matters) members.push_back(std::move(member));
    return {};
  }

  Result<void> read_content(archive_entry* entry, bool keep, Member& member) {
    const auto claimed = static_cast<std::uint64_t>(::archive_entry_size(entry));
    if (claimed > limits_.member_bytes) {
      return member_error(member.path,
                          "is larger than the " + std::to_string(limits_.member_bytes) + " bytes that one may be");
    }
    if (claimed > limits_.total_bytes - total_) {
      return member_error(member.path,
                          "is beyond the " + std::to_string(limits_.total_bytes) + " bytes that all may be together");
    }
    total_ += claimed;
    if (::archive_entry_sparse_count(entry) > 0)
      return member_error(member.path, "is sparse; pack the capture without --sparse");
    std::uint64_t size = 0;
    while (true) {
      const void* block = nullptr;
      std::size_t length = 0;
      la_int64_t offset = 0;
      const int status = ::archive_read_data_block(reader_.get(), &block, &length, &offset);
      if (status == ARCHIVE_EOF) break;
      if (status != ARCHIVE_OK) return member_error(member.path, "is damaged (" + said_by(reader_.get()) + ")");
      if (length == 0) continue;
      if (static_cast<std::uint64_t>(offset) != size || length > claimed - size) {
        return member_error(member.path, "does not hold the bytes that it claims to hold");
      }
      if (keep)
        member.bytes.append(static_cast<const char*>(block), length);  // grows with what came, not with what is claimed
      size += length;
    }
    if (size != claimed) return member_error(member.path, "is cut short");
    return {};
  }

  std::string name_;
  ArchiveLimits limits_;
  Reader reader_;
  std::uint64_t total_ = 0;  // at most limits_.total_bytes
};

/// The prefix of the capture's paths: "" or "top/".
Result<std::string> find_top(const std::string& name, const std::vector<Member>& members) {
  constexpr std::string_view kManifest = "manifest.yaml";
  std::vector<std::string> tops;
  for (const Member& member : members) {
    if (member.kind != FileKind::kFile) continue;
    if (member.path == kManifest) return std::string();
    const auto inner = below_top(member.path);
    if (inner && *inner == kManifest) tops.push_back(member.path.substr(0, member.path.size() - kManifest.size()));
  }
  if (tops.size() == 1) return tops.front();
  if (tops.empty())
    return refused(name, "is not a capture: it has no manifest.yaml, neither at its root nor in a top folder");
  return refused(name, "holds more than one capture, in " + tops[0] + " and " + tops[1] + "; pack each by itself");
}

Result<std::unique_ptr<CapturedKernelView>> open_archive(const std::string& path, int fd, const ArchiveLimits& limits) {
  auto members = ArchiveReader(path, limits).read(fd);
  if (!members) return members.error();
  const auto top = find_top(path, *members);
  if (!top) return top.error();
  auto files = std::make_unique<MemoryFiles>(path);
  for (Member& member : *members) {
    if (member.path.compare(0, top->size(), *top) != 0) continue;
    const std::string inner = member.path.substr(top->size());
    if (!is_part_of_capture(inner)) continue;
    Result<void> added;
    if (member.kind == FileKind::kFolder) {
      added = files->add_folder(inner);
    } else if (member.kind == FileKind::kFile) {
      added = files->add_file(inner, std::move(member.bytes));
    } else if (is_good_link(inner, member.bytes)) {
      added = files->add_link(inner, std::move(member.bytes));
    } else {
      return refused(path + "/" + member.path,
                     "a link that leaves the capture is refused; it points to \"" + member.bytes + "\"");
    }
    if (!added) return added.error();
  }
  return CapturedKernelView::open(std::move(files));
}

/// Writes one tree of files into an archive.
class ArchiveWriter {
 public:
  ArchiveWriter(const CaptureFiles& files, archive* writer, std::string top)
      : files_(files), writer_(writer), top_(std::move(top)), now_(std::time(nullptr)) {}

  Result<void> add_tree(const std::string& path, int depth) {
    std::vector<std::string> names;
    if (auto added = add_header(path, AE_IFDIR, 0700, 0, {}); !added) return added;
    if (auto listed = files_.list(path, names); !listed) return listed;
    for (const std::string& name : names) {
      if (depth == 0 && name.ends_with(".tmp")) continue;
      const std::string inner = path.empty() ? name : path + "/" + name;
      const auto kind = files_.kind(inner);
      if (!kind) return kind.error();
      Result<void> added;
      if (*kind == FileKind::kFolder) {
        if (depth > 64) return refused(files_.full_name(inner), "folders in folders, deeper than a kernel's");
        added = add_tree(inner, depth + 1);
      } else if (*kind == FileKind::kFile) {
        added = add_file(inner);
      } else if (*kind == FileKind::kLink) {
        const auto target = files_.read_link(inner);
        if (!target) return target.error();
        added = add_header(inner, AE_IFLNK, 0777, 0, *target);
      } else {
        added = refused(files_.full_name(inner), "is neither a file nor a folder nor a symbolic link");
      }
      if (!added) return added;
    }
    return {};
  }

 private:
  Result<void> add_header(const std::string& path, unsigned type, int mode, std::size_t size, const std::string& target) {
    const Entry entry(::archive_entry_new());
    if (!entry) return system_error(files_.full_name(path), ENOMEM);
    ::archive_entry_set_pathname(entry.get(), (path.empty() ? top_ : top_ + "/" + path).c_str());
    ::archive_entry_set_filetype(entry.get(), type);
    ::archive_entry_set_perm(entry.get(), static_cast<mode_t>(mode));
    ::archive_entry_set_size(entry.get(), static_cast<la_int64_t>(size));
    ::archive_entry_set_mtime(entry.get(), now_, 0);
    if (type == AE_IFLNK) ::archive_entry_set_symlink(entry.get(), target.c_str());
    if (::archive_write_header(writer_, entry.get()) < ARCHIVE_WARN) return failed(path);
    return {};
  }

  Result<void> add_file(const std::string& path) {
    if (auto read = files_.read(path, buffer_); !read) return read;
    if (auto added = add_header(path, AE_IFREG, 0600, buffer_.size(), {}); !added) return added;
    std::string_view rest = buffer_.view();
    while (!rest.empty()) {
      const la_ssize_t written = ::archive_write_data(writer_, rest.data(), rest.size());
      if (written <= 0) return failed(path);
      rest.remove_prefix(static_cast<std::size_t>(written));
    }
    return {};
  }

  [[nodiscard]] Error failed(const std::string& path) const {
    const int system_errno = ::archive_errno(writer_);
    return system_error(files_.full_name(path), system_errno > 0 ? system_errno : EIO,
                        "cannot pack it: " + said_by(writer_));
  }

  const CaptureFiles& files_;
  archive* writer_;
  std::string top_;
  std::time_t now_;
  Buffer buffer_;
};

Result<void> write_archive(const std::string& folder, const std::string& archive_path, bool compressed, int fd) {
  const auto files = open_folder_files(folder);
  if (!files) return files.error();
  const auto manifest = (*files)->kind("manifest.yaml");
  if (!manifest) return manifest.error();
  if (*manifest != FileKind::kFile) return refused(folder, "is not a capture: it has no manifest.yaml");
  const Writer writer(::archive_write_new());
  if (!writer) return system_error(archive_path, ENOMEM);
  const auto failed = [&] {
    const int system_errno = ::archive_errno(writer.get());
    return system_error(archive_path, system_errno > 0 ? system_errno : EIO,
                        "cannot write the archive: " + said_by(writer.get()));
  };
  // A warning says that libarchive would run a program for zstd.
  if (compressed && ::archive_write_add_filter_zstd(writer.get()) != ARCHIVE_OK) {
    return refused(archive_path, "this machine's libarchive has no zstd; use the ending .tar");
  }
  if (::archive_write_set_format_pax_restricted(writer.get()) != ARCHIVE_OK) return failed();
  if (::archive_write_open_fd(writer.get(), fd) != ARCHIVE_OK) return failed();
  std::string top = archive_path.substr(archive_path.rfind('/') + 1);
  top.resize(top.find(".tar"));
  if (!is_safe_component(top)) top = "capture";
  if (auto added = ArchiveWriter(**files, writer.get(), top).add_tree("", 0); !added) return added;
  if (::archive_write_close(writer.get()) != ARCHIVE_OK) return failed();
  return {};
}

#endif

}  // namespace

Result<std::unique_ptr<CapturedKernelView>> open_capture(const std::string& path, const ArchiveLimits& limits) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));  // a pipe must not hang us
  if (!fd) return system_error(path, errno, "cannot open the capture");
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) return system_error(path, errno);
  if (S_ISDIR(status.st_mode)) return open_capture_folder(path);
  if (!S_ISREG(status.st_mode)) return refused(path, "is neither a folder nor a file");
#if defined(MEMSTAT_HAVE_LIBARCHIVE)
  try {
    return open_archive(path, fd.get(), limits);
  } catch (const std::bad_alloc&) {
    return no_memory_error(path, "no memory to unpack the archive");
  }
#else
  (void)limits;
  Error error;
  error.code = ErrorCode::kNotPresent;
  error.path = path;
  error.detail = "this build reads captures from folders only (it has no libarchive); unpack it first: tar -xf";
  return error;
#endif
}

Result<void> pack_capture(const std::string& folder, const std::string& archive_path) {
#if defined(MEMSTAT_HAVE_LIBARCHIVE)
  const bool compressed = archive_path.ends_with(".tar.zst");
  if (!compressed && !archive_path.ends_with(".tar"))
    return refused(archive_path, "an archive's name must end in .tar or .tar.zst");
  const std::string unfinished = archive_path + ".tmp";
  if (::unlink(unfinished.c_str()) != 0 && errno != ENOENT)
    return system_error(unfinished, errno, "cannot remove what was left there");
  const UniqueFd fd(::open(unfinished.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd) return system_error(unfinished, errno, "cannot write the archive");
  Result<void> written;
  try {
    written = write_archive(folder, archive_path, compressed, fd.get());
  } catch (const std::bad_alloc&) {
    written = system_error(archive_path, ENOMEM);
  }
  if (written && ::fsync(fd.get()) != 0) written = system_error(unfinished, errno, "cannot bring the archive to the disk");
  if (written && ::rename(unfinished.c_str(), archive_path.c_str()) != 0) written = system_error(archive_path, errno);
  if (!written) ::unlink(unfinished.c_str());
  return written;
#else
  (void)folder;
  Error error;
  error.code = ErrorCode::kNotPresent;
  error.path = archive_path;
  error.detail = "this build writes captures to folders only (it has no libarchive)";
  return error;
#endif
}

}  // namespace memstat
