// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/incidents/incident_figures.h"

#include <algorithm>
#include <array>

#include "core/base/text.h"

namespace memstat {
namespace {

using Amount = std::optional<std::uint64_t>;

constexpr std::string_view kGroups = "/sys/fs/cgroup";
/// From here on a limit is none: version 1 prints about 2^63.
constexpr std::uint64_t kNoLimit = std::uint64_t{1} << 62U;

/// "MemAvailable:   12 kB" of /proc/meminfo.
Amount available_of(std::string_view meminfo) {
  std::string_view line;
  std::string_view word;
  while (next_line(meminfo, line)) {
    if (!next_word(line, word) || word != "MemAvailable:" || !next_word(line, word)) continue;
    std::uint64_t bytes = 0;
    const Amount kilobytes = parse_u64(word);
    return kilobytes && !__builtin_mul_overflow(*kilobytes, 1024, &bytes) ? Amount(bytes) : std::nullopt;
  }
  return std::nullopt;
}

/// The files of a version of control groups, and where its hierarchy with the memory controller usually is. The rest are
/// mounted with other controllers, "/cpu,memory".
struct GroupFiles {
  std::array<std::string_view, 2> roots;
  std::string_view usage;
  std::string_view limit;
};
constexpr std::array<GroupFiles, 2> kGroupFiles{
    {{{"", "/unified"}, "/memory.current", "/memory.max"},
     {{"/memory", "/memory"}, "/memory.usage_in_bytes", "/memory.limit_in_bytes"}}};

/// Whether the path is that of `file` of the group.
bool is_file_of(std::string_view path, const GroupFiles& files, std::string_view group, std::string_view file) {
  if (!path.starts_with(kGroups) || !path.ends_with(file)) return false;
  path.remove_prefix(kGroups.size());
  path.remove_suffix(std::min(file.size(), path.size()));
  if (!path.ends_with(group)) return false;
  path.remove_suffix(group.size());
  const bool is_shared = path.find(',') != std::string_view::npos && path.find('/', 1) == std::string_view::npos;
  return is_shared || std::find(files.roots.begin(), files.roots.end(), path) != files.roots.end();
}

void add_file(std::string_view path, std::string_view content, std::string_view group, IncidentFigures& figures) {
  if (path == "/proc/meminfo") figures.available_bytes = available_of(content);
  if (!group.starts_with('/')) return;
  if (group == "/") group = {};
  const Amount amount = parse_u64(trim(content));
  for (const GroupFiles& files : kGroupFiles) {
    if (is_file_of(path, files, group, files.usage)) figures.bytes = amount;
    if (is_file_of(path, files, group, files.limit) && amount.value_or(kNoLimit) < kNoLimit) figures.limit_bytes = amount;
  }
}

}  // namespace

std::vector<IncidentFigures> figures_of(const KeptPolls& polls, std::string_view object) {
  std::vector<IncidentFigures> all;
  const PollRing::Take take = [&](const PollInfo& info, std::span<PollRecord> records) -> Result<void> {
    IncidentFigures& figures = all.emplace_back();
    figures.realtime_ns = info.realtime_ns;
    for (const PollRecord& record : records) {
      if (record.kind == PollRecord::Kind::kFile) add_file(record.name, record.bytes.view(), object, figures);
    }
    return {};
  };
  (void)polls.ring.for_each_poll(take, polls.most);
  return all;
}

}  // namespace memstat
