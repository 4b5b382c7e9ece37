// SPDX-License-Identifier: BSD-2-Clause
// Writes files in a directory that is held open by a descriptor, so that it keeps working when the path can no longer be
// traversed. The directory itself must still be writable for the user that we become.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/base/unique_fd.h"

namespace memstat {

/// The owner of written files: the account that the process changes to later. -1: the current one.
struct DirectoryOwner {
  std::int64_t user = -1;
  std::int64_t group = -1;
};

/// All paths are relative and safe (is_safe_relative_path). Files have mode 0600 and directories 0700, less what the umask
/// removes. Never follows or overwrites: an existing file is an error. Errors: system_error with the full path.
class DirectoryWriter {
 public:
  /// Opens and locks `directory`; kIo if another process writes into it. Creates its last component if missing and gives it
  /// to `owner`. An existing directory must not be a symbolic link and must already belong to `owner`, since we never give
  /// away what we did not create: kPermission.
  static Result<DirectoryWriter> open(const std::string& directory, const DirectoryOwner& owner = {});

  [[nodiscard]] const std::string& name() const { return name_; }
  /// `durable`: waits until the data is on disk. `owner`: owns the file from its first byte.
  Result<void> write_file(std::string_view path, std::string_view bytes, bool durable, const DirectoryOwner& owner = {});
  /// The same without content. Returns the file open for writing.
  Result<UniqueFd> create_file(std::string_view path, const DirectoryOwner& owner = {});
  /// Replaces `to` if it is a file.
  Result<void> rename(std::string_view from, std::string_view to);
  /// The names in the directory itself.
  Result<void> list(std::vector<std::string>& names) const;
  /// Removes a file, or a directory and its content. Succeeds if it does not exist.
  Result<void> remove_tree(std::string_view path);
  /// Disk space that the tree takes in bytes, as disk_bytes() counts it; 0 if it does not exist.
  Result<std::uint64_t> measure(std::string_view path) const;
  /// Waits until the directory's entries are on disk; "" is the directory itself.
  Result<void> sync_directory(std::string_view path);
  /// A descriptor of the directory, for reading its content.
  [[nodiscard]] Result<UniqueFd> reopen() const;

 private:
  DirectoryWriter(std::string name, UniqueFd directory) : name_(std::move(name)), directory_(std::move(directory)) {}
  [[nodiscard]] Error error(std::string_view path, int system_errno, std::string_view detail = {}) const;

  std::string name_;
  UniqueFd directory_;
};

/// Approximate disk space of a file of `size` bytes: whole blocks of 4 KiB, at least one.
constexpr std::uint64_t disk_bytes(std::uint64_t size) { return size == 0 ? 4096 : (size + 4095) / 4096 * 4096; }

}  // namespace memstat
