// SPDX-License-Identifier: BSD-2-Clause
// The files of a capture: in a directory, or in memory (unpacked from an archive, or made by a test).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/buffer.h"
#include "core/base/mutex.h"
#include "core/base/not_copyable.h"
#include "core/base/result.h"
#include "core/base/unique_fd.h"

namespace memstat {

/// The kind of a capture's file. Links are reported, not followed: the capture's reader follows them inside the capture.
enum class FileKind : std::uint8_t { kAbsent, kFile, kDirectory, kLink, kOther };

/// The files of one capture by relative path: "000000/fs/proc/stat"; "" is the capture itself. Paths must be safe
/// (is_safe_relative_path). Successful lookups allocate only what they return. Errors: system_error and kData with the full
/// path. Thread safety: concurrent reads are safe.
class CaptureFiles : public Interface {
 public:
  /// The capture's name in messages: the path of its directory or archive.
  [[nodiscard]] virtual const std::string& name() const = 0;
  virtual Result<FileKind> kind(std::string_view path) const = 0;
  virtual Result<void> read(std::string_view path, Buffer& out) const = 0;
  virtual Result<std::string> read_link(std::string_view path) const = 0;
  /// Sorted.
  virtual Result<void> list(std::string_view path, std::vector<std::string>& names) const = 0;
  /// Damaged parts that are left out, for display.
  [[nodiscard]] virtual std::vector<std::string> notes() const { return {}; }

  /// `path` prefixed with the capture's name.
  [[nodiscard]] std::string full_name(std::string_view path) const;
};

/// The files of a directory, which is held open by a descriptor. Files are read on demand. Polls in segments
/// (poll_segments.h) appear as directories. Errors: system_error; kData for a damaged segment.
Result<std::unique_ptr<CaptureFiles>> open_directory_files(const std::string& directory);
/// The same for an open directory; `name` is used in messages.
Result<std::unique_ptr<CaptureFiles>> open_directory_files(std::string name, UniqueFd directory);

/// Files held in memory. One thread fills it and hands it over; afterwards it is only read.
class MemoryFiles final : public CaptureFiles {
 public:
  /// `max_bytes`: of content and names, with what the nodes take.
  explicit MemoryFiles(std::string name, std::uint64_t max_bytes = UINT64_MAX);

  /// Each call creates the parent directories. Errors: kData if the path is unsafe, exists already, or leads through a file
  /// or a link, which only a malicious archive contains; or if the files then exceed `max_bytes`. Adding an existing
  /// directory does nothing.
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
    std::string bytes;                  // content of a file, target of a link
    std::vector<std::string> children;  // entries of a directory, in insertion order
  };
  Result<void> add(std::string_view path, FileKind kind, std::string bytes);
  [[nodiscard]] const Node* find(std::string_view path) const;

  Result<void> count(std::uint64_t bytes, std::string_view path);

  std::string name_;
  std::uint64_t bytes_left_;
  std::map<std::string, Node, std::less<>> nodes_;  // by full path; the capture itself is ""
};

/// Files whose polls are unpacked when they are read. The last ones are kept: reads of the one before may still be running.
class PackedFiles : public CaptureFiles {
 public:
  Result<FileKind> kind(std::string_view path) const override;
  Result<void> read(std::string_view path, Buffer& out) const override;
  Result<std::string> read_link(std::string_view path) const override;
  Result<void> list(std::string_view path, std::vector<std::string>& names) const override;

 protected:
  using Files = std::shared_ptr<const CaptureFiles>;

  [[nodiscard]] virtual bool is_packed(std::string_view poll) const = 0;
  virtual Result<Files> unpack(std::string_view poll) const MEMSTAT_REQUIRES(mutex_) = 0;

  Files index_;   // the files in packed polls for which is_in_index() is true
  Files others_;  // the files that are in no packed poll
  std::size_t kept_polls_ = 2;
  mutable Mutex mutex_;

 private:
  struct Loaded {
    std::string poll;
    Result<Files> files = Files();
  };
  Result<Files> files_of(std::string_view path, bool is_listed) const;
  Result<Files> load(std::string_view poll) const;

  mutable std::vector<Loaded> loaded_ MEMSTAT_GUARDED_BY(mutex_);  // most recently used first
};

/// Maximum size of the file at this path of a capture, in bytes. The files that describe a capture are read as a whole when
/// it is opened, so their limits are low: manifest.yaml 1 MiB, poll.yaml 64 KiB, errors.yaml 4 MiB.
std::uint64_t max_file_bytes(std::string_view path);

/// Whether a replay needs this file of every poll at the start: poll.yaml and errors.yaml. Other files are read when their
/// poll is selected.
bool is_in_index(std::string_view path);

/// The path without its first component; nothing if it has only one.
std::optional<std::string_view> below_top(std::string_view path);

/// Adds a link of a poll, which must be in its `fs` and stay inside it. Otherwise the error names the file as `shown`.
Result<void> add_poll_link(MemoryFiles& files, std::string_view path, const std::string& target, const std::string& shown);

inline constexpr std::string_view kManifestName = "manifest.yaml";

/// Whether these are the files of a capture. Errors: kNotPresent without a manifest; kData if it is not a file.
Result<void> require_manifest(const CaptureFiles& files);

/// Reads the manifest and the polls of `from` into memory, for a process about to lose the right to read them. Errors: those
/// of require_manifest and of reading; kData if they exceed `max_bytes`.
Result<std::unique_ptr<CaptureFiles>> load_into_memory(const CaptureFiles& from, std::uint64_t max_bytes);

/// Copies a poll's directory, or one file of it, into memory; a missing one is left out. Errors: those of reading; kData.
Result<void> copy_poll(const CaptureFiles& from, const std::string& path, MemoryFiles& to);

/// Whether the target of a link at `link_path` ("sys/kernel/slab/x", relative to the enclosing directory) stays inside that
/// directory: not absolute, and never above the top. Does not consider links on the way.
bool link_stays_inside(std::string_view link_path, std::string_view target);

}  // namespace memstat
