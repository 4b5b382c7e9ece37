// SPDX-License-Identifier: BSD-2-Clause
// Linux page allocator zones, one type per zone and node, from four files printed by mm/vmstat.c.
//
// /proc/zoneinfo: see core/parse/zoneinfo.h. /proc/vmstat: "name value" lines. /proc/buddyinfo has free blocks by order:
//
//   Node 0, zone    DMA32      3      0      0      1      1      2      3      1      2      3     80
//
// /proc/pagetypeinfo, among other tables, has the same by migrate type; a count of 100000 is preceded by '>':
//
//   Node    0, zone    DMA32, type    Unmovable      1      0      0      0      0      1      1      1      1      0      0
//
// Types are named like "node 0 DMA32": a prefix selects a node, a suffix selects a kind of zone, and numbers have no leading
// zeros, so that names do not depend on the number of nodes. Types keep the kernel's order.
#include <algorithm>
#include <array>
#include <optional>

#include "core/base/arithmetic.h"
#include "core/base/ascii.h"
#include "core/base/text.h"
#include "core/collect/plan_reader.h"
#include "core/model/page_metrics.h"
#include "core/parse/vmstat.h"
#include "core/parse/zoneinfo.h"
#include "core/source.h"

namespace memstat::sources::linux_page {
namespace {

constexpr SystemMetric kZoneBoost = gauge_metric(
    "memstat_zone_boost_bytes", Tier::kDefault,
    "Bytes by which the zone's watermarks are raised now because allocations of different mobility shared a page block.",
    {"node", "zone"});

constexpr SystemMetric kZoneFreeCma =
    gauge_metric("memstat_zone_free_cma_bytes", Tier::kDefault,
                 "Free bytes in contiguous memory areas of the zone now, which the kernel's own allocations cannot use.",
                 {"node", "zone"});

constexpr SystemMetric kNodeMemoryBytes = gauge_metric(
    "memstat_node_memory_bytes", Tier::kDefault,
    "Bytes of a NUMA node: all that the allocator manages, those that are free, and those in slabs.", {"node", "kind"});

constexpr SystemMetric kNodeUnreclaimable =
    gauge_metric("memstat_node_unreclaimable", Tier::kDefault,
                 "1 while the kernel thread that reclaims memory has given up on the node, else 0.", {"node"});

constexpr SystemMetric kPageAllocations =
    counter_metric("memstat_page_allocations_total", Tier::kDefault,
                   "Pages allocated from zones of this name since boot, on all nodes.", {"zone"});

constexpr SystemMetric kPageAllocationFailures =
    counter_metric("memstat_page_allocation_failures_total", Tier::kMinimal,
                   "Failed allocations of huge or contiguous memory since boot, by kind; most have a fallback.", {"kind"});

constexpr SystemMetric kPageMigrationFailures =
    counter_metric("memstat_page_migration_failures_total", Tier::kFull, "Pages that could not be moved since boot.");

constexpr SystemMetric kCompactionStalls = counter_metric("memstat_compaction_stalls_total", Tier::kDefault,
                                                          "Allocations since boot that stalled to compact memory.");

constexpr SystemMetric kCompactionFailures =
    counter_metric("memstat_compaction_failures_total", Tier::kDefault,
                   "Allocations since boot that compacted memory and still found no free block.");

constexpr SystemMetric kCompactionSuccesses =
    counter_metric("memstat_compaction_successes_total", Tier::kDefault,
                   "Allocations since boot that compacted memory and then found a free block.");

constexpr SystemMetric kNumaEvents =
    counter_metric("memstat_numa_events_total", Tier::kDefault,
                   "Page allocations since boot by outcome: on this node as requested (hit), on this node instead of "
                   "another (miss), on another node instead of this one (foreign), and others.",
                   {"node", "kind"});

constexpr SystemMetric kBuddyFreeBlocksByType =
    gauge_metric("memstat_buddy_free_blocks_by_type", Tier::kFull,
                 "Free blocks of 2^order pages in the zone now, by migrate type; the kernel stops counting at 100000.",
                 {"node", "zone", "migrate_type", "order"});

constexpr SystemMetric kFragmentationIndex =
    gauge_metric("memstat_fragmentation_index", Tier::kFull,
                 "Why an allocation of 2^order pages would fail in the zone now: "
                 "near 0 too little memory, near 1 fragmentation; -1: it would succeed.",
                 {"node", "zone", "order"}, ValueFormat::kDouble);

constexpr SystemMetric kUnusableFreeRatio =
    gauge_metric("memstat_unusable_free_ratio", Tier::kFull,
                 "Share of the zone's free memory now that is in blocks smaller than 2^order pages, 0 to 1.",
                 {"node", "zone", "order"}, ValueFormat::kDouble);

bool has_migrate_types(const RawBytes&, const ReaderState& state) {
  return !state.options.empty() && state.options[0].number != 0;
}

enum File : std::size_t { kZones, kCounters, kBuddy, kMigrateTypes };
constexpr PlannedFile kPlan[] = {
    {.path = "/proc/zoneinfo", .need = ReadNeed::kRequired, .is_kept_open = true},
    {.path = "/proc/vmstat", .is_kept_open = true},
    {.path = "/proc/buddyinfo", .is_kept_open = true},
    {.path = "/proc/pagetypeinfo", .is_kept_open = true, .is_wanted = has_migrate_types},
};
constexpr auto kFiles = paths_of(kPlan);

constexpr SourceOption kOptions[] = {
    {.name = "migrate_types",
     .kind = SourceOption::Kind::kSwitch,
     .most = 1,
     .help =
         "also free blocks by migrate type, from /proc/pagetypeinfo, which holds locks of the allocator for a long time"},
};

constexpr FieldMask kFields{Field::kBytes, Field::kCount, Field::kHeldBytes, Field::kFree, Field::kSize, Field::kRSize};
constexpr CpuFieldMask kCpuFields{CpuField::kFree};

/// Counters of /proc/vmstat besides those of zones. thp_fault_fallback_charge and the like are omitted, because they are
/// included in thp_fault_fallback and the like.
struct Counter {
  std::string_view key;
  const SystemMetric* metric;
  std::string_view kind = {};
};
constexpr Counter kVmCounters[] = {
    {"pgfree", &kPageFrees},
    {"pgmigrate_fail", &kPageMigrationFailures},
    {"compact_stall", &kCompactionStalls},
    {"compact_fail", &kCompactionFailures},
    {"compact_success", &kCompactionSuccesses},
    {"htlb_buddy_alloc_fail", &kPageAllocationFailures, "hugetlb"},
    {"cma_alloc_fail", &kPageAllocationFailures, "cma"},
    {"thp_fault_fallback", &kPageAllocationFailures, "thp_fault"},
    {"thp_collapse_alloc_failed", &kPageAllocationFailures, "thp_collapse"},
    {"thp_file_fallback", &kPageAllocationFailures, "thp_file"},
    {"thp_zero_page_alloc_failed", &kPageAllocationFailures, "thp_zero_page"},
};

// The kernel has six migrate types, and its longest name has 11 bytes (Reclaimable). Anything longer is not a name.
constexpr std::size_t kMaxMigrateTypeSize = 64;
constexpr std::size_t kMaxMigrateTypes = 16;

/// Formats the name of a zone's type.
StackText<ZoneKey::kMaxNameSize + 32> type_name(const ZoneKey& key) {
  return StackText<ZoneKey::kMaxNameSize + 32>("node ", key.node, " ", key.name);
}

/// Iterates over the staged types along with a file that lists zones in the same order.
class TypeCursor {
 public:
  explicit TypeCursor(const Staging& staging) : types_(staging.types()) {}
  /// Makes the zone's type the current one. False if the zone has no type: it has no memory, or it appeared between two
  /// reads. Looks back no further than the current type, so a zone is found in one run of lines at most.
  bool find(const ZoneKey& key) {
    const auto name = type_name(key);
    for (std::size_t i = next_ == 0 ? 0 : next_ - 1; i < types_.size(); ++i) {
      if (types_[i].name != name.view()) continue;
      is_new_ = i + 1 != next_;
      next_ = i + 1;
      return true;
    }
    return false;
  }
  /// Whether the last find() moved to a different type.
  [[nodiscard]] bool is_new() const { return is_new_; }

