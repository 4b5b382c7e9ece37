// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/selftest/missing_mounts.h"
#include "core/base/text.h"

#include <string_view>

namespace memstat {
namespace {

template <typename Reads>
std::string line_of(std::string_view what, std::string_view where, std::span<const SourceDescriptor* const> sources,
                    Reads reads) {
  std::vector<std::string_view> names;
  for (const SourceDescriptor* const source : sources) {
    if (source->os == OperatingSystem::kLinux && reads(*source)) names.push_back(source->name);
  }
  std::string line(what);
  line.append(" is not mounted at ").append(where).append(", where figures of ").append(join_words(names, " and "));
  return line.append(" are; to get them, run as root: mount -t ")
      .append(what)
      .append(" ")
      .append(what)
      .append(" ")
      .append(where);
}

}  // namespace

std::vector<std::string> missing_mounts(KernelView& view, std::span<const SourceDescriptor* const> sources) {
  if (view.os() != OperatingSystem::kLinux) return {};
  std::vector<std::string> names;
  const Result<void> sysfs = view.list_directory("/sys/kernel", names);
  if (!sysfs) {
    if (sysfs.error().code != ErrorCode::kNotPresent) return {};
    const auto reads = [](const SourceDescriptor& source) { return source.origin.find("/sys/") != std::string_view::npos; };
    return {line_of("sysfs", "/sys", sources, reads)};
  }
  // If the kernel has debugfs, sysfs has this directory as its mount point.
  names.clear();
  if (!view.list_directory("/sys/kernel/debug", names) || !names.empty()) return {};
  const auto reads = [](const SourceDescriptor& source) { return !source.debugfs_paths.empty(); };
  return {line_of("debugfs", "/sys/kernel/debug", sources, reads)};
}

}  // namespace memstat
