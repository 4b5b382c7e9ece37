// SPDX-License-Identifier: BSD-2-Clause
#include "core/collect/slab_directories.h"

#include <algorithm>
#include <unordered_map>

#include "core/base/text.h"
#include "core/parse/slabinfo.h"

namespace memstat {
namespace {

constexpr std::string_view kSlabCaches = "/sys/kernel/slab/";
constexpr std::size_t kLongestFileName = 255;

/// The directory entry of a cache; "" if its name is not a valid file name.
std::string entry_of(std::string_view cache) {
  if (cache.empty() || cache == "." || cache == ".." || cache.size() > kLongestFileName ||
      cache.find('\0') != std::string_view::npos) {
    return {};
  }
  std::string entry(cache);
  std::replace(entry.begin(), entry.end(), '/', '!');  // as kobject_set_name() does (lib/kobject.c)
  return entry;
}

/// The directory of an entry, after following a link.
std::string target_of(KernelView& view, const std::string& entry) {
  const auto link = view.read_link(std::string(kSlabCaches) + entry);
  return link ? link->substr(link->rfind('/') + 1) : entry;
}

}  // namespace

Result<std::vector<SlabDirectory>> find_slab_directories(KernelView& view, Buffer& scratch) {
  Buffer slabinfo;
  if (auto result = view.read_file("/proc/slabinfo", slabinfo); !result) return result.error();
  std::vector<SlabDirectory> caches;
  std::vector<std::string> targets;
  std::unordered_map<std::string, std::size_t> uses;
  SlabinfoLine line;
  for (SlabinfoReader lines(slabinfo.view()); lines.next(line);) {
    SlabDirectory cache{std::string(line.name), entry_of(line.name)};
    if (!cache.directory.empty()) {
      const std::string path = std::string(kSlabCaches) + cache.directory + "/slab_size";
      const auto read = view.read_file(path, scratch);
      if (!read && read.error().code != ErrorCode::kNotPresent) return read.error();
      if (!read || parse_u64(trim(scratch.view())) != line.slot_size) cache.directory.clear();
    }
    targets.push_back(cache.directory.empty() ? std::string() : target_of(view, cache.directory));
    ++uses[targets.back()];
    caches.push_back(std::move(cache));
  }
  for (std::size_t i = 0; i < caches.size(); ++i) {
    if (uses[targets[i]] > 1) caches[i].directory.clear();
  }
  return caches;
}

}  // namespace memstat