 private:
  const std::vector<StagedType>& types_;
  std::size_t next_ = 0;
  bool is_new_ = false;
};

Error zones_error(std::size_t offset, std::string_view detail) { return data_error(kFiles[kZones], offset, detail); }

Result<void> add_type(const ZoneInfo& zone, std::uint64_t page_size, Staging& staging) {
  std::uint64_t largest = std::max(zone.managed, zone.free);
  for (const auto& watermark : zone.watermarks) largest = std::max(largest, watermark.value_or(0));
  largest = std::max(largest, zone.boost.value_or(0));
  if (__builtin_mul_overflow(largest, page_size, &largest)) {
    return zones_error(zone.offset, "has a zone of more than 2^64 bytes");
  }
  const std::size_t count = staging.types().size();
  StagedType& type = staging.merge(type_name(zone.key).view());
  if (staging.types().size() == count) return zones_error(zone.offset, "has a zone twice");
  // The kernel does not read the two at the same instant.
  const std::uint64_t used = zone.managed - std::min(zone.managed, zone.free);
  type.fields = kFields;
  type.figures[Field::kBytes] = used * page_size;
  type.figures[Field::kCount] = used;
  type.figures[Field::kHeldBytes] = zone.managed * page_size;
  type.figures[Field::kFree] = zone.free;
  type.figures[Field::kSize] = page_size;
  type.figures[Field::kRSize] = page_size;
  for (std::size_t i = 0; i < zone.watermarks.size(); ++i) {
    if (!zone.watermarks[i]) continue;
    staging.statistics().add(kZoneWatermarkBytes, *zone.watermarks[i] * page_size,
                             {zone.key.node, zone.key.name, ZoneInfo::kWatermarks[i]});
  }
  if (zone.boost) staging.statistics().add(kZoneBoost, *zone.boost * page_size, {zone.key.node, zone.key.name});
  return {};
}

/// Adds the figure that follows the page sets of a zone with contiguous memory areas, unless the kernel reports that it has
/// none.
void add_free_cma(const ZoneInfo& zone, std::uint64_t page_size, Staging& staging) {
  if (!zone.free_cma || zone.cma == std::uint64_t{0}) return;
  const std::uint64_t pages = std::min(*zone.free_cma, zone.managed);  // counted separately, so it may be larger
  staging.statistics().add(kZoneFreeCma, pages * page_size, {zone.key.node, zone.key.name});
}

/// The sums over the zones of one node.
class Node {
 public:
  void add(const ZoneInfo& zone) {
    node_ = zone.key.node;
    add_to(pages_[kTotal], zone.managed);
    add_to(pages_[kFree], zone.free);
    for (std::size_t i = 0; i < zone.slab.size(); ++i) add_to(pages_[kSlab + i], zone.slab[i]);
    // Zones of one node differ only before 4.8: then the node is unreclaimable if all of them are.
    if (zone.unreclaimable) unreclaimable_ = std::min(*zone.unreclaimable, unreclaimable_.value_or(*zone.unreclaimable));
    for (std::size_t i = 0; i < events_.size(); ++i) {
      if (zone.numa_events[i]) events_[i] = events_[i].value_or(0) + *zone.numa_events[i];  // modulo 2^64, as counters are
    }
  }
  void flush(std::uint64_t page_size, Staging& staging) {
    StagedStatistics& statistics = staging.statistics();
    if (pages_[kTotal].value_or(0) != 0) {
      for (std::size_t i = 0; i < pages_.size(); ++i) {
        if (pages_[i]) statistics.add(kNodeMemoryBytes, saturating_product(*pages_[i], page_size), {node_, kKinds[i]});
      }
    }
    for (std::size_t i = 0; i < events_.size(); ++i) {
      if (events_[i]) statistics.add(kNumaEvents, *events_[i], {node_, ZoneInfo::kNumaEvents[i]});
    }
    if (unreclaimable_) statistics.add(kNodeUnreclaimable, *unreclaimable_ != 0 ? 1 : 0, {node_});
    *this = {};
  }
  [[nodiscard]] bool is_of(std::uint64_t node) const { return node == node_; }

