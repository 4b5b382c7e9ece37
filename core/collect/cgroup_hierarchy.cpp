// SPDX-License-Identifier: BSD-2-Clause
#include "core/collect/cgroup_hierarchy.h"

#include <algorithm>
#include <array>
#include <cerrno>

#include "core/base/text.h"
#include "core/parse/key_values.h"

namespace memstat {

std::uint64_t group_limit_in(std::string_view content) {
  return std::min(parse_u64(trim(content)).value_or(kNoGroupLimit), kNoGroupLimit);
}

std::optional<std::uint64_t> kills_in(std::string_view content) {
  std::array<KeyedNumber, 1> kills = {{{"oom_kill", {}}}};
  return read_keyed_numbers(content, kills) ? std::nullopt : kills[0].value;
}

Result<bool> has_group_file(KernelView& view, std::string_view directory, std::string_view file, Buffer& content) {
  FixedPath path;
  if (!path.assign(directory) || !path.append_component(file)) return false;
  const Result<void> result = view.read_file(path.view(), content);
  if (!result && result.error().code != ErrorCode::kNotPresent) return result.error();
  return result.has_value();
}

namespace {

bool has_word(std::string_view text, std::string_view wanted) {
  std::string_view word;
  for (text = trim(text); next_word(text, word);) {
    if (word == wanted) return true;
  }
  return false;
}

Result<void> found(KernelView& view, std::string_view root, bool is_version_1, ControlGroupHierarchy& hierarchy,
                   Buffer& file) {
  const auto has_more = has_group_file(view, root, is_version_1 ? kKernelUsage1 : kUsageFiles2.usage, file);
  if (!has_more) return has_more.error();
  if (!hierarchy.root.assign(root)) return system_error(root, ENAMETOOLONG);
  hierarchy.is_version_1 = is_version_1;
  hierarchy.has_more = *has_more;
  return {};
}

}  // namespace

Result<void> find_hierarchy(KernelView& view, ControlGroupHierarchy& hierarchy, Buffer& file, Buffer& directories) {
  constexpr std::string_view kUsual1 = "/sys/fs/cgroup/memory";
  auto is_it = has_group_file(view, kUsual1, kUsageFiles1.usage, file);
  if (!is_it) return is_it.error();
  if (*is_it) return found(view, kUsual1, true, hierarchy, file);
  // The second directory is where systemd mounts version 2 in addition to version 1 ("hybrid").
  for (const std::string_view root : {kControlGroupDirectory, std::string_view("/sys/fs/cgroup/unified")}) {
    is_it = has_group_file(view, root, "cgroup.controllers", file);
    if (!is_it) return is_it.error();
    if (*is_it && has_word(file.view(), "memory")) {
      hierarchy.has_tasks = has_word(file.view(), "pids");
      return found(view, root, false, hierarchy, file);
    }
  }
  // Either version 1 together with other controllers ("cpu,memory"), or a capture of version 2 without the root's files.
  if (auto listed = view.list_directories(kControlGroupDirectory, directories); !listed) return listed;
  std::string_view rest = directories.view();
  for (std::string_view name; next_name(rest, name);) {
    FixedPath directory;
    if (!directory.assign(kControlGroupDirectory) || !directory.append_component(name)) continue;
    is_it = has_group_file(view, directory.view(), kUsageFiles1.usage, file);
    if (!is_it) return is_it.error();
    if (*is_it) return found(view, directory.view(), true, hierarchy, file);
    is_it = has_group_file(view, directory.view(), kUsageFiles2.usage, file);
    if (!is_it) return is_it.error();
    if (*is_it) return found(view, kControlGroupDirectory, false, hierarchy, file);
  }
  return system_error(kControlGroupDirectory, ENOENT,
                      "no control group with a memory controller is below this directory; "
                      "hierarchies mounted elsewhere are not read");
}

Result<bool> has_memory_below(KernelView& view, std::string_view group, Buffer& file) {
  const auto has_file = has_group_file(view, group, "cgroup.subtree_control", file);
  if (!has_file && has_file.error().code != ErrorCode::kPermission) return has_file.error();
  return !has_file || !*has_file || has_word(file.view(), "memory");
}

}  // namespace memstat
