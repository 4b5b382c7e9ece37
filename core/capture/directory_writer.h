// SPDX-License-Identifier: BSD-2-Clause
// Writes files in one directory that is held by a descriptor, so that it goes on working when the path to the
// directory may no longer be walked (the directory itself must still be writable for the user that we became).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/base/unique_fd.h"

namespace memstat {

/// The owner of what is written: the account that we become before more is written. -1: as we are now.
/// Thread safety: a plain value.
struct DirectoryOwner {
  std::int64_t user = -1;
  std::int64_t group = -1;
};

/// All paths are relative and safe (is_safe_relative_path). Files are mode 0600, directories 0700, whatever the umask allows
/// less. Nothing existing is followed or overwritten: a file that is there is an error. Errors: system_error with the whole
/// path. Thread safety: none; one thread at a time.
class DirectoryWriter {
 public:
  /// Opens `directory`, making its last part when it is not there, and locks it: kIo when another process writes into it.
  /// One that we make is given to `owner`. One that exists must be a directory (not a symbolic link to one) that belongs to
  /// `owner` already, for what we did not make is never given away: kPermission.
  static Result<DirectoryWriter> open(const std::string& directory, const DirectoryOwner& owner = {});

  [[nodiscard]] const std::string& name() const { return name_; }
  /// `durable`: waits until the bytes are on the disk. `owner`: whose the file is from its first byte on.
  Result<void> write_file(std::string_view path, std::string_view bytes, bool durable, const DirectoryOwner& owner = {});
  /// The same without content, left open for writing.
  Result<UniqueFd> create_file(std::string_view path, const DirectoryOwner& owner = {});
  /// Replaces what is at `to`, if that is a file.
  Result<void> rename(std::string_view from, std::string_view to);
  /// The names in the directory itself.
  Result<void> list(std::vector<std::string>& names) const;
  /// Removes a file, or a directory with all in it. Not being there is success.
  Result<void> remove_tree(std::string_view path);
  /// Bytes on the disk that the tree takes, counted as disk_bytes does; 0 when it is not there.
  Result<std::uint64_t> measure(std::string_view path) const;
  /// Waits until the directory's entries are on the disk; "" is the directory itself.
  Result<void> sync_directory(std::string_view path);
  /// A descriptor of the directory, for reading what is in it.
  [[nodiscard]] Result<UniqueFd> reopen() const;

 private:
  DirectoryWriter(std::string name, UniqueFd directory) : name_(std::move(name)), directory_(std::move(directory)) {}
  [[nodiscard]] Error error(std::string_view path, int system_errno, std::string_view detail = {}) const;

  std::string name_;
  UniqueFd directory_;
};

/// What a file of N bytes takes on the disk, about: whole blocks of 4 KiB, at least one.
constexpr std::uint64_t disk_bytes(std::uint64_t size) { return size == 0 ? 4096 : (size + 4095) / 4096 * 4096; }

}  // namespace memstat
