// SPDX-License-Identifier: BSD-2-Clause
// What mounts hold, which the kernel tells by a system call only.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/kernel/kernel_view.h"

namespace memstat {

struct MountPoint {
  std::string device;  ///< "0:23"
  std::string path;
};

/// Mounts of tmpfs of a mountinfo (proc(5)).
std::vector<MountPoint> tmpfs_mounts(std::string_view mountinfo);

/// A path as mountinfo writes it, with \040 for a blank, as it is.
std::string unescaped_path(std::string_view text);

/// The amounts of one mount, by its place among those that were asked for.
struct MountSize {
  std::uint64_t number = 0;
  std::uint64_t bytes = 0;
  std::uint64_t files = 0;
};

/// A line "number bytes files" for each mount that can be reached and is not hidden by another one at the same place.
/// Thread safety: none.
class MountSizesTable final : public TextTableSource {
 public:
  explicit MountSizesTable(std::span<const MountPoint> mounts) : mounts_(mounts) {}
  Result<void> open() override { return {}; }
  Result<void> read(Buffer& out) override;

 private:
  std::span<const MountPoint> mounts_;
};

/// Damaged lines are left out.
std::vector<MountSize> parse_mount_sizes(std::string_view text);

}  // namespace memstat
