// SPDX-License-Identifier: BSD-2-Clause
// Usage of tmpfs mounts, which only a system call reports.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/kernel/kernel_view.h"

namespace memstat {

/// Amounts that fstatfs(2) reports. A mount without a limit has 0 for both the limit and its usage.
struct MountAmounts {
  std::uint64_t device = 0;  ///< As device_number().
  std::uint64_t bytes = 0;
  std::uint64_t limit_bytes = 0;
  std::uint64_t files = 0;  ///< Inodes: directories and links, too.
  std::uint64_t max_files = 0;
};
/// The amounts of the file system at `path`; nothing if it cannot be reached or is not tmpfs. Allocates nothing.
std::optional<MountAmounts> tmpfs_amounts(const char* path);

/// "0:23" as one number.
std::optional<std::uint64_t> device_number(std::string_view text);

/// Finds the device and the path, still escaped, in a line of mountinfo (proc(5)). Returns false if it is not a mount of
/// tmpfs.
bool read_tmpfs_line(std::string_view line, std::string_view& device, std::string_view& path);

struct MountPoint {
  std::string device;  ///< "0:23"
  std::string path;
};
std::vector<MountPoint> tmpfs_mounts(std::string_view mountinfo);

/// Replaces `path` by `text` without the escapes of mountinfo, such as \040 for a blank.
void unescape_path(std::string_view text, std::string& path);
std::string unescaped_path(std::string_view text);

/// The amounts of one mount, by its index in the list of requested mounts.
struct MountSize {
  std::uint64_t number = 0;
  std::uint64_t bytes = 0;
  std::uint64_t files = 0;
};

/// One line "number bytes files" for each mount that can be reached and is not covered by another mount.
class MountSizesTable final : public TextTableSource {
 public:
  explicit MountSizesTable(std::span<const MountPoint> mounts) : mounts_(mounts) {}
  Result<void> open() override { return {}; }
  Result<void> read(Buffer& out) override;

 private:
  std::span<const MountPoint> mounts_;
};

/// Takes numbers from the start of `line`, which keeps the rest. False if there are fewer.
bool take_amounts(std::string_view& line, std::initializer_list<std::uint64_t*> amounts);

/// Damaged lines are left out.
std::vector<MountSize> parse_mount_sizes(std::string_view text);

}  // namespace memstat
