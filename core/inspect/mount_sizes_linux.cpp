// SPDX-License-Identifier: BSD-2-Clause
#include "core/inspect/mount_sizes.h"

#if defined(__linux__)

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>

#include <algorithm>

#include "core/base/unique_fd.h"

namespace memstat {
namespace {

std::string device_text(dev_t device) { return std::to_string(major(device)) + ":" + std::to_string(minor(device)); }

}  // namespace

Result<void> MountSizesTable::read(Buffer& out) {
  out.clear();
  for (std::size_t i = 0; i < mounts_.size(); ++i) {
    const UniqueFd mount(::open(mounts_[i].path.c_str(), O_PATH | O_CLOEXEC | O_DIRECTORY));
    struct stat status {};
    struct statvfs size {};
    if (!mount || ::fstat(mount.get(), &status) != 0 || device_text(status.st_dev) != mounts_[i].device) continue;
    if (::fstatvfs(mount.get(), &size) != 0) continue;
    const auto used = [](std::uint64_t all, std::uint64_t free) { return all - std::min(all, free); };
    std::uint64_t bytes = 0;
    if (__builtin_mul_overflow(used(size.f_blocks, size.f_bfree), static_cast<std::uint64_t>(size.f_frsize), &bytes))
      continue;
    out.append(std::to_string(i) + " " + std::to_string(bytes) + " " + std::to_string(used(size.f_files, size.f_ffree)) +
               "\n");
  }
  return {};
}

}  // namespace memstat

#endif
