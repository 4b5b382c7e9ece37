// SPDX-License-Identifier: BSD-2-Clause
#include "core/kernel/merged_slabs.h"

#include <algorithm>
#include <utility>

namespace memstat {

MergedSlabs MergedSlabs::read(KernelView& view) {
  constexpr std::string_view kMergedCaches = "/sys/kernel/slab";
  MergedSlabs merged;
  std::vector<std::string> entries;
  if (view.os() != OperatingSystem::kLinux || !view.list_directory(kMergedCaches, entries)) return merged;
  for (std::string& entry : entries) {
    if (entry.starts_with(':')) continue;  // an artificial name for a directory
    const auto link = view.read_link(std::string(kMergedCaches) + "/" + entry);
    if (!link) continue;                                 // a directory of its own: the cache is not merged
    std::replace(entry.begin(), entry.end(), '!', '/');  // reverses kobject_set_name()
    std::string directory = link->substr(link->rfind('/') + 1);
    merged.names_[directory].push_back(entry);
    merged.directories_.emplace(std::move(entry), std::move(directory));
  }
  std::erase_if(merged.names_, [](const auto& one) { return one.second.size() < 2; });
  for (auto& [directory, names] : merged.names_) std::sort(names.begin(), names.end());
  return merged;
}

const std::vector<std::string>& MergedSlabs::names_of(std::string_view cache) const {
  static const std::vector<std::string> kNone;
  const auto directory = directories_.find(cache);
  if (directory == directories_.end()) return kNone;
  const auto names = names_.find(directory->second);
  return names == names_.end() ? kNone : names->second;
}

}  // namespace memstat
