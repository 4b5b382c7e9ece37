// SPDX-License-Identifier: BSD-2-Clause
#include "core/inspect/owners.h"

#include <algorithm>

#include "core/base/text.h"

namespace memstat {
namespace {

/// Removes the next field, which ends with a colon, from a line.
std::string_view next_colon_field(std::string_view& rest) {
  const std::size_t end = std::min(rest.find(':'), rest.size());
  const std::string_view field = rest.substr(0, end);
  rest.remove_prefix(std::min(rest.size(), end + 1));
  return field;
}

bool has_controller(std::string_view list, std::string_view controller) {
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(','), list.size());
    if (list.substr(0, end) == controller) return true;
    list.remove_prefix(std::min(list.size(), end + 1));
  }
  return false;
}

}  // namespace

std::string_view group_of(std::string_view cgroup) {
  std::string_view unified;
  std::string_view line;
  while (next_line(cgroup, line)) {
    const std::string_view number = next_colon_field(line);
    const std::string_view controllers = next_colon_field(line);
    if (has_controller(controllers, "memory")) return line;
    if (number == "0" && controllers.empty()) unified = line;
  }
  return unified;
}

std::string_view user_of(std::string_view passwd, std::string_view uid) {
  std::string_view line;
  while (next_line(passwd, line)) {
    const std::string_view name = next_colon_field(line);
    next_colon_field(line);  // the password
    if (!name.empty() && !uid.empty() && next_colon_field(line) == uid) return name;
  }
  return {};
}

void name_owners(KernelView& view, std::span<Holder> holders) {
  Buffer passwd;
  if (!view.read_file("/etc/passwd", passwd)) passwd.clear();
  Buffer cgroup;
  for (Holder& holder : holders) {
    if (const std::string_view user = user_of(passwd.view(), holder.user); !user.empty()) holder.user = user;
    if (holder.pid == 0 || !holder.group.empty() || view.os() != OperatingSystem::kLinux) continue;
    if (view.read_file("/proc/" + std::to_string(holder.pid) + "/cgroup", cgroup)) holder.group = group_of(cgroup.view());
  }
}

}  // namespace memstat
