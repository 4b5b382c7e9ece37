// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/selftest/missing_mounts.h"

#include <string_view>

#include "core/base/text.h"

namespace memstat {
namespace {

/// "sysfs is not mounted at /sys, where figures of ... are; to get them, ..."
std::string line_of(std::string_view what, std::string_view where, const std::string& figures) {
  const std::string type(what);
  const std::string place(where);
  return type + " is not mounted at " + place + ", where " + figures + " are; to get them, run as root: mount -t " + type +
         " " + type + " " + place;
}

template <typename Reads>
std::string figures_of(std::span<const SourceDescriptor* const> sources, Reads reads) {
  std::vector<std::string_view> names;
  for (const SourceDescriptor* const source : sources) {
    if (source->os == OperatingSystem::kLinux && reads(*source)) names.push_back(source->name);
  }
  return "figures of " + join_words(names, " and ");
}

}  // namespace

std::string missing_proc(KernelView& view) {
  if (view.os() != OperatingSystem::kLinux) return {};
  Buffer name;
  const Result<void> read = view.read_file("/proc/sys/kernel/ostype", name);  // the option subset=pid hides it, too
  if (read || read.error().code != ErrorCode::kNotPresent) return {};
  return line_of("proc", "/proc", "most figures");
}

std::vector<std::string> missing_mounts(KernelView& view, std::span<const SourceDescriptor* const> sources) {
  if (view.os() != OperatingSystem::kLinux) return {};
  std::vector<std::string> lines;
  if (std::string proc = missing_proc(view); !proc.empty()) lines.push_back(std::move(proc));
  std::vector<std::string> names;
  const Result<void> sysfs = view.list_directory("/sys/kernel", names);
  names.clear();
  if (!sysfs && sysfs.error().code == ErrorCode::kNotPresent) {
    const auto reads = [](const SourceDescriptor& source) { return source.origin.find("/sys/") != std::string_view::npos; };
    lines.push_back(line_of("sysfs", "/sys", figures_of(sources, reads)));
  } else if (sysfs && view.list_directory("/sys/kernel/debug", names) && names.empty()) {
    // If the kernel has debugfs, sysfs has this directory as its mount point.
    const auto reads = [](const SourceDescriptor& source) { return !source.debugfs_paths.empty(); };
    lines.push_back(line_of("debugfs", "/sys/kernel/debug", figures_of(sources, reads)));
  }
  return lines;
}

}  // namespace memstat
