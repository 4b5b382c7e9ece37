// SPDX-License-Identifier: BSD-2-Clause
// Figures that belong to no memory type: what the machine as a whole has, or a zone, a node, a part of the accounts.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/histogram.h"

namespace memstat {

/// One kind of such a figure. What each is on the page, with help and unit, stands in daemon/snapshot/metric_catalogue.cpp.
enum class Statistic : std::uint8_t {
  kAccountedBytes,    ///< {part} B, now: disjoint parts of the machine's memory that may be stacked
  kUnaccountedBytes,  ///< B, now, signed: total - free - every part
  kTotalBytes,        ///< B, now: memory that the kernel manages
  kAvailableBytes,    ///< B, now: what programs can still get without paging, by the kernel's own estimate
  kPartMissing,       ///< {part} 1 for a part that this kernel does not tell

  kZoneWatermarkBytes,      ///< {node, zone, watermark} B, now
  kZoneLargestFreeBlock,    ///< {node, zone} B, now; 0: nothing is free
  kPageAllocations,         ///< {zone} pages, cumulative, of all zones of that name
  kPageFrees,               ///< pages, cumulative
  kPageAllocationFailures,  ///< {kind} cumulative
  kPageMigrationFailures,   ///< pages, cumulative
  kCompactionStalls,        ///< cumulative
  kCompactionFailures,      ///< cumulative
  kCompactionSuccesses,     ///< cumulative
  kNumaEvents,              ///< {node, kind} allocations of any order, cumulative
  kBuddyFreeBlocks,         ///< {node, zone, order} now
  kBuddyFreeBlocksByType,   ///< {node, zone, migrate_type, order} now, 100000 at most
  kFragmentationIndex,      ///< {node, zone, order} double, -1 or 0 to 1, now
  kUnusableFreeRatio,       ///< {node, zone, order} double, 0 to 1, now
  kOomKills,                ///< cumulative
  kAllocationStalls,        ///< {zone} cumulative
  kReclaimThrottles,        ///< cumulative
  kNodeReclaimFailures,     ///< cumulative
  kReclaimScannedPages,     ///< {by} cumulative
  kReclaimedPages,          ///< {by} cumulative
  kCacheDrops,              ///< {kind} cumulative
  kPressureStallSeconds,    ///< {kind} double, s, cumulative
  kHugetlbReserved,         ///< {type} pages of a pool of huge pages, now: free, but promised to mappings
  kHugetlbSurplus,          ///< {type} pages of a pool of huge pages, now: beyond the size it was set to
  kMemcgPartBytes,          ///< {group, part} B, now: what the memory of a control group is; some parts contain others
  kMemcgEvents,             ///< {group, event} cumulative: times that a control group met a protection or a limit
  kMemcgHighBytes,    ///< {group} B above which the kernel slows a control group down; absent when there is no such bound
  kMemcgKernelBytes,  ///< {group} B, now: memory that the kernel took for the control group and those below it
  kMemcgReclaimableBytes,  ///< {group} B, now: what of kMemcgKernelBytes the kernel can take back
  kMemcgAnonymousBytes,    ///< {group} B, now: memory of programs in the control group that is in no file
  kMemcgGroupsLeftOut,     ///< control groups, now, that were seen and not read

  kSocketPressure,         ///< {type} 1 while the protocol saves memory, now
  kSocketPressureBytes,    ///< {type} B from which it does, now
  kSocketPressureSeconds,  ///< {type} double, s that it did, cumulative
  kSocketEvents,           ///< {type, kind} what lack of memory or room in queues made the protocol do, cumulative

  kTableSoftLimit,      ///< {type} entries at which the kernel evicts some or refuses users without privilege, now
  kTableUserLimit,      ///< {type} entries that each user may have, now
  kTableUserUsedRatio,  ///< {type, kind} double: how much of its quota the user has used who is nearest to it, now
  kTableEvents,         ///< {type, kind} what a full table made the kernel do, cumulative
  kNegativeDentries,    ///< unused dentries of files that are not there, now

  kCheckerBugs,         ///< {checker} errors found, cumulative
  kCheckerObjects,      ///< {checker, state} objects that are checked, now
  kCheckerAllocations,  ///< {checker} objects that it gave out, cumulative
  kCheckerFrees,        ///< {checker} objects that it took back, cumulative
  kCheckerSkips,        ///< {checker, kind} allocations that it was to check and did not, cumulative
  kSlabDebugCaches,     ///< {check} slab caches with this check on, when the source was started
  kKernelReports,       ///< {kind} warnings and the like that the kernel printed, cumulative
  kKernelTaint,         ///< {kind} 1 when the kernel marked itself so since boot
  kProcessPartBytes,    ///< {type, part} B, now: of the processes of one name; parts overlap
  kProcessesLeftOut,    ///< processes, now, that were listed and not looked at

