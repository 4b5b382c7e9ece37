// SPDX-License-Identifier: BSD-2-Clause
#include "core/model/statistic.h"

#include <bit>
#include <charconv>

#include "core/base/text.h"

namespace memstat {
namespace {

/// What is known of a statistic, by its number.
struct Description {
  Statistic statistic;
  std::string_view name;
  std::size_t label_count = 0;
  std::array<std::string_view, kMostStatisticLabels> labels;
};

template <typename... Labels>
constexpr Description described(Statistic statistic, std::string_view name, Labels... labels) {
  return {statistic, name, sizeof...(labels), {labels...}};
}

constexpr Description kDescriptions[] = {
    described(Statistic::kAccountedBytes, "accounted_bytes", std::string_view("part")),
    described(Statistic::kUnaccountedBytes, "unaccounted_bytes"),
    described(Statistic::kTotalBytes, "total_bytes"),
    described(Statistic::kAvailableBytes, "available_bytes"),
    described(Statistic::kPartMissing, "part_missing", std::string_view("part")),
    described(Statistic::kZoneWatermarkBytes, "zone_watermark_bytes", std::string_view("node"), std::string_view("zone"),
              std::string_view("watermark")),
    described(Statistic::kZoneLargestFreeBlock, "zone_largest_free_block_bytes", std::string_view("node"),
              std::string_view("zone")),
    described(Statistic::kPageAllocations, "page_allocations", std::string_view("zone")),
    described(Statistic::kPageFrees, "page_frees"),
    described(Statistic::kPageAllocationFailures, "page_allocation_failures", std::string_view("kind")),
    described(Statistic::kPageMigrationFailures, "page_migration_failures"),
    described(Statistic::kCompactionStalls, "compaction_stalls"),
    described(Statistic::kCompactionFailures, "compaction_failures"),
    described(Statistic::kCompactionSuccesses, "compaction_successes"),
    described(Statistic::kNumaEvents, "numa_events", std::string_view("node"), std::string_view("kind")),
    described(Statistic::kBuddyFreeBlocks, "buddy_free_blocks", std::string_view("node"), std::string_view("zone"),
              std::string_view("order")),
    described(Statistic::kBuddyFreeBlocksByType, "buddy_free_blocks_by_type", std::string_view("node"),
              std::string_view("zone"), std::string_view("migrate_type"), std::string_view("order")),
    described(Statistic::kFragmentationIndex, "fragmentation_index", std::string_view("node"), std::string_view("zone"),
              std::string_view("order")),
    described(Statistic::kUnusableFreeRatio, "unusable_free_ratio", std::string_view("node"), std::string_view("zone"),
              std::string_view("order")),
    described(Statistic::kOomKills, "oom_kills"),
    described(Statistic::kAllocationStalls, "allocation_stalls", std::string_view("zone")),
    described(Statistic::kReclaimThrottles, "reclaim_throttles"),
    described(Statistic::kNodeReclaimFailures, "node_reclaim_failures"),
    described(Statistic::kReclaimScannedPages, "reclaim_scanned_pages", std::string_view("by")),
    described(Statistic::kReclaimedPages, "reclaimed_pages", std::string_view("by")),
    described(Statistic::kCacheDrops, "cache_drops", std::string_view("kind")),
    described(Statistic::kPressureStallSeconds, "pressure_stall_seconds", std::string_view("kind")),
    described(Statistic::kHugetlbReserved, "hugetlb_reserved_pages", std::string_view("type")),
    described(Statistic::kHugetlbSurplus, "hugetlb_surplus_pages", std::string_view("type")),
    described(Statistic::kMemcgPartBytes, "memcg_part_bytes", std::string_view("group"), std::string_view("part")),
    described(Statistic::kMemcgEvents, "memcg_events", std::string_view("group"), std::string_view("event")),
    described(Statistic::kMemcgHighBytes, "memcg_high_bytes", std::string_view("group")),
    described(Statistic::kMemcgKernelBytes, "memcg_kernel_bytes", std::string_view("group")),
    described(Statistic::kMemcgReclaimableBytes, "memcg_reclaimable_bytes", std::string_view("group")),
    described(Statistic::kMemcgAnonymousBytes, "memcg_anonymous_bytes", std::string_view("group")),
    described(Statistic::kMemcgGroupsLeftOut, "memcg_groups_left_out"),
    described(Statistic::kSocketPressure, "socket_pressure", std::string_view("type")),
    described(Statistic::kSocketPressureBytes, "socket_pressure_bytes", std::string_view("type")),
    described(Statistic::kSocketPressureSeconds, "socket_pressure_seconds", std::string_view("type")),
    described(Statistic::kSocketEvents, "socket_events", std::string_view("type"), std::string_view("kind")),
    described(Statistic::kTableSoftLimit, "table_soft_limit", std::string_view("type")),
    described(Statistic::kTableUserLimit, "table_user_limit", std::string_view("type")),
    described(Statistic::kTableUserUsedRatio, "table_user_used_ratio", std::string_view("type"), std::string_view("kind")),
    described(Statistic::kTableEvents, "table_events", std::string_view("type"), std::string_view("kind")),
    described(Statistic::kNegativeDentries, "negative_dentries"),
    described(Statistic::kCheckerBugs, "checker_bugs", std::string_view("checker")),
    described(Statistic::kCheckerObjects, "checker_objects", std::string_view("checker"), std::string_view("state")),
    described(Statistic::kCheckerAllocations, "checker_allocations", std::string_view("checker")),
    described(Statistic::kCheckerFrees, "checker_frees", std::string_view("checker")),
    described(Statistic::kCheckerSkips, "checker_skips", std::string_view("checker"), std::string_view("kind")),
    described(Statistic::kSlabDebugCaches, "slab_debug_caches", std::string_view("check")),
    described(Statistic::kKernelReports, "kernel_reports", std::string_view("kind")),
    described(Statistic::kKernelTaint, "kernel_taint", std::string_view("kind")),
    described(Statistic::kProcessPartBytes, "process_part_bytes", std::string_view("type"), std::string_view("part")),
    described(Statistic::kProcessesLeftOut, "processes_left_out"),
    described(Statistic::kPageEvents, "page_events", std::string_view("kind")),
    described(Statistic::kPagedPages, "paged_pages", std::string_view("pager"), std::string_view("direction")),
};
static_assert(std::size(kDescriptions) == kStatisticCount);
static_assert([] {
  for (std::size_t i = 0; i < kStatisticCount; ++i) {
    if (static_cast<std::size_t>(kDescriptions[i].statistic) != i) return false;
  }
  return true;
}());

/// At most `most` bytes of valid UTF-8, which end between two characters.
std::string_view cut(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text;
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0U) == 0x80U) --most;
  return text.substr(0, most);
}

}  // namespace

