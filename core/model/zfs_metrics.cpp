// SPDX-License-Identifier: BSD-2-Clause
#include "core/model/zfs_metrics.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/base/arithmetic.h"
#include "core/base/text.h"

namespace memstat {

ArcStats read_arcstats(std::string_view text) {
  ArcStats arc;
  if (!text.ends_with('\n')) return arc;
  constexpr std::array<std::string_view, 4> kEvictable = {"mru_evictable_data", "mru_evictable_metadata",
                                                          "mfu_evictable_data", "mfu_evictable_metadata"};
  const std::array<std::pair<std::string_view, std::optional<std::uint64_t>*>, 3> wanted = {
      {{"size", &arc.size}, {"c", &arc.target}, {"c_min", &arc.minimum}}};
  for (std::string_view line, name, type, number; next_line(text, line);) {
    if (!next_word(line, name) || !next_word(line, type) || !next_word(line, number)) continue;
    for (const auto& [key, place] : wanted) {
      if (name == key && !*place) *place = parse_u64(number);
    }
    const auto amount = parse_u64(number);
    if (std::find(kEvictable.begin(), kEvictable.end(), name) != kEvictable.end() && amount)
      arc.evictable = saturating_sum(arc.evictable.value_or(0), *amount);
  }
  return arc;
}

std::uint64_t add_arc(const ArcStats& arc, StagedStatistics& statistics) {
  if (arc.size) statistics.add(kArcBytes, *arc.size);
  if (arc.target) statistics.add(kArcTargetBytes, *arc.target);
  if (arc.minimum) statistics.add(kArcMinBytes, *arc.minimum);
  if (!arc.size || !arc.target || !arc.minimum) return 0;
  const std::uint64_t kept = std::min(*arc.size, *arc.target);
  const std::uint64_t above = kept - std::min(kept, *arc.minimum);
  return arc.evictable ? std::min(above, *arc.evictable) : above;
}

}  // namespace memstat
