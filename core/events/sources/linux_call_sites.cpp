// SPDX-License-Identifier: BSD-2-Clause
// The origins of allocations from Linux's slab caches: calling functions, control groups and commands, counted from the
// allocator's events since memstatd attached to them. The text, in this order, with a tab before each name:
//
//   call_sites 1                  the version
//   unplaced N                    events without room for their function, counted only as other
//   missed N                      events that occurred during one of the same kind on the same CPU
//   governor ATTACHED WEIGHT COST_NS SAMPLED_NS BUDGET_PPM [later|lost]      optional; if ATTACHED is 0, "end" follows
//   site ALLOCATIONS REQUESTED ALLOCATED FAILURES <tab> NAME    of a function; bytes requested and allocated
//   got BYTES COUNT...            kmalloc() of the function above by size: up to 8 B, 16 B, ..., 1 GiB, and above
//   group ALLOCATIONS ALLOCATED CHARGED FAILURES <tab> NAME     of a control group; CHARGED: bytes of ALLOCATED
//   origin ALLOCATIONS ALLOCATED FAILURES <tab> CACHE <tab> GROUP <tab> COMMAND <tab> NAME
//   end
//
// The names are the top ones; "other" is the sum of all others. Numbers never shrink while their name stays listed.
// Programs choose their own names: two that become equal after invalid bytes are replaced are summed.

#include "core/base/arithmetic.h"
#include "core/events/attach/event_source.h"
#include "core/events/attach/live_tables.h"
#include "core/events/sites/caller_table.h"
#include "core/source.h"

namespace memstat::sources::linux_call_sites {
namespace {

using events::kLostEvents;

constexpr SystemMetric kSiteSizes =
    histogram_metric("memstat_call_site_size_bytes", Tier::kFull,
                     "Allocations by kmalloc, by calling kernel function and allocated size, since memstatd attached to the "
                     "events. The functions are the types of allocator kmalloc_site.",
                     events::kSizeBuckets, {"call_site"});

constexpr SystemMetric kGroupAllocations =
    counter_metric("memstat_slab_group_allocations_total", Tier::kFull,
                   "Allocations from slab caches and by kmalloc while a task of the control group ran, since memstatd "
                   "attached to the events or listed the group. Group other: all groups that are not listed.",
                   {"group"});

constexpr SystemMetric kGroupBytes =
    counter_metric("memstat_slab_group_allocated_bytes_total", Tier::kDefault,
                   "Bytes allocated by memstat_slab_group_allocations_total; much of it may be free again.", {"group"});

constexpr SystemMetric kGroupCharged =
    counter_metric("memstat_slab_group_charged_bytes_total", Tier::kDefault,
                   "Bytes of memstat_slab_group_allocated_bytes_total that the kernel charges to the control group: "
                   "from caches that are charged, or with __GFP_ACCOUNT.",
                   {"group"});

constexpr SystemMetric kGroupFailures =
    counter_metric("memstat_slab_group_failures_total", Tier::kDefault,
                   "Failed allocations from slab caches and by kmalloc while a task of the control group ran, since "
                   "memstatd attached to the events or listed the group.",
                   {"group"});

constexpr SystemMetric kOriginAllocations = counter_metric(
    "memstat_slab_origin_allocations_total", Tier::kFull,
    "Allocations from a slab cache by origin (control group, name of the task, kernel function that called the "
    "allocator), since memstatd attached to the events or listed the origin. All three other: origins that are not "
    "listed.",
    {"cache", "group", "command", "call_site"});

constexpr SystemMetric kOriginBytes =
    counter_metric("memstat_slab_origin_allocated_bytes_total", Tier::kDefault,
                   "Bytes allocated by memstat_slab_origin_allocations_total; much of it may be free again.",
                   {"cache", "group", "command", "call_site"});

constexpr SourceOption list_option(std::string_view name, std::uint64_t length, std::uint64_t most, std::string_view help) {
  return {
      .name = name, .kind = SourceOption::Kind::kNumber, .default_number = length, .least = 1, .most = most, .help = help};
}

enum Option : std::size_t { kEvents, kSites, kGroups, kOrigins };
constexpr SourceOption kOptions[] = {
    events::events_option("full", "The mode of key events and what they may cost, in millionths of a CPU."),
    list_option("sites", 50, 1000, "maximum number of functions listed: those that recently allocated the most bytes"),
    list_option("groups", 50, 1000, "maximum number of control groups listed: those that recently allocated the most bytes"),
    list_option("origins", 5, 50,
                "maximum number of origins (control group, command and function) listed for a slab cache: those that "
                "recently allocated the most bytes"),
};

std::size_t number_of(const ReaderState& state, Option option) {
  return option < state.options.size() ? state.options[option].number : kOptions[option].default_number;
}

std::unique_ptr<TextTableSource> make_site_table(const ReaderState& state) {
  return events::make_call_sites(state.options[kEvents].text, {.sites = number_of(state, kSites),
                                                               .groups = number_of(state, kGroups),
                                                               .origins_of_a_cache = number_of(state, kOrigins)});
}

class Parser {
 public:
  Parser(const RawBytes& raw, Staging& staging) : rows_(events::kSiteTable, raw.parts[0].view()), staging_(staging) {}