 private:
  enum Kind : std::size_t { kTotal, kFree, kSlab };
  static constexpr std::array<std::string_view, 4> kKinds = {"total", "free", ZoneInfo::kSlabKinds[0],
                                                             ZoneInfo::kSlabKinds[1]};

  static void add_to(std::optional<std::uint64_t>& sum, const std::optional<std::uint64_t>& pages) {
    if (pages) sum = saturating_sum(sum.value_or(0), *pages);
  }

  std::uint64_t node_ = 0;
  std::array<std::optional<std::uint64_t>, kKinds.size()> pages_;
  std::optional<std::uint64_t> unreclaimable_;
  std::array<std::optional<std::uint64_t>, ZoneInfo::kNumaEvents.size()> events_;
};

Result<void> parse_zones(const RawBytes& raw, Staging& staging) {
  ZoneInfoReader reader(raw.content(kZones));
  Node node;
  ZoneInfo zone;
  while (reader.next_zone(zone)) {
    const bool has_type = zone.managed != 0;
    if (has_type) {
      if (auto result = add_type(zone, raw.page_size, staging); !result) return result;
    }
    // The file lists only online CPUs.
    for (std::uint32_t cpu = 0; has_type && cpu < staging.cpu_count(); ++cpu) {
      staging.set_cpu_figure(staging.types().size() - 1, CpuField::kFree, cpu, kNoFigure);
    }
    for (PageSet set; reader.next_page_set(zone, set);) {
      if (!has_type || set.cpu >= staging.cpu_count()) continue;  // a CPU added after the view counted them
      staging.set_cpu_figure(staging.types().size() - 1, CpuField::kFree, static_cast<std::uint32_t>(set.cpu), set.pages);
    }
    if (has_type) add_free_cma(zone, raw.page_size, staging);
    if (!node.is_of(zone.key.node)) node.flush(raw.page_size, staging);
    node.add(zone);
  }
  if (reader.problem()) return zones_error(reader.problem()->offset, reader.problem()->detail);
  node.flush(raw.page_size, staging);
  if (staging.types().empty()) return zones_error(raw.content(kZones).size(), "has no zone with memory");
  return {};
}

/// Whether some node has memory in a zone of that name.
bool has_zone(const Staging& staging, std::string_view zone) {
  return std::any_of(staging.types().begin(), staging.types().end(), [&](const StagedType& type) {
    return type.name.ends_with(zone) && type.name.size() > zone.size() &&
           type.name[type.name.size() - zone.size() - 1] == ' ';
  });
}

Result<void> parse_counters(const RawBytes& raw, Staging& staging) {
  auto numbers = keyed_numbers(kVmCounters, &Counter::key);
  ZoneCounters allocations("pgalloc_");
  if (const auto offset = read_vm_counters(raw.content(kCounters), numbers, allocations)) {
    return data_error(kFiles[kCounters], *offset, "expected a line with a counter and its value");
  }
  StagedStatistics& statistics = staging.statistics();
  // The kernel has counters for every kind of zone that it supports; most machines lack some.
  for (const ZoneCounters::Counter& counter : allocations.counters()) {
    if (counter.value == 0 && !has_zone(staging, counter.zone)) continue;
    statistics.add(kPageAllocations, counter.value, {counter.zone});
  }
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i].value) statistics.add(*kVmCounters[i].metric, *numbers[i].value, {kVmCounters[i].kind});
  }
  return {};
}