std::span<const std::string_view> label_names(Statistic statistic) {
  const Description& description = kDescriptions[static_cast<std::size_t>(statistic)];
  return {description.labels.data(), description.label_count};
}

std::string_view to_string(Statistic statistic) { return kDescriptions[static_cast<std::size_t>(statistic)].name; }

std::string_view LabelValue::view(std::array<char, 20>& room) const {
  if (!is_number_) return text_;
  const char* end = std::to_chars(room.data(), room.data() + room.size(), number_).ptr;
  return {room.data(), static_cast<std::size_t>(end - room.data())};
}

void StagedStatistics::add(Statistic statistic, std::uint64_t bits, std::initializer_list<LabelValue> labels) {
  Entry entry{.statistic = statistic, .bits = bits, .labels_begin = static_cast<std::uint32_t>(texts_.size())};
  std::size_t index = 0;
  for (const LabelValue& label : labels) {
    if (index == label_names(statistic).size()) break;
    std::array<char, 20> room;
    const std::string_view text = label.view(room);
    if (is_valid_label_text(text)) {
      texts_ += cut(text, kLongestLabel);
    } else {
      texts_ += cut(make_label_text(text), kLongestLabel);
    }
    entry.label_ends[index++] = static_cast<std::uint32_t>(texts_.size());
  }
  for (; index < kMostStatisticLabels; ++index) entry.label_ends[index] = static_cast<std::uint32_t>(texts_.size());
  entries_.push_back(entry);
}

void StagedStatistics::add_histogram(Statistic statistic, const HistogramCounts& histogram,
                                     std::initializer_list<LabelValue> labels) {
  histograms_.push_back({.begin = bucket_counts_.size(), .size = histogram.counts.size(), .sum = histogram.sum});
  bucket_counts_.insert(bucket_counts_.end(), histogram.counts.begin(), histogram.counts.end());
  add(statistic, histograms_.size() - 1, labels);
  entries_.back().is_histogram = true;
}

void StagedStatistics::add_signed(Statistic statistic, std::int64_t value, std::initializer_list<LabelValue> labels) {
  add(statistic, static_cast<std::uint64_t>(value), labels);
}

void StagedStatistics::add_double(Statistic statistic, double value, std::initializer_list<LabelValue> labels) {
  add(statistic, std::bit_cast<std::uint64_t>(value), labels);
}

}  // namespace memstat
