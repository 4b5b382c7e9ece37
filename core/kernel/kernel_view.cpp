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

bool KernelView::may_read(std::string_view /*path*/) { return true; }

Result<void> KernelView::read_file(std::string_view path, Buffer& /*out*/) { return system_error(path, ENOENT); }
NearDirectory KernelView::come_near(std::string_view /*directory*/) { return {}; }
Result<void> KernelView::read_near(const NearDirectory& /*directory*/, std::string_view path, Buffer& out) {
  return read_file(path, out);
}
Result<std::string> KernelView::read_link(std::string_view path) { return system_error(path, ENOENT); }
Result<void> KernelView::list_directory(std::string_view path, std::vector<std::string>& /*names*/) {
  return system_error(path, ENOENT);
}
Result<void> KernelView::read_sysctl(std::string_view name, Buffer& /*out*/, std::size_t /*size_hint*/) {
  return system_error(name, ENOENT);
}
void KernelView::read_numbers(std::span<const std::string> names, Buffer& scratch, const TakeNumber& take) {
  for (const std::string& name : names) {
    const Result<void> read = read_sysctl(name, scratch, sizeof(std::uint64_t));
    if (!take(name, read ? Result<std::string_view>(scratch.view()) : Result<std::string_view>(read.error()))) return;
  }
}
Result<void> KernelView::list_sysctls(std::string_view prefix, std::vector<std::string>& /*names*/) {
  return system_error(prefix, ENOENT);
}
Result<void> TextTableSource::open_on(KernelView& /*machine*/) { return open(); }
Result<void> TextTableSource::read_on(KernelView& /*machine*/, Buffer& out) { return read(out); }

Result<void> KernelView::open_table(std::string_view source, TextTableSource& /*table*/) {
  return system_error(source, ENOENT);
}
Result<void> KernelView::read_table(std::string_view source, TextTableSource& /*table*/, Buffer& /*out*/) {
  return system_error(source, ENOENT);
}
Result<void> KernelView::keep_open(std::string_view path) { return system_error(path, ENOENT); }

void KernelView::close_kept_after(std::size_t /*count*/) {}

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
