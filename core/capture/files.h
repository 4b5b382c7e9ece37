// SPDX-License-Identifier: BSD-2-Clause
// Where a capture's files are: in a directory, or in memory (unpacked from an archive, or made by a test).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/buffer.h"
#include "core/base/result.h"
#include "core/base/unique_fd.h"

namespace memstat {

/// What stands at a path of a capture. Links are seen, never followed: the reader of a capture follows them inside it.
enum class FileKind : std::uint8_t { kAbsent, kFile, kDirectory, kLink, kOther };

/// The files of one capture by their path in it: "000000/fs/proc/stat"; "" is the capture itself. Paths must be safe
/// (is_safe_relative_path). Lookups that succeed allocate nothing but what they return.
/// Errors: system_error and kData with the whole path for people. Thread safety: reads may run at once.
class CaptureFiles {
 public:
  CaptureFiles() = default;
  CaptureFiles(const CaptureFiles&) = delete;
  CaptureFiles& operator=(const CaptureFiles&) = delete;
  virtual ~CaptureFiles() = default;

  /// What people call this capture: the path of its directory or archive.
  [[nodiscard]] virtual const std::string& name() const = 0;
  virtual Result<FileKind> kind(std::string_view path) const = 0;
  virtual Result<void> read(std::string_view path, Buffer& out) const = 0;
  virtual Result<std::string> read_link(std::string_view path) const = 0;
  /// Sorted.
  virtual Result<void> list(std::string_view path, std::vector<std::string>& names) const = 0;

  /// `path` with the capture's name before it.
  [[nodiscard]] std::string full_name(std::string_view path) const;
};

/// The files of a directory; held by a descriptor, read when asked for. Polls in files of polls (poll_segments.h) are seen
/// as directories. Errors: system_error; kData for a damaged file of polls.
Result<std::unique_ptr<CaptureFiles>> open_directory_files(const std::string& directory);
/// The same of a directory that is open already; `name` is for people.
Result<std::unique_ptr<CaptureFiles>> open_directory_files(std::string name, UniqueFd directory);

/// Files held in memory. Filled by one thread, then handed over and only read.
class MemoryFiles final : public CaptureFiles {
 public:
  explicit MemoryFiles(std::string name);

  /// Each adds the directories above it. Errors: kData for a path that is not safe, that is taken, or that leads through a
  /// file or a link (an archive that does so is up to something). add_directory of a directory that is there does nothing.
  Result<void> add_file(std::string_view path, std::string bytes);
  Result<void> add_link(std::string_view path, std::string target);
  Result<void> add_directory(std::string_view path);

  [[nodiscard]] const std::string& name() const override { return name_; }
  Result<FileKind> kind(std::string_view path) const override;
  Result<void> read(std::string_view path, Buffer& out) const override;
  Result<std::string> read_link(std::string_view path) const override;
  Result<void> list(std::string_view path, std::vector<std::string>& names) const override;

 private:
  struct Node {
    FileKind kind = FileKind::kDirectory;
    std::string bytes;                  // a file's content, a link's target
    std::vector<std::string> children;  // a directory's names, in the order added
  };
  Result<void> add(std::string_view path, FileKind kind, std::string bytes);
  [[nodiscard]] const Node* find(std::string_view path) const;

  std::string name_;
  std::map<std::string, Node, std::less<>> nodes_;  // by whole path; the capture itself is ""
};

/// All of `from` in memory, for a process that is about to give up the right to read it. Errors: those of reading; kData
/// when it is more than `max_bytes`.
Result<std::unique_ptr<CaptureFiles>> load_into_memory(const CaptureFiles& from, std::uint64_t max_bytes);

/// Whether a link at `link_path` ("sys/kernel/slab/x", relative to the directory it must not leave) with this target stays
/// inside: not absolute, and never above the top on its way. Links on the way are not looked at.
bool link_stays_inside(std::string_view link_path, std::string_view target);

}  // namespace memstat
