// SPDX-License-Identifier: BSD-2-Clause
#include "core/collect/slab_directories.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "core/base/text.h"

namespace memstat {
namespace {

constexpr std::string_view kDirectory = "/sys/kernel/slab/";
constexpr std::size_t kLongestFileName = 255;

/// The entry of a cache of that name; "" when it can be no file's.
std::string entry_of(std::string_view cache) {
  if (cache.empty() || cache == "." || cache == ".." || cache.size() > kLongestFileName ||
      cache.find('\0') != std::string_view::npos) {
    return {};
  }
  std::string entry(cache);
  std::replace(entry.begin(), entry.end(), '/', '!');  // as kobject_set_name() does (lib/kobject.c)
  return entry;
}

/// Where the numbers of a line stand, from the line of column names.
struct Columns {
  std::size_t count = 0;      ///< Between the name and the first colon.
  std::size_t slot_size = 0;  ///< Which of them is objsize, from 1; 0: none.
};

Columns columns_of(std::string_view line) {
  Columns columns;
  std::string_view word;
  for (int skipped = 0; skipped < 2; ++skipped) next_word(line, word);  // "#" and "name"
  while (next_word(line, word) && word != ":") {
    ++columns.count;
    if (word == "<objsize>") columns.slot_size = columns.count;
  }
  return columns;
}

/// The name on a line, "" when it is no cache's, and the objsize, when there is one. Names may have blanks: the numbers are
/// the last words before the colon.
std::string_view name_on(std::string_view line, const Columns& columns, std::optional<std::uint64_t>& slot_size) {
  std::size_t colon = line.find(" : tunables ");
  if (colon == std::string_view::npos) colon = line.find(" : ");
  if (colon == std::string_view::npos) return {};
  std::string_view rest = line.substr(0, colon);
  for (std::size_t column = columns.count; column > 0; --column) {
    const std::size_t last = rest.find_last_not_of(' ');
    if (last == std::string_view::npos) return {};
    const std::size_t blank = rest.find_last_of(' ', last);
    if (blank == std::string_view::npos) return {};
    if (column == columns.slot_size) slot_size = parse_u64(rest.substr(blank + 1, last - blank));
    rest = rest.substr(0, blank);
  }
  return trim(rest);
}

/// The directory that an entry is or leads to.
std::string target_of(KernelView& view, const std::string& entry) {
  const auto link = view.read_link(std::string(kDirectory) + entry);
  return link ? link->substr(link->rfind('/') + 1) : entry;
}

}  // namespace

Result<std::vector<SlabDirectory>> find_slab_directories(KernelView& view, Buffer& scratch) {
  Buffer slabinfo;
  if (auto result = view.read_file("/proc/slabinfo", slabinfo); !result) return result.error();
  std::string_view rest = slabinfo.view();
  std::string_view line;
  next_line(rest, line);  // the version; its errors belong to the source of this file
  next_line(rest, line);
  const Columns columns = columns_of(line);
  std::vector<SlabDirectory> caches;
  std::vector<std::string> targets;
  std::unordered_map<std::string, std::size_t> uses;
  while (next_line(rest, line)) {
    std::optional<std::uint64_t> slot_size;
    const std::string_view name = name_on(line, columns, slot_size);
    if (name.empty()) continue;
    SlabDirectory cache{std::string(name), entry_of(name)};
    if (!cache.directory.empty()) {
      const std::string path = std::string(kDirectory) + cache.directory + "/slab_size";
      const auto read = view.read_file(path, scratch);
      if (!read && read.error().code != ErrorCode::kNotPresent) return read.error();
      if (!read || (slot_size && parse_u64(trim(scratch.view())) != slot_size)) cache.directory.clear();
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
