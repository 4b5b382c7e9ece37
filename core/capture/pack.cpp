// SPDX-License-Identifier: BSD-2-Clause
// The writing half of archive.h.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "core/base/clock.h"
#include "core/base/fixed_path.h"
#include "core/base/unique_fd.h"
#include "core/capture/archive.h"
#include "core/capture/archive_error.h"
#include "core/capture/archive_stream.h"
#include "core/capture/tar.h"

namespace memstat {
namespace {

class ArchiveWriter {
 public:
  ArchiveWriter(const CaptureFiles& files, ArchiveSink& sink, std::string top, const std::function<bool()>& must_stop)
      : files_(files), sink_(sink), top_(std::move(top)), must_stop_(must_stop) {}

  Result<void> add_tree(const std::string& path, int depth) {
    std::vector<std::string> names;
    if (auto added = add_header(path, TarType::kDirectory); !added) return added;
    if (auto listed = files_.list(path, names); !listed) return listed;
    for (const std::string& name : names) {
      if (depth == 0 && name.ends_with(".tmp")) continue;
      const std::string inner = path.empty() ? name : path + "/" + name;
      const auto kind = files_.kind(inner);
      if (!kind) return kind.error();
      Result<void> added;
      if (*kind == FileKind::kDirectory) {
        if (depth > 64) return refused(files_.full_name(inner), "is nested more deeply than any directory of a kernel");
        added = add_tree(inner, depth + 1);
      } else if (*kind == FileKind::kFile) {
        added = add_file(inner);
      } else if (*kind == FileKind::kLink) {
        auto target = files_.read_link(inner);
        if (!target) return target.error();
        added = add_header(inner, TarType::kLink, 0, *std::move(target));
      } else {
        added = refused(files_.full_name(inner), "is neither a file nor a directory nor a symbolic link");
      }
      if (!added) return added;
    }
    return {};
  }

 private:
  Result<void> check_time(const std::string& path) const {
    if (!must_stop_ || !must_stop_()) return {};
    return system_error(files_.full_name(path), ETIMEDOUT, "there is no time to pack it");
  }

  Result<void> add_header(const std::string& path, TarType type, std::uint64_t size = 0, std::string target = {}) {
    if (auto checked = check_time(path); !checked) return checked;
    const TarMember member{
        .path = path.empty() ? top_ : top_ + "/" + path, .target = std::move(target), .type = type, .size = size};
    return sink_.write(tar_header(member, now_));
  }

  Result<void> add_file(const std::string& path) {
    if (auto read = files_.read(path, buffer_); !read) return read;
    if (auto added = add_header(path, TarType::kFile, buffer_.size()); !added) return added;
    constexpr std::size_t kPiece = std::size_t{1} << 20;  // no machine takes long to compress one
    for (std::string_view rest = buffer_.view(); !rest.empty(); rest.remove_prefix(std::min(kPiece, rest.size()))) {
      if (auto checked = check_time(path); !checked) return checked;
      if (auto written = sink_.write(rest.substr(0, kPiece)); !written) return written;
    }
    return sink_.write(std::string(tar_padding(buffer_.size()), '\0'));
  }

  const CaptureFiles& files_;
  ArchiveSink& sink_;
  const std::string top_;
  const std::function<bool()>& must_stop_;
  const std::uint64_t now_ =
      static_cast<std::uint64_t>(std::max<std::int64_t>(0, system_clock().realtime_ns() / 1'000'000'000));
  Buffer buffer_;
};

Result<void> write_archive(const CaptureFiles& files, const std::string& archive_path, bool compressed, int fd,
                           const std::function<bool()>& must_stop) {
  const auto manifest = files.kind("manifest.yaml");
  if (!manifest) return manifest.error();
  if (*manifest != FileKind::kFile) return refused(files.name(), "is not a capture: it has no manifest.yaml");
  const auto sink = open_archive_sink(archive_path, fd, compressed);
  if (!sink) return sink.error();
  std::string top = archive_path.substr(archive_path.rfind('/') + 1);
  top.resize(top.find(".tar"));
  if (!is_safe_component(top)) top = "capture";
  if (auto added = ArchiveWriter(files, **sink, top, must_stop).add_tree("", 0); !added) return added;
  if (auto ended = (*sink)->write(std::string(2 * kTarBlock, '\0')); !ended) return ended;
  return (*sink)->finish();
}

}  // namespace

Result<void> pack_capture(const CaptureFiles& files, const std::string& archive_path, int fd,
                          const std::function<bool()>& must_stop) {
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
  return written ? check_name(archive_path, fd) : written;
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