constexpr const char* kWantsCounts = "expected a zone and its free blocks by order";

Result<void> parse_buddy(const RawBytes& raw, Staging& staging) {
  TypeCursor cursor(staging);
  return for_each_whole_line(kFiles[kBuddy], raw.content(kBuddy), 0, [&](std::string_view line) -> const char* {
    if (trim(line).empty()) return nullptr;
    ZoneKey key;
    if (!take_zone(line, key)) return kWantsCounts;
    const auto blocks = FreeBlocks::parse(trim(line));
    if (!blocks) return kWantsCounts;
    if (!cursor.find(key)) return nullptr;
    if (!cursor.is_new()) return "has a zone twice";
    StagedStatistics& statistics = staging.statistics();
    statistics.add(kZoneLargestFreeBlock, blocks->largest_block() * raw.page_size, {key.node, key.name});
    for (std::size_t order = 0; order < blocks->orders(); ++order) {
      statistics.add(kBuddyFreeBlocks, blocks->count(order), {key.node, key.name, order});
      statistics.add_double(kFragmentationIndex, blocks->fragmentation_index(order), {key.node, key.name, order});
      statistics.add_double(kUnusableFreeRatio, blocks->unusable_ratio(order), {key.node, key.name, order});
    }
    return nullptr;
  });
}

Result<void> parse_migrate_types(const RawBytes& raw, Staging& staging) {
  TypeCursor cursor(staging);
  std::array<std::string_view, kMaxMigrateTypes> seen;  // migrate types of the zone
  std::size_t seen_count = 0;
  const auto take = [&](std::string_view line) -> const char* {
    ZoneKey key;
    std::string_view type;
    // Another table names zones without a comma, and headings name none.
    if (!take_zone(line, key) || !key.name.ends_with(',')) return nullptr;
    key.name.remove_suffix(1);
    if (!next_word(line, type) || type != "type" || !next_word(line, type) || !is_valid_label_text(type) ||
        type.size() > kMaxMigrateTypeSize) {
      return "expected a zone, a migrate type and its free blocks by order";
    }
    const auto blocks = FreeBlocks::parse(trim(line));
    if (!blocks) return kWantsCounts;
    if (!cursor.find(key)) return nullptr;
    if (cursor.is_new()) seen_count = 0;
    const auto end = seen.begin() + seen_count;
    if (std::find(seen.begin(), end, type) != end) return "has a migrate type twice";
    if (seen_count == seen.size()) return "has more migrate types than any kernel";
    seen[seen_count++] = type;
    for (std::size_t order = 0; order < blocks->orders(); ++order) {
      staging.statistics().add(kBuddyFreeBlocksByType, blocks->count(order), {key.node, key.name, type, order});
    }
    return nullptr;
  };
  return for_each_whole_line(kFiles[kMigrateTypes], raw.content(kMigrateTypes), 0, take);
}

