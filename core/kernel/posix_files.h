// SPDX-License-Identifier: BSD-2-Clause
// Files, links and directories of this machine by POSIX calls: what the live views of all systems share.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/buffer.h"
#include "core/base/result.h"
#include "core/base/unique_fd.h"

namespace memstat {

/// How a kernel file wants to be read; see read_all.h.
enum class ReadManner {
  kToTheEnd,  ///< read after read until one gives nothing
  kToAShort,  ///< the same, or until one gives less than half a page
  kInOne,     ///< one read that holds everything, from offset 0
};

/// Reads files by path, from a kept descriptor where there is one.
///
/// A kept file that cannot be read at an offset (numbers of debugfs, a FIFO) gives its content only once to a descriptor. So
/// its directory is kept instead, and the file is opened in it at every read, which needs no right to the directories above:
/// debugfs itself is root's, its files are readable by anyone.
///
/// Kept files leave a quarter of the descriptors that the process may have, at most 256, to its connections and to what it
/// opens for a moment. Thread safety: keep_open and close_kept_after only before the first read; then the set of kept files
/// is fixed and reads take no lock. Reads may run at once, of the same kept path as well: no read moves a file offset that
/// another one sees.
class PosixFiles {
 public:
  /// Errors: system_error, which says what to do when there may be no more open files; kIo for a path that is too long or
  /// holds a NUL. A second call for a path does nothing.
  Result<void> keep_open(std::string_view path);
  [[nodiscard]] std::size_t kept_count() const { return kept_.size(); }
  /// Closes what was kept after the first `count` files.
  void close_kept_after(std::size_t count);
  /// Allocates nothing in the steady state. Errors: system_error, kData beyond 1 GiB, kNoMemory.
  Result<void> read_file(std::string_view path, Buffer& out, ReadManner manner);
  /// Whether the file is kept open or can be opened now. Allocates nothing.
  [[nodiscard]] bool may_read(std::string_view path) const;
  Result<std::string> read_link(std::string_view path);
  /// Sorted, without "." and "..".
  Result<void> list_directory(std::string_view path, std::vector<std::string>& names);

 private:
  /// Lets a path be looked up without a copy of it.
  struct PathHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view path) const noexcept { return std::hash<std::string_view>{}(path); }
  };
  /// One of the two is open.
  struct Kept {
    std::size_t number = 0;  ///< how many were kept before it
    UniqueFd file;
    UniqueFd directory;  ///< Of a file that cannot be read at an offset.
  };
  static Result<UniqueFd> open_again(std::string_view path, int directory);

  std::unordered_map<std::string, Kept, PathHash, std::equal_to<>> kept_;  // thousands, when a source has many files
};

}  // namespace memstat
