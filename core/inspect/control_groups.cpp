// SPDX-License-Identifier: BSD-2-Clause
#include "core/inspect/control_groups.h"

#include <array>
#include <utility>
#include <vector>

#include "core/base/text.h"
#include "core/parse/key_values.h"

namespace memstat {

namespace {

/// The groups below the root, as it counts them in version 2.
std::optional<std::uint64_t> count_groups(Inspector& inspector, std::string_view root) {
  std::array numbers = keyed_numbers<std::string_view>({"nr_descendants"});
  (void)read_keyed_numbers(inspector.read(std::string(root) + "/cgroup.stat"), numbers);
  return numbers[0].value;
}

}  // namespace

GroupHierarchies group_hierarchies(Inspector& inspector) {
  if (!inspector.read("/sys/fs/cgroup/cgroup.controllers").empty()) return {"/sys/fs/cgroup", "/sys/fs/cgroup", false};
  return {"/sys/fs/cgroup/memory", "/sys/fs/cgroup/pids", true};
}

Result<void> walk_groups(Inspector& inspector, std::string_view root, const std::function<void(const FoundGroup&)>& visit) {
  std::vector<std::pair<std::string, std::size_t>> waiting{{std::string(), 0}};  // paths, and their depth
  constexpr std::size_t kMaxDepth = 32;
  Buffer names;
  inspector.begin_seeing(count_groups(inspector, root));
  while (!waiting.empty()) {
    const auto [path, depth] = std::move(waiting.back());
    waiting.pop_back();
    if (!inspector.take()) break;
    if (!path.empty()) inspector.see();
    const FoundGroup group{.directory = std::string(root) + path, .path = path};
    if (auto listed = inspector.view().list_directories(group.directory, names); !listed) {
      if (path.empty()) return listed;
      names.clear();  // removed since
    }
    const std::size_t before = waiting.size();
    std::string_view rest = names.view();
    std::string_view name;
    while (depth < kMaxDepth && next_name(rest, name)) waiting.emplace_back(path + "/" + std::string(name), depth + 1);
    if (!path.empty()) visit({.directory = group.directory, .path = path, .is_leaf = waiting.size() == before});
  }
  return {};
}

}  // namespace memstat
