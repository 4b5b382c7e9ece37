// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/snapshot/selection.h"

#include <algorithm>
#include <bit>

#include "core/base/hysteresis.h"

namespace memstat {
namespace {

/// Figures that give a type one series each, by tier.
std::array<FigureSet, kTierCount> figures_by_tier(MetricScope scope) {
  std::array<FigureSet, kTierCount> figures{};
  for (const MetricDescriptor& metric : metric_catalogue()) {
    if (metric.scope != scope) continue;
    for (auto tier = static_cast<std::size_t>(metric.tier); tier < kTierCount; ++tier)
      figures[tier] |= FigureSet{1} << metric.figure;
  }
  return figures;
}

}  // namespace

std::uint64_t machine_series_of(const RenderOptions& options, const Snapshot& snapshot) {
  return options.types ? snapshot.machine_series(options.tier) : 0;
}

std::uint64_t series_of(const RenderOptions& options, const Snapshot& snapshot, std::size_t row) {
  struct ByTier {
    std::array<FigureSet, kTierCount> of_types = figures_by_tier(MetricScope::kType);
    std::array<FigureSet, kTierCount> of_nodes = figures_by_tier(MetricScope::kNode);
    std::array<FigureSet, kTierCount> of_details = figures_by_tier(MetricScope::kDetail);
  };
  static const ByTier kFigures;
  const auto tier = static_cast<std::size_t>(options.tier);
  const Snapshot::Row& entry = snapshot.rows()[row];
  std::uint64_t series = 0;
  if (options.types) {
    series += static_cast<unsigned>(std::popcount(entry.figures & kFigures.of_types[tier]));
  }
  if (options.types && entry.node_block != 0) {
    const Snapshot::NodeBlock& block = snapshot.node_blocks()[entry.node_block - 1];
    for_each_of(block.figures, [&](NodeField figure) {
      if ((kFigures.of_nodes[tier] >> static_cast<unsigned>(figure) & 1U) == 0) return;
      const std::uint64_t* const values = snapshot.values(block, figure);
      series += block.count - static_cast<std::uint64_t>(std::count(values, values + block.count, kNoFigure));
    });
  }
  if (options.types && entry.has_detail && kFigures.of_details[tier] != 0) ++series;
  if (options.size_classes && snapshot.has(Field::kSizeMask, row)) {
    const std::size_t known = snapshot.size_classes().size();
    const std::uint64_t mask = known >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << known) - 1;
    series += static_cast<unsigned>(std::popcount(snapshot.value(Field::kSizeMask, row) & mask));
  }
  if (options.per_cpu && entry.cpu_block != 0) {
    const Snapshot::CpuBlock& block = snapshot.cpu_blocks()[entry.cpu_block - 1];
    for_each_of(block.figures, [&](CpuField figure) {
      const std::uint64_t* const values = snapshot.values(block, figure);
      series += block.count - static_cast<std::uint64_t>(std::count(values, values + block.count, kNoFigure));
    });
  }
  return series;
}

void Selection::configure(const Options& options) {
  options_ = options;
  for (std::size_t i = 0; i < kAllocatorCount; ++i) {
    const std::uint64_t min_bytes = std::max(options.min_bytes, options.allocators[i].min_bytes);
    if (epochs_[i] == 0 || min_bytes_[i] != min_bytes) ++epochs_[i];
    min_bytes_[i] = min_bytes;
  }
}

bool Selection::is_large(const Snapshot& snapshot, std::size_t row, std::int64_t now_ns, Listing& listing) const {
  const auto allocator = static_cast<std::size_t>(snapshot.rows()[row].allocator);
  const std::uint64_t min_bytes = min_bytes_[allocator];
  if (min_bytes == 0 || listing.had_failures_or_waits || !snapshot.has(Field::kBytes, row)) return true;
  const std::uint32_t epoch = epochs_[allocator];
  if (listing.epoch != epoch) {
    listing.epoch = epoch;
    listing.is_large = false;
  }
  const std::uint64_t bytes = snapshot.value(Field::kBytes, row);
  if (bytes >= min_bytes) listing.is_large = true;
  // Round the half up: being below it equals being below the exact half of an odd number.
  if (bytes >= min_bytes / 2 + min_bytes % 2) listing.last_high_ns = now_ns;
  if (listing.is_large && now_ns - listing.last_high_ns >= kStayNs) listing.is_large = false;
  return listing.is_large;
}

/// Selection order: heaviest first.
bool Selection::comes_before(const Snapshot& snapshot, const Candidate& a, const Candidate& b) {
  if (a.weight != b.weight) return a.weight > b.weight;
  if (a.was_listed != b.was_listed) return a.was_listed;
  return snapshot.label(a.row) < snapshot.label(b.row);
}

Selection::Candidate Selection::candidate(const Snapshot& snapshot, std::size_t row, const Listing& listing) {
  double weight = snapshot.has(Field::kBytes, row) ? static_cast<double>(snapshot.value(Field::kBytes, row)) : 0;
  if (listing.is_listed) weight = weight_of_chosen(weight);
  return {.weight = weight, .row = static_cast<std::uint32_t>(row), .was_listed = listing.is_listed};
}

