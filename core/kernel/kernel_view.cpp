// SPDX-License-Identifier: BSD-2-Clause
#include "core/kernel/kernel_view.h"

#include <cerrno>

#include "core/base/fixed_path.h"

namespace memstat {

std::string_view to_string(OperatingSystem os) {
  switch (os) {
    case OperatingSystem::kLinux: return "linux";
    case OperatingSystem::kFreeBsd: return "freebsd";
    case OperatingSystem::kOther: break;
  }
  return "other";
}

void KernelView::read_numbers(std::span<const std::string> names, Buffer& scratch, const TakeNumber& take) {
  for (const std::string& name : names) {
    const Result<void> read = read_sysctl(name, scratch, sizeof(std::uint64_t));
    if (!take(name, read ? Result<std::string_view>(scratch.view()) : Result<std::string_view>(read.error()))) return;
  }
}
Result<void> KernelView::list_directories(std::string_view path, Buffer& names) {
  names.clear();
  std::vector<std::string> entries;
  if (auto result = list_directory(path, entries); !result) return result;
  std::vector<std::string> ignored;
  for (const std::string& entry : entries) {
    FixedPath inside;
    if (!inside.assign(path == "/" ? "" : path) || !inside.append("/") || !inside.append(entry))
      continue;  // too long for any view
    if (auto result = list_directory(inside.view(), ignored); !result) {
      if (result.error().code == ErrorCode::kNotPresent) continue;  // not a directory, or gone
      if (result.error().code != ErrorCode::kPermission) return result;
    }
    names.append(entry);
    names.append({&kEndOfName, 1});
  }
  return {};
}

}  // namespace memstat
