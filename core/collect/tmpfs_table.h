// SPDX-License-Identifier: BSD-2-Clause
// Mounts of tmpfs in this mount namespace, largest first: the table of the source linux_tmpfs.
//
//   tmpfs 1
//   mount BYTES LIMIT_BYTES FILES MAX_FILES PATH     as mountinfo has the path, \040 for a blank
//   left_out MOUNTS BYTES
//   end
//
// A limit of 0 files means no limit. Mounts without a limit of bytes are left out, because the kernel reports 0 for their
// content.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/buffer.h"
#include "core/collect/mount_sizes.h"
#include "core/kernel/posix_files.h"

namespace memstat {

class TmpfsTable final : public TextTableSource {
 public:
  static constexpr std::string_view kPath = "/proc/self/mountinfo";
  static constexpr std::size_t kMaxMounts = 16;      ///< in the table
  static constexpr std::size_t kMaxMeasured = 1024;  ///< mounts whose size is requested

  Result<void> open() override { return files_.keep_open(kPath); }
  Result<void> read(Buffer& out) override;

  /// Writes the table of this mountinfo. `measure` is tmpfs_amounts; tests replace it.
  void write(std::string_view mountinfo, std::optional<MountAmounts> (*measure)(const char* path), Buffer& out);

 private:
  struct Mount {
    MountAmounts amounts;
    std::string_view path;
  };
  PosixFiles files_;
  Buffer mountinfo_;
  std::string path_;
  std::vector<Mount> mounts_;
};

struct TmpfsMount {
  std::uint64_t bytes = 0;
  std::uint64_t limit_bytes = 0;
  std::uint64_t files = 0;
  std::uint64_t max_files = 0;
  std::string_view path;  ///< Escaped.
};
struct TmpfsMounts {
  std::array<TmpfsMount, TmpfsTable::kMaxMounts> mounts;
  std::size_t size = 0;
  std::uint64_t left_out = 0;
  std::uint64_t left_out_bytes = 0;
};
/// Returns the offset of the first damaged line, or nothing.
std::optional<std::size_t> read_tmpfs_table(std::string_view text, TmpfsMounts& table);

}  // namespace memstat