/// Hides the types beyond each allocator's `top`. Returns whether it hides any.
bool Selection::hide_beyond_top(const Snapshot& snapshot, std::span<Listing* const> listings) {
  bool hides_any = false;
  for (std::size_t i = 0; i < kAllocatorCount; ++i) {
    const std::uint64_t top = options_.allocators[i].top;
    if (top == 0 || top >= snapshot.row_count()) continue;
    candidates_.clear();
    for (std::size_t row = 0; row < snapshot.row_count(); ++row) {
      if (static_cast<std::size_t>(snapshot.rows()[row].allocator) != i || keep_[row] == 0 ||
          listings[row]->had_failures_or_waits) {
        continue;
      }
      candidates_.push_back(candidate(snapshot, row, *listings[row]));
    }
    if (candidates_.size() <= top) continue;
    const auto beyond = candidates_.begin() + static_cast<std::ptrdiff_t>(top);
    std::nth_element(candidates_.begin(), beyond, candidates_.end(),
                     [&](const Candidate& a, const Candidate& b) { return comes_before(snapshot, a, b); });
    for (auto one = beyond; one != candidates_.end(); ++one) keep_[one->row] = 0;
    hides_any = true;
  }
  return hides_any;
}

/// Visits the candidates from heaviest to lightest and keeps those that fit, without sorting: usually one half is kept or
/// dropped as a whole.
void Selection::take_what_fits(const Snapshot& snapshot, std::span<Candidate> candidates, std::uint64_t& room) {
  std::uint64_t all = 0;
  std::uint64_t least = ~std::uint64_t{0};
  for (const Candidate& candidate : candidates) {
    all += candidate.series;
    least = std::min(least, candidate.series);
  }
  if (candidates.empty() || least > room) return;
  if (all <= room) {
    for (const Candidate& candidate : candidates) keep_[candidate.row] = 1;
    room -= all;
    return;
  }
  // A single candidate was decided above.
  const std::size_t half = candidates.size() / 2;
  std::nth_element(candidates.begin(), candidates.begin() + static_cast<std::ptrdiff_t>(half), candidates.end(),
                   [&](const Candidate& a, const Candidate& b) { return comes_before(snapshot, a, b); });
  take_what_fits(snapshot, candidates.first(half), room);
  take_what_fits(snapshot, candidates.subspan(half), room);
}

bool Selection::choose(const RenderOptions& rendered, std::int64_t now_ns, std::span<Listing* const> listings,
                       Snapshot& snapshot) {
  const std::size_t count = snapshot.row_count();
  keep_.assign(count, 1);
  series_.resize(count);
  std::array<bool, kAllocatorCount> is_there{};
  std::array<std::uint64_t, kAllocatorCount> unlisted{};
  std::uint64_t wanted = 0;
  bool hides_any = false;
  const bool hides_small = std::any_of(min_bytes_.begin(), min_bytes_.end(), [](std::uint64_t bytes) { return bytes != 0; });
  for (std::size_t row = 0; row < count; ++row) {
    if (snapshot.has(Field::kBytes, row)) is_there[static_cast<std::size_t>(snapshot.rows()[row].allocator)] = true;
    if (hides_small && !is_large(snapshot, row, now_ns, *listings[row])) {
      keep_[row] = 0;
      hides_any = true;
    }
  }
  hides_any |= hide_beyond_top(snapshot, listings);
  for (std::size_t row = 0; row < count; ++row) {
    if (keep_[row] == 0) continue;
    series_[row] = series_of(rendered, snapshot, row);
    wanted += series_[row];
  }
  // The sums of unlisted types are series, too. They are truncated if the limit has no room even for them.
  std::uint64_t room = options_.series_limit - std::min(options_.series_limit, machine_series_of(rendered, snapshot));
  std::uint64_t sums = static_cast<std::uint64_t>(std::count(is_there.begin(), is_there.end(), true));
  sums = std::min(sums, room);
  room -= sums;
  const bool is_too_much = wanted > room;
  if (is_too_much) {
    candidates_.clear();
    for (std::size_t row = 0; row < count; ++row) {
      if (keep_[row] == 0 || series_[row] == 0) continue;  // without series it takes no room
      keep_[row] = 0;
      candidates_.push_back(candidate(snapshot, row, *listings[row]));
      candidates_.back().series = series_[row];
    }
    const std::uint64_t room_before = room;
    take_what_fits(snapshot, candidates_, room);
    snapshot.series_dropped = wanted - (room_before - room);
    hides_any = true;
  }
  for (std::size_t row = 0; row < count; ++row) {
    listings[row]->is_listed = keep_[row] != 0;
    if (keep_[row] != 0) continue;
    const auto allocator = static_cast<std::size_t>(snapshot.rows()[row].allocator);
    ++snapshot.unlisted[allocator].types;
    if (snapshot.has(Field::kBytes, row)) unlisted[allocator] += snapshot.value(Field::kBytes, row);
  }
  for (std::size_t i = 0; i < kAllocatorCount && sums > 0; ++i) {
    if (!is_there[i]) continue;
    snapshot.unlisted[i].bytes = unlisted[i];
    --sums;
  }
  return hides_any;
}

}  // namespace memstat
