// SPDX-License-Identifier: BSD-2-Clause
#include "core/events/memuse/control_groups.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

namespace memstat::events {
namespace {

constexpr std::size_t kMaxGroups = 100'000;
constexpr std::size_t kMaxLevels = 32;

bool is_there(const std::string& path) {
  struct stat facts {};
  return ::stat(path.c_str(), &facts) == 0;
}

/// The inode of a directory; 0: not a directory.
std::uint64_t inode_of(const std::string& path) {
  struct stat facts {};
  return ::stat(path.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode) ? facts.st_ino : 0;
}

/// Whether a cgroup v2 hierarchy has the memory controller.
bool controls_memory(const std::string& root) {
  std::ifstream file(root + "/cgroup.controllers");
  return std::find(std::istream_iterator<std::string>(file), std::istream_iterator<std::string>(), "memory") !=
         std::istream_iterator<std::string>();
}

std::vector<std::string> directories_of(const std::string& path) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(path, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code unknown;
    if (entry->is_directory(unknown) && !entry->is_symlink(unknown)) names.push_back(entry->path().filename().string());
  }
  return names;
}

struct Visit {
  std::string path;
  std::size_t level = 0;
};

}  // namespace

std::string control_group_root(std::string_view mounts) {
  const std::string base(mounts);
  constexpr const char* kPresence1 = "/memory.usage_in_bytes";
  if (is_there(base + "/memory" + kPresence1)) return base + "/memory";
  for (const std::string& root : {base, base + "/unified"}) {
    if (controls_memory(root)) return root;
  }
  for (const std::string& name : directories_of(base)) {  // mounted with other controllers: "cpu,memory"
    std::string root = base + "/" + name;
    if (is_there(root + kPresence1)) return root;
  }
  return {};
}

Result<std::uint64_t> control_group_key(std::string_view group, std::string_view mounts) {
  const std::string root = control_group_root(mounts);
  if (root.empty()) {
    return system_error(mounts, ENOENT, "no hierarchy of control groups with the memory controller is mounted below it");
  }
  std::string path(group);
  if (group != root && !group.starts_with(root + "/")) path = root + (group.starts_with('/') ? "" : "/") + path;
  const std::uint64_t key = inode_of(path);
  if (key == 0) {
    return system_error(path, ENOENT,
                        "there is no such control group: give its name as on memstatd's page, in the label type of "
                        "allocator memcg, such as /docker/4f9a");
  }
  return key;
}

std::vector<ControlGroupPath> control_group_paths(const std::vector<std::uint64_t>& keys, std::string_view mounts) {
  std::vector<ControlGroupPath> found;
  const std::string root = control_group_root(mounts);
  if (root.empty()) return found;
  std::deque<Visit> visits{{.path = {}, .level = 0}};
  for (std::size_t seen = 0; !visits.empty() && seen < kMaxGroups && found.size() < keys.size(); ++seen) {
    const Visit visit = std::move(visits.front());
    visits.pop_front();
    const std::uint64_t key = inode_of(root + visit.path);
    if (key != 0 && std::find(keys.begin(), keys.end(), key) != keys.end()) {
      found.push_back({.key = key, .path = visit.path.empty() ? "/" : visit.path});
    }
    if (visit.level == kMaxLevels) continue;
    for (const std::string& name : directories_of(root + visit.path)) {
      visits.push_back({.path = visit.path + "/" + name, .level = visit.level + 1});
    }
  }
  return found;
}

}  // namespace memstat::events