  kPageEvents,  ///< {kind} cumulative: what the page daemon and reservations of pages had to do
  kPagedPages,  ///< {pager, direction} pages, cumulative, that pagers moved to or from disks
};
inline constexpr std::size_t kStatisticCount = 57;

/// The most labels that a statistic has.
inline constexpr std::size_t kMostStatisticLabels = 4;

/// Names of the labels of a statistic, in the order in which values are given. Empty: the machine has one such figure.
std::span<const std::string_view> label_names(Statistic statistic);

/// Value of a label: a text, or a number in decimal. Lives as long as the text. Thread safety: a plain value.
class LabelValue {
 public:
  LabelValue(std::string_view text) : text_(text) {}                       // NOLINT(google-explicit-constructor)
  LabelValue(const std::string& text) : text_(text) {}                     // NOLINT(google-explicit-constructor)
  LabelValue(const char* text) : text_(text) {}                            // NOLINT(google-explicit-constructor)
  LabelValue(std::uint64_t number) : is_number_(true), number_(number) {}  // NOLINT(google-explicit-constructor)
  /// `room` is where the digits of a number go; the view lives as long as both.
  [[nodiscard]] std::string_view view(std::array<char, 20>& room) const;

 private:
  std::string_view text_;
  bool is_number_ = false;
  std::uint64_t number_ = 0;
};

/// The statistics that one parse produced. Room is kept from one poll to the next, so that filling it again allocates
/// nothing. Thread safety: none; one owner at a time.
class StagedStatistics {
 public:
  struct Entry {
    Statistic statistic;
    std::uint64_t bits = 0;  ///< As the catalogue says: unsigned, signed, or a double's bits; of histogram(), its number.
    std::array<std::uint32_t, kMostStatisticLabels> label_ends{};  // of each label's value in the texts
    std::uint32_t labels_begin = 0;
    bool is_histogram = false;
  };

  void clear() {
    entries_.clear();
    texts_.clear();
    histograms_.clear();
    bucket_counts_.clear();
  }
  /// Adds one figure. Requires as many labels as label_names() has; what is missing is "". Bytes of a value that are not
  /// UTF-8 are replaced, and a value longer than kLongestLabel is cut there. Throws std::bad_alloc.
  void add(Statistic statistic, std::uint64_t bits, std::initializer_list<LabelValue> labels = {});
  void add_signed(Statistic statistic, std::int64_t value, std::initializer_list<LabelValue> labels = {});
  void add_double(Statistic statistic, double value, std::initializer_list<LabelValue> labels = {});

  /// `histogram`: one count more than the metric's buckets have bounds (HistogramBuckets). The counts are copied.
  void add_histogram(Statistic statistic, const HistogramCounts& histogram, std::initializer_list<LabelValue> labels = {});
  /// Requires an entry of add_histogram(). Lives until the next change.
  [[nodiscard]] HistogramCounts histogram(const Entry& entry) const {
    const HistogramPlace& place = histograms_[entry.bits];
    return {.counts = std::span(bucket_counts_).subspan(place.begin, place.size), .sum = place.sum};
  }

  /// In the order in which they were added.
  [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }
  /// Value of label `index` of an entry; valid UTF-8. Lives until the next change.
  [[nodiscard]] std::string_view label(const Entry& entry, std::size_t index) const {
    const std::uint32_t begin = index == 0 ? entry.labels_begin : entry.label_ends[index - 1];
    return std::string_view(texts_).substr(begin, entry.label_ends[index] - begin);
  }

  /// B; paths of control groups are the longest that kernels have.
  static constexpr std::size_t kLongestLabel = 4096;

 private:
  struct HistogramPlace {
    std::size_t begin = 0;  // in the counts
    std::size_t size = 0;
    double sum = 0;
  };

  std::vector<Entry> entries_;
  std::string texts_;
  std::vector<HistogramPlace> histograms_;
  std::vector<std::uint64_t> bucket_counts_;
};

/// The word by which documentation calls a statistic: "accounted_bytes", ...
std::string_view to_string(Statistic statistic);

}  // namespace memstat
