// SPDX-License-Identifier: BSD-2-Clause
// Files, links and directories of this machine through POSIX calls, shared by the live views of all operating systems.
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
#include "core/kernel/kernel_view.h"

namespace memstat {

/// The way to read a kernel file; see read_all.h.
enum class ReadManner {
  kToTheEnd,  ///< until a read returns nothing
  kToAShort,  ///< the same, or until a read returns less than half a page
  kToRoom,    ///< the same, or until a read leaves room in the buffer
  kInOne,     ///< everything in one read at offset 0
};

/// Reads files by path, through a kept descriptor if there is one.
///
/// A kept file without reads at an offset (numbers in debugfs, a FIFO) returns its content only once per descriptor. So its
/// directory is kept instead, and the file is opened in it at every read. That needs no permission for the directories
/// above: debugfs itself belongs to root, but its files are world-readable.
///
/// Kept files leave a quarter of the process's descriptors, at most 256, for connections and short-lived files.
///
/// Thread safety: keep_open and close_kept_after only before the first read; after that the set of kept files is fixed, and
/// reads take no lock. Reads may run at the same time, even of the same path: none moves a file offset that another uses.
class PosixFiles {
 public:
  /// Errors: system_error, with advice if the process is out of descriptors; kIo for a path that is too long or
  /// contains a NUL. A second call for a path does nothing.
  Result<void> keep_open(std::string_view path);
  [[nodiscard]] std::size_t kept_count() const { return kept_.size(); }
  /// Closes all kept files after the first `count`.
  void close_kept_after(std::size_t count);
  /// Does not allocate in the steady state. Errors: system_error, kData above 1 GiB, kNoMemory.
  Result<void> read_file(std::string_view path, Buffer& out, ReadManner manner);
  /// The same for a file below the directory, which must be open.
  static Result<void> read_file_in(const BaseDirectory& directory, std::string_view path, Buffer& out, ReadManner manner);
  /// Whether the file is kept open or can be opened now. Does not allocate.
  [[nodiscard]] bool may_read(std::string_view path) const;
  Result<std::string> read_link(std::string_view path);
  /// Sorted, without "." and "..".
  Result<void> list_directory(std::string_view path, std::vector<std::string>& names);

 private:
  /// For lookups without a copy of the path.
  struct PathHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view path) const noexcept { return std::hash<std::string_view>{}(path); }
  };
  /// Exactly one of the two is open.
  struct Kept {
    std::size_t number = 0;  ///< number of files kept before it
    UniqueFd file;
    UniqueFd directory;  ///< For a file that cannot be read at an offset.
  };
  static Result<UniqueFd> open_again(std::string_view path, int directory);
  static Result<void> open_and_read(std::string_view path, std::string_view name, int directory, Buffer& out,
                                    ReadManner manner);

  std::unordered_map<std::string, Kept, PathHash, std::equal_to<>> kept_;  // thousands, if a source has many files
};

}  // namespace memstat
