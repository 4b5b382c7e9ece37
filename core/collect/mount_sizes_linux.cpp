// SPDX-License-Identifier: BSD-2-Clause
#include "core/collect/mount_sizes.h"

#if defined(__linux__)

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include <algorithm>

#include "core/base/unique_fd.h"
#include "core/kernel/spared_open.h"

namespace memstat {

std::optional<MountAmounts> tmpfs_amounts(const char* path) {
  constexpr long kTmpfsMagic = 0x01021994;  // linux/magic.h
  const SpareFilesReturn files_back;
  const UniqueFd mount(spared_open(path, O_PATH | O_CLOEXEC));
  struct stat status {};
  struct statfs sizes {};
  if (!mount || ::fstat(mount.get(), &status) != 0 || ::fstatfs(mount.get(), &sizes) != 0) return std::nullopt;
  if (static_cast<long>(sizes.f_type) != kTmpfsMagic) return std::nullopt;
  const auto block = static_cast<std::uint64_t>(std::max<long>(0, static_cast<long>(sizes.f_bsize)));
  const auto used = [](std::uint64_t all, std::uint64_t free) { return all - std::min(all, free); };
  MountAmounts amounts{.device = std::uint64_t{major(status.st_dev)} << 32U | minor(status.st_dev),
                       .files = used(sizes.f_files, sizes.f_ffree),
                       .max_files = sizes.f_files};
  if (__builtin_mul_overflow(used(sizes.f_blocks, sizes.f_bfree), block, &amounts.bytes) ||
      __builtin_mul_overflow(std::uint64_t{sizes.f_blocks}, block, &amounts.limit_bytes)) {
    return std::nullopt;
  }
  return amounts;
}

}  // namespace memstat

#endif
