// SPDX-License-Identifier: BSD-2-Clause
// The other half of archive.h: writing archives.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <ctime>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/clock.h"
#include "core/base/fixed_path.h"
#include "core/base/unique_fd.h"
#include "core/capture/archive.h"
#include "core/capture/archive_error.h"

#if defined(MEMSTAT_HAVE_LIBARCHIVE)
#include <archive.h>
#include <archive_entry.h>
#endif

namespace memstat {
namespace {

#if defined(MEMSTAT_HAVE_LIBARCHIVE)

struct FreeWriter {
  void operator()(archive* writer) const { ::archive_write_free(writer); }
};
struct FreeEntry {
  void operator()(archive_entry* entry) const { ::archive_entry_free(entry); }
};
using Writer = std::unique_ptr<archive, FreeWriter>;
using Entry = std::unique_ptr<archive_entry, FreeEntry>;

/// Writes one tree of files into an archive.
class ArchiveWriter {
 public:
  ArchiveWriter(const CaptureFiles& files, archive* writer, std::string top, const std::function<bool()>& must_stop)
      : files_(files),
        writer_(writer),
        top_(std::move(top)),
        must_stop_(must_stop),
        now_(static_cast<std::time_t>(system_clock().realtime_ns() / 1'000'000'000)) {}

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
      if (*kind == FileKind::kDirectory) {
        if (depth > 64) return refused(files_.full_name(inner), "directories nested deeper than a kernel's");
        added = add_tree(inner, depth + 1);
      } else if (*kind == FileKind::kFile) {
        added = add_file(inner);
      } else if (*kind == FileKind::kLink) {
        const auto target = files_.read_link(inner);
        if (!target) return target.error();
        added = add_header(inner, AE_IFLNK, 0777, 0, *target);
      } else {
        added = refused(files_.full_name(inner), "is neither a file nor a directory nor a symbolic link");
      }
      if (!added) return added;
    }
    return {};
  }

 private:
  Result<void> add_header(const std::string& path, unsigned type, int mode, std::size_t size, const std::string& target) {
    if (must_stop_ && must_stop_()) return system_error(files_.full_name(path), ETIMEDOUT, "there is no time to pack it");
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
                        "cannot pack it: " + archive_error(writer_));
  }

  const CaptureFiles& files_;
  archive* writer_;
  std::string top_;
  const std::function<bool()>& must_stop_;
  std::time_t now_;
  Buffer buffer_;
};

Result<void> write_archive(const CaptureFiles& files, const std::string& archive_path, bool compressed, int fd,
                           const std::function<bool()>& must_stop) {
  const auto manifest = files.kind("manifest.yaml");
  if (!manifest) return manifest.error();
  if (*manifest != FileKind::kFile) return refused(files.name(), "is not a capture: it has no manifest.yaml");
  const Writer writer(::archive_write_new());
  if (!writer) return system_error(archive_path, ENOMEM);
  const auto failed = [&] {
    const int system_errno = ::archive_errno(writer.get());
    return system_error(archive_path, system_errno > 0 ? system_errno : EIO,
                        "cannot write the archive: " + archive_error(writer.get()));
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
  if (auto added = ArchiveWriter(files, writer.get(), top, must_stop).add_tree("", 0); !added) return added;
  if (::archive_write_close(writer.get()) != ARCHIVE_OK) return failed();
  return {};
}

#endif

}  // namespace

Result<void> pack_capture(const CaptureFiles& files, const std::string& archive_path, int fd,
                          const std::function<bool()>& must_stop) {
#if defined(MEMSTAT_HAVE_LIBARCHIVE)
  const bool compressed = archive_path.ends_with(".tar.zst");
  if (!compressed && !archive_path.ends_with(".tar"))
    return refused(archive_path, "an archive's name must end in .tar or .tar.zst");
  Result<void> written;
  try {
    written = write_archive(files, archive_path, compressed, fd, must_stop);
  } catch (const std::bad_alloc&) {
    written = system_error(archive_path, ENOMEM);
  }
  if (written && ::fsync(fd) != 0 && errno != EINVAL)
    written = system_error(archive_path, errno, "cannot sync the archive to the disk");
  return written;
#else
  (void)files;
  (void)fd;
  (void)must_stop;
  Error error;
  error.code = ErrorCode::kNotPresent;
  error.path = archive_path;
  error.detail = "this build writes captures to directories only (it has no libarchive)";
  return error;
#endif
}

Result<void> pack_capture(const std::string& directory, const std::string& archive_path) {
  const auto files = open_directory_files(directory);
  if (!files) return files.error();
  const std::string unfinished = archive_path + ".tmp";
  if (::unlink(unfinished.c_str()) != 0 && errno != ENOENT)
    return system_error(unfinished, errno, "cannot remove the unfinished archive left there");
  const UniqueFd fd(::open(unfinished.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd) return system_error(unfinished, errno, "cannot write the archive");
  Result<void> written = pack_capture(**files, archive_path, fd.get());
  if (written && ::rename(unfinished.c_str(), archive_path.c_str()) != 0) written = system_error(archive_path, errno);
  if (!written) ::unlink(unfinished.c_str());
  return written;
}

}  // namespace memstat
