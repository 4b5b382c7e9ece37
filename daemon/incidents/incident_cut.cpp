// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/incidents/incident_cut.h"

#include <algorithm>
#include <limits>
#include <map>

#include "core/base/text.h"
#include "core/capture/group_directory.h"

namespace memstat {
namespace {

/// A group that holds much without moving counts, too.
constexpr double kShareOfUse = 0.125;

struct Seen {
  double least = std::numeric_limits<double>::max();
  double most = 0;
  std::size_t files = 0;  // of the last poll
  std::size_t poll = 0;   // that has them
};

bool is_needed(std::string_view directory, std::string_view object, const PollRing& ring) {
  const auto is_of = [&](std::string_view group) { return group.size() > 1 && directory.ends_with(group); };
  for (std::string_view group = object; group.starts_with('/'); group = group.substr(0, group.rfind('/'))) {
    if (is_of(group)) return true;
  }
  return std::any_of(ring.wanted().begin(), ring.wanted().end(), is_of);
}

}  // namespace

std::vector<OtherGroup> other_groups(const KeptPolls& polls, std::string_view object) {
  std::map<std::string, Seen, std::less<>> groups;
  std::size_t poll = 0;
  const PollRing::Take take = [&](const PollInfo&, std::span<PollRecord> records) -> Result<void> {
    ++poll;
    for (const PollRecord& record : records) {
      const std::string_view directory = group_directory(record.kind, record.name);
      if (directory.empty()) continue;
      auto found = groups.find(directory);
      if (found == groups.end()) found = groups.emplace(directory, Seen()).first;
      Seen& seen = found->second;
      seen.files = (seen.poll == poll ? seen.files : 0) + 1;
      seen.poll = poll;
      const std::string_view name = std::string_view(record.name).substr(directory.size());
      if (record.kind != PollRecord::Kind::kFile || (name != "/memory.current" && name != "/memory.usage_in_bytes"))
        continue;
      const auto bytes = parse_u64(trim(record.bytes.view()));
      if (!bytes) continue;
      seen.least = std::min(seen.least, static_cast<double>(*bytes));
      seen.most = std::max(seen.most, static_cast<double>(*bytes));
    }
    return {};
  };
  (void)polls.ring.for_each_poll(take, polls.most);
  std::vector<OtherGroup> others;
  for (const auto& [directory, seen] : groups) {
    if (is_needed(directory, object, polls.ring)) continue;
    others.push_back({.directory = directory,
                      .weight = std::max(0.0, seen.most - seen.least) + kShareOfUse * seen.most,
                      .files = seen.poll == poll ? seen.files : 0});
  }
  const auto is_heavier = [](const OtherGroup& a, const OtherGroup& b) {
    return a.weight != b.weight ? a.weight > b.weight : a.directory < b.directory;
  };
  std::sort(others.begin(), others.end(), is_heavier);
  return others;
}

}  // namespace memstat
