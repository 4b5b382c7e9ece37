// SPDX-License-Identifier: BSD-2-Clause
#include "core/collect/slab_directories.h"

#include <algorithm>
#include <unordered_map>

#include "core/base/text.h"

namespace memstat {
namespace {

constexpr std::string_view kSlabinfo = "/proc/slabinfo";
constexpr std::string_view kOnlineNodes = "/sys/devices/system/node/online";  // a list such as "0-1,3"
constexpr std::string_view kSlabCaches = "/sys/kernel/slab/";
constexpr std::size_t kMaxFileNameSize = 255;

/// The directory entry of a cache; "" if its name is not a valid file name.
std::string entry_of(std::string_view cache) {
  if (cache.empty() || cache == "." || cache == ".." || cache.size() > kMaxFileNameSize ||
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
  if (auto result = view.read_file(kSlabinfo, slabinfo); !result) return result.error();
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

bool has_one_node(KernelView& view, Buffer& scratch) {
  const auto read = view.read_file(kOnlineNodes, scratch);
  if (!read) return read.error().code == ErrorCode::kNotPresent;  // no CONFIG_NUMA
  return trim(scratch.view()) == "0";
}

Result<void> keep_slab_counts_open(KernelView& view) {
  (void)view.keep_open(kOnlineNodes);  // ignored: kernels without NUMA have no such file
  return view.keep_open(kSlabinfo);
}

Result<void> SlabCounts::read(KernelView& view) {
  if (auto result = view.read_file(kSlabinfo, slabinfo_); !result) return result;
  next_ = SlabinfoReader(slabinfo_.view());
  has_nodes_ = view.may_read(kOnlineNodes) && view.read_file(kOnlineNodes, scratch_) && trim(scratch_.view()) == "0";
  return {};
}

bool SlabCounts::find(std::string_view cache) {
  return find_from(next_, cache) || find_from(SlabinfoReader(slabinfo_.view()), cache);
}

bool SlabCounts::find_from(SlabinfoReader lines, std::string_view cache) {
  while (lines.next(line_)) {
    if (line_.name != cache) continue;
    next_ = lines;
    return true;
  }
  return false;
}

std::string_view SlabCounts::text_of(std::uint64_t count) {
  text_ = StackText<64>(count);
  if (has_nodes_ && count != 0) text_.append(" N0=", count);  // nodes without objects are omitted
  text_.append("\n");
  return text_.view();
}

}  // namespace memstat