  Result<void> parse() {
    staging_.reset({}, 0);
    std::uint64_t unplaced = 0;
    std::uint64_t missed = 0;
    if (auto result = rows_.take_head({{"unplaced", &unplaced}, {"missed", &missed}}); !result) return result;
    staging_.statistics().add(kLostEvents, unplaced, {"site_unplaced"});
    staging_.statistics().add(kLostEvents, missed, {"site_missed"});
    auto result = rows_.take_rest([this](const events::TableRow& row) { return take(row); });
    if (result && staging_.types().empty() && !governor_.is_detached()) {
      return rows_.wrong(rows_.size(), "does not name a function");
    }
    return result;
  }

 private:
  bool take(const events::TableRow& row) {
    if (row.word == "site") return take_site(row);
    if (row.word == "got") return take_sizes(row);
    if (row.word == "group") return take_group(row);
    if (row.word == "origin") return take_origin(row);
    return row.word == "governor" && governor_.take(row, events::kSiteTable.source, staging_);
  }

  bool take_site(const events::TableRow& row) {
    const std::size_t types = staging_.types().size();
    StagedType& type = staging_.merge(row.name[0]);
    site_ = type.name;
    has_sizes_ =
        staging_.types().size() != types;  // two modules' functions with the same name are one type, with one histogram
    type.fields = FieldMask(Field::kNumAllocs, Field::kRequestedBytes, Field::kMemAlloced, Field::kFailures);
    const auto add = [&type](Field field, std::uint64_t amount) {
      type.figures[field] = saturating_sum(type.figures[field], amount);
    };
    add(Field::kNumAllocs, row.number[0]);
    add(Field::kRequestedBytes, row.number[1]);
    add(Field::kMemAlloced, row.number[2]);
    add(Field::kFailures, row.number[3]);
    return true;
  }

  bool take_sizes(const events::TableRow& row) {
    if (site_.empty() || row.number_count != 2 + events::kSizeBounds.size()) return false;
    if (!has_sizes_) return true;
    has_sizes_ = false;
    staging_.statistics().add_histogram(
        kSiteSizes, {.counts = row.numbers().subspan(1), .sum = static_cast<double>(row.number[0])}, {site_});
    return true;
  }

  bool take_group(const events::TableRow& row) {
    StagedStatistics& statistics = staging_.statistics();
    statistics.merge(kGroupAllocations, row.number[0], {row.name[0]});
    statistics.merge(kGroupBytes, row.number[1], {row.name[0]});
    statistics.merge(kGroupCharged, row.number[2], {row.name[0]});
    statistics.merge(kGroupFailures, row.number[3], {row.name[0]});
    return true;
  }

  bool take_origin(const events::TableRow& row) {
    const auto& [cache, group, command, site] = row.name;
    StagedStatistics& statistics = staging_.statistics();
    statistics.merge(kOriginAllocations, row.number[0], {cache, group, command, site});
    statistics.merge(kOriginBytes, row.number[1], {cache, group, command, site});
    return true;
  }

  events::TableReader rows_;
  events::GovernorRow governor_;
  Staging& staging_;
  std::string_view site_;   // the current function
  bool has_sizes_ = false;  // sizes are still accepted
};

Result<void> parse(const RawBytes& raw, Staging& staging) { return Parser(raw, staging).parse(); }

constexpr auto kOriginsOfMetrics = events::with_costs({
    {Field::kNumAllocs, "kmem:kmalloc + kmem:kmem_cache_alloc by call_site, since attaching"},
    {Field::kMemAlloced, "bytes_alloc of the same, size of struct kmem_cache"},
    {Field::kRequestedBytes, "bytes_req of the same, object_size of struct kmem_cache"},
    {Field::kFailures, "failed calls of both"},
    {kSiteSizes, "bytes_alloc of kmem:kmalloc"},
    {kGroupAllocations, "kmem:kmalloc + kmem:kmem_cache_alloc by the memory controller's group of the current task"},
    {kGroupBytes, "bytes_alloc of the same, size of struct kmem_cache"},
    {kGroupCharged, "of these with __GFP_ACCOUNT, or SLAB_ACCOUNT in flags of struct kmem_cache"},
    {kGroupFailures, "failed calls of both"},
    {kOriginAllocations, "the same by cache, group, comm and call_site"},
    {kOriginBytes, "the same by cache, group, comm and call_site"},
    {kLostEvents, "counted by memstatd's programs and, as recursion_misses, by the kernel"},
});

}  // namespace

extern const SourceDescriptor descriptor = events::attached_source({
    .name = "linux_call_sites",
    .origin = "raw tracepoints kmem:kmalloc, kmem_cache_alloc",
    .os = OperatingSystem::kLinux,
    .allocator = Allocator::kKmallocSite,
    .is_roster = true,
    .origins = kOriginsOfMetrics,
    .options = kOptions,
    .notes = "on if key events.mode is full; needs root, or CAP_BPF and CAP_PERFMON, at start, and Linux 6.1 with BTF; an "
             "allocation in an interrupt counts for the interrupted task; names of kworker threads end at the slash; the "
             "control group is the one whose memory limit applies to the task; the cache of a kmalloc() is named by its "
             "size and flags, above 8 KiB kmalloc-large; takes 3 MiB, and 240 KiB per CPU; at most 8192 combinations of "
             "function, size, group and command at a time; for others only the function and the cache are known",
    .steps = events::table_steps<events::kSiteTable, make_site_table, parse>(),
});

}  // namespace memstat::sources::linux_call_sites