Result<void> parse(const RawBytes& raw, Staging& staging) {
  staging.reset(kCpuFields, raw.cpu_count);
  if (const RawFile* file = raw.file(kMigrateTypes); file != nullptr && file->state == FileState::kRefused) {
    staging.add_note(
        "free blocks by migrate type, because only root may open /proc/pagetypeinfo: start memstatd as root, or switch "
        "migrate_types off");
  }
  if (auto result = parse_zones(raw, staging); !result) return result;
  if (auto result = parse_counters(raw, staging); !result) return result;
  if (auto result = parse_buddy(raw, staging); !result) return result;
  return parse_migrate_types(raw, staging);
}

constexpr MetricOrigin kOrigins[] = {
    {Field::kBytes, "(managed - free) x page size, of zoneinfo"},
    {Field::kCount, "managed - free"},
    {Field::kHeldBytes, "managed x page size, of present where a kernel before 3.9 has no managed"},
    {Field::kFree, "pages free"},
    {Field::kSize, "page size"},
    {Field::kRSize, "page size"},
    {CpuField::kFree, "pagesets: count"},
    {kZoneWatermarkBytes, "min, low, high, promo x page size, of zoneinfo"},
    {kZoneBoost, "boost x page size, of zoneinfo"},
    {kZoneFreeCma, "nr_free_cma x page size, of zoneinfo, unless cma is 0"},
    {kNodeMemoryBytes,
     "managed, free, nr_slab_reclaimable and nr_slab_unreclaimable of zoneinfo, summed over the node's zones, x page size"},
    {kNodeUnreclaimable, "node_unreclaimable, of zoneinfo (all_unreclaimable before 4.12)"},
    {kNumaEvents, "numa_* of zoneinfo, over the zones of a node"},
    {kPageAllocations, "pgalloc_*, of vmstat"},
    {kPageFrees, "pgfree, of vmstat"},
    {kPageAllocationFailures,
     "htlb_buddy_alloc_fail, cma_alloc_fail, thp_fault_fallback, thp_collapse_alloc_failed, thp_file_fallback, "
     "thp_zero_page_alloc_failed, of vmstat"},
    {kPageMigrationFailures, "pgmigrate_fail, of vmstat"},
    {kCompactionStalls, "compact_stall, of vmstat"},
    {kCompactionFailures, "compact_fail, of vmstat"},
    {kCompactionSuccesses, "compact_success, of vmstat"},
    {kZoneLargestFreeBlock, "the highest order with a free block in buddyinfo"},
    {kBuddyFreeBlocks, "buddyinfo"},
    {kFragmentationIndex, "computed from buddyinfo as extfrag_index of debugfs is"},
    {kUnusableFreeRatio, "computed from buddyinfo as unusable_index of debugfs is"},
    {kBuddyFreeBlocksByType, "pagetypeinfo, with migrate_types"},
};
static_assert(fields_of(kOrigins) == kFields && cpu_fields_of(kOrigins) == kCpuFields);

}  // namespace

extern const SourceDescriptor descriptor{
    .name = "linux_page",
    .origin = origin_of<kFiles>(),
    .os = OperatingSystem::kLinux,
    .allocator = Allocator::kPage,
    .is_roster = true,
    .origins = kOrigins,
    .options = kOptions,
    .plan = kPlan,
    .notes =
        "a type is a zone with memory: \"node 0 Normal\"; pages in per-CPU sets count as in use, as in the kernel; healthy "
        "zones are full of page cache, so watermarks are not limits; page_allocations_total is by kind of zone over all "
        "nodes; pages by migrate type only with migrate_types: on, which needs root at start and walks the free lists under "
        "the zone's lock",
    .steps = planned_steps<kPlan, parse>(),
};

}  // namespace memstat::sources::linux_page
