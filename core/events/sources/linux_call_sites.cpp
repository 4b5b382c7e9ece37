// SPDX-License-Identifier: BSD-2-Clause
// Who allocates from Linux's slab caches: functions that call the allocator, control groups and commands, counted from its
// events since memstatd attached to them (core/events/sites/call_sites.h). The text, in this order, with a tab before each
// name:
//
//   call_sites 1                  the version
//   unplaced N                    events without room for their function: they are among the others only
//   missed N                      events during an event of the same kind on the same CPU
//   governor ATTACHED WEIGHT COST_NS SAMPLED_NS BUDGET_PPM [later|lost]      may be missing; ATTACHED 0: then "end" follows
//   site ALLOCATIONS REQUESTED ALLOCATED FAILURES <tab> NAME    of a function; bytes: asked for, and got
//   got BYTES COUNT...            of the function above, its kmalloc() by size: up to 8 B, 16 B, ..., 1 GiB, and above
//   group ALLOCATIONS ALLOCATED CHARGED FAILURES <tab> NAME     of a control group; CHARGED: bytes of ALLOCATED
//   origin ALLOCATIONS ALLOCATED FAILURES <tab> CACHE <tab> GROUP <tab> COMMAND <tab> NAME
//   end
//
// The names are those that count for most; "other" are all others together. A number never shrinks while its name stays.
// Programs choose their names: two that look alike once what is no text in them is replaced are one, with the sums.
#include <array>
#include <string>

#include "core/base/arithmetic.h"
#include "core/base/text.h"
#include "core/events/attach/event_settings.h"
#include "core/events/sites/call_sites.h"
#include "core/events/table/event_metrics.h"
#include "core/events/table/table_lines.h"
#include "core/source.h"

namespace memstat::sources::linux_call_sites {
namespace {

using events::kLostEvents;
using events::take_number;

constexpr SystemMetric kSiteSizes{
    .facts = {.name = "memstat_call_site_size_bytes",
              .kind = MetricKind::kHistogram,
              .tier = Tier::kFull,
              .help =
                  "Allocations of a function of the kernel by kmalloc, since memstatd attached to the events, by what they "
                  "got. The functions are those of allocator kmalloc_site.",
              .unit = "bytes"},
    .labels = {"call_site"},
    .buckets = &events::kSizeBuckets};

constexpr SystemMetric kGroupAllocations{
    .facts = {.name = "memstat_slab_group_allocations_total",
              .kind = MetricKind::kCounter,
              .tier = Tier::kFull,
              .help = "Allocations from slab caches and by kmalloc while a task of the control group ran, since memstatd "
                      "attached to the events or listed the group. Group other: all groups that are not listed."},
    .labels = {"group"}};

constexpr SystemMetric kGroupBytes{
    .facts = {.name = "memstat_slab_group_allocated_bytes_total",
              .kind = MetricKind::kCounter,
              .tier = Tier::kDefault,
              .help = "Bytes that the allocations of memstat_slab_group_allocations_total got. What of it is in use is not "
                      "known: much is freed at once.",
              .unit = "bytes"},
    .labels = {"group"}};

constexpr SystemMetric kGroupCharged{
    .facts = {.name = "memstat_slab_group_charged_bytes_total",
              .kind = MetricKind::kCounter,
              .tier = Tier::kDefault,
              .help = "Bytes of memstat_slab_group_allocated_bytes_total that the kernel charges to the control group: from "
                      "caches that are charged, or with __GFP_ACCOUNT.",
              .unit = "bytes"},
    .labels = {"group"}};

constexpr SystemMetric kGroupFailures{
    .facts = {.name = "memstat_slab_group_failures_total",
              .kind = MetricKind::kCounter,
              .tier = Tier::kDefault,
              .help = "Allocations from slab caches and by kmalloc that failed while a task of the control group ran, since "
                      "memstatd attached to the events or listed the group."},
    .labels = {"group"}};

constexpr SystemMetric kOriginAllocations{
    .facts = {.name = "memstat_slab_origin_allocations_total",
              .kind = MetricKind::kCounter,
              .tier = Tier::kFull,
              .help = "Allocations from a slab cache by who asked for them, since memstatd attached to the events or listed "
                      "them: the control group, the name of the task, the function of the kernel that called the allocator. "
                      "All three other: those that are not listed."},
    .labels = {"cache", "group", "command", "call_site"}};

constexpr SystemMetric kOriginBytes{
    .facts = {.name = "memstat_slab_origin_allocated_bytes_total",
              .kind = MetricKind::kCounter,
              .tier = Tier::kDefault,
              .help = "Bytes that the allocations of memstat_slab_origin_allocations_total got. What of it is in use is not "
                      "known: much is freed at once.",
              .unit = "bytes"},
    .labels = {"cache", "group", "command", "call_site"}};

enum Option : std::size_t { kEvents, kSites, kGroups, kOrigins };
constexpr SourceOption kOptions[] = {
    events::events_option("full", "The mode of key events and what they may cost, in millionths of a CPU."),
    {.name = "sites",
     .kind = SourceOption::Kind::kNumber,
     .default_number = 50,
     .least = 1,
     .most = 1000,
     .help = "how many functions are listed, those that lately allocated most bytes"},
    {.name = "groups",
     .kind = SourceOption::Kind::kNumber,
     .default_number = 50,
     .least = 1,
     .most = 1000,
     .help = "how many control groups are listed, likewise"},
    {.name = "origins",
     .kind = SourceOption::Kind::kNumber,
     .default_number = 5,
     .least = 1,
     .most = 50,
     .help = "of how many control groups, commands and functions together a slab cache is listed, likewise"},
};

constexpr std::string_view kTable = "linux_call_sites";

struct State final : ReaderState {
  std::unique_ptr<LiveTable> table;
};

std::size_t number_of(const State& state, Option option) {
  return option < state.options.size() ? state.options[option].number : kOptions[option].default_number;
}

/// Replays call neither step of the table.
LiveTable& table_of(State& state) {
  if (!state.table) {
    state.table = events::make_call_sites(state.options[kEvents].text, {.sites = number_of(state, kSites),
                                                                        .groups = number_of(state, kGroups),
                                                                        .origins_of_a_cache = number_of(state, kOrigins)});
  }
  return *state.table;
}

Result<void> open(KernelView& view, RawBytes&, State& state) { return view.open_table(kTable, table_of(state)); }

Result<void> read(KernelView& view, RawBytes& raw, State& state) {
  return view.read_table(kTable, table_of(state), raw.parts[0]);
}

/// Parses one text. Thread safety: none.
class Parser {
 public:
  Parser(const RawBytes& raw, Staging& staging)
      : lines_(kTable, raw.parts[0].view()), size_of_text_(raw.parts[0].size()), staging_(staging) {}

  Result<void> parse() {
    staging_.reset({}, 0);
    if (auto result = parse_header(); !result) return result;
    const auto take_line = [this](std::string_view line) {
      std::string_view word;
      next_word(line, word);
      return ++line_count_ <= kMostLines && take(word, line);
    };
    auto result = lines_.take_rest(take_line, "is no function, control group or origin with its numbers and names");
    if (result && staging_.types().empty() && !governor_.is_detached()) {
      return lines_.wrong(size_of_text_, "names no function");
    }
    return result;
  }

 private:
  Result<void> parse_header() {
    if (auto result = lines_.take_version("call_sites 1"); !result) return result;
    std::uint64_t unplaced = 0;
    std::uint64_t missed = 0;
    if (auto result = lines_.take_figure("unplaced", unplaced); !result) return result;
    if (auto result = lines_.take_figure("missed", missed); !result) return result;
    staging_.statistics().add(kLostEvents, unplaced, {"site_unplaced"});
    staging_.statistics().add(kLostEvents, missed, {"site_missed"});
    return {};
  }

  bool take(std::string_view word, std::string_view line) {
    if (word == "site") return take_site(line);
    if (word == "got") return take_sizes(line);
    if (word == "group") return take_group(line);
    if (word == "origin") return take_origin(line);
    return word == "governor" && governor_.take(line, kTable, staging_);
  }

  template <std::size_t N>
  static bool take_numbers(std::string_view& line, std::array<std::uint64_t, N>& numbers) {
    for (std::uint64_t& number : numbers) {
      if (!take_number(line, number)) return false;
    }
    return true;
  }
  /// Cuts a tab and the name behind it off the line.
  static bool take_name(std::string_view& line, std::string_view& name) {
    if (line.size() < 2 || line.front() != '\t') return false;
    line.remove_prefix(1);
    name = line.substr(0, line.find('\t'));
    line.remove_prefix(name.size());
    return !name.empty();
  }

  bool take_site(std::string_view line) {
    std::array<std::uint64_t, 4> numbers{};
    std::string_view name;
    if (!take_numbers(line, numbers) || !take_name(line, name) || !line.empty()) return false;
    const std::size_t types = staging_.types().size();
    StagedType& type = staging_.merge(name);
    site_ = type.name;
    has_sizes_ = staging_.types().size() != types;  // functions of one name in two modules are one type, with one histogram
    type.fields = FieldMask(Field::kNumAllocs, Field::kRequestedBytes, Field::kMemAlloced, Field::kFailures);
    const auto add = [&type](Field field, std::uint64_t amount) {
      type.figures[field] = saturating_sum(type.figures[field], amount);
    };
    add(Field::kNumAllocs, numbers[0]);
    add(Field::kRequestedBytes, numbers[1]);
    add(Field::kMemAlloced, numbers[2]);
    add(Field::kFailures, numbers[3]);
    return true;
  }

  bool take_sizes(std::string_view line) {
    std::array<std::uint64_t, 1> bytes{};
    std::array<std::uint64_t, events::kSizeBounds.size() + 1> counts{};
    if (site_.empty() || !take_numbers(line, bytes) || !take_numbers(line, counts) || !line.empty()) return false;
    if (!has_sizes_) return true;
    has_sizes_ = false;
    staging_.statistics().add_histogram(kSiteSizes, {.counts = counts, .sum = static_cast<double>(bytes[0])}, {site_});
    return true;
  }

  bool take_group(std::string_view line) {
    std::array<std::uint64_t, 4> numbers{};
    std::string_view name;
    if (!take_numbers(line, numbers) || !take_name(line, name) || !line.empty()) return false;
    StagedStatistics& statistics = staging_.statistics();
    statistics.merge(kGroupAllocations, numbers[0], {name});
    statistics.merge(kGroupBytes, numbers[1], {name});
    statistics.merge(kGroupCharged, numbers[2], {name});
    statistics.merge(kGroupFailures, numbers[3], {name});
    return true;
  }

  bool take_origin(std::string_view line) {
    std::array<std::uint64_t, 3> numbers{};
    std::array<std::string_view, 4> names;
    if (!take_numbers(line, numbers)) return false;
    for (std::string_view& name : names) {
      if (!take_name(line, name)) return false;
    }
    if (!line.empty()) return false;
    StagedStatistics& statistics = staging_.statistics();
    statistics.merge(kOriginAllocations, numbers[0], {names[0], names[1], names[2], names[3]});
    statistics.merge(kOriginBytes, numbers[1], {names[0], names[1], names[2], names[3]});
    return true;
  }

  static constexpr std::size_t kMostLines = 20'000;  // 1000 functions with sizes, 1000 groups, 192 caches of 50 origins
  events::TableLines lines_;
  events::GovernorLine governor_;
  std::size_t size_of_text_;
  Staging& staging_;
  std::size_t line_count_ = 0;
  std::string_view site_;   // the function at hand
  bool has_sizes_ = false;  // it may still get them
};

Result<void> parse(const RawBytes& raw, Staging& staging) { return Parser(raw, staging).parse(); }

constexpr MetricOrigin kOriginsOfMetrics[] = {
    {Field::kNumAllocs, "kmem:kmalloc + kmem:kmem_cache_alloc by call_site, since attaching"},
    {Field::kMemAlloced, "bytes_alloc of the same, size of struct kmem_cache"},
    {Field::kRequestedBytes, "bytes_req of the same, object_size of struct kmem_cache"},
    {Field::kFailures, "those of both that gave no memory"},
    {kSiteSizes, "bytes_alloc of kmem:kmalloc"},
    {kGroupAllocations, "kmem:kmalloc + kmem:kmem_cache_alloc by the memory controller's group of the task at hand"},
    {kGroupBytes, "bytes_alloc of the same, size of struct kmem_cache"},
    {kGroupCharged, "of these with __GFP_ACCOUNT, or SLAB_ACCOUNT in flags of struct kmem_cache"},
    {kGroupFailures, "those of both that gave no memory"},
    {kOriginAllocations, "the same by cache, group, comm and call_site"},
    {kOriginBytes, "the same by cache, group, comm and call_site"},
    {kLostEvents, "counted by memstatd's programs and, as recursion_misses, by the kernel"},
    {events::kEventsCost, "events x ns an event, or run_time_ns of memstatd's programs"},
    {events::kEventsSampled, "memstatd's governor"},
    {events::kEventsCounted, "memstatd's governor"},
    {events::kEventsBudget, "key events.budget"},
};

}  // namespace

extern const SourceDescriptor descriptor;
const SourceDescriptor descriptor{
    .name = "linux_call_sites",
    .origin = "raw tracepoints kmem:kmalloc, kmem_cache_alloc",
    .os = OperatingSystem::kLinux,
    .allocator = Allocator::kKmallocSite,
    .is_roster = true,
    .fields = fields_of(kOriginsOfMetrics),
    .cpu_fields = {},
    .origins = kOriginsOfMetrics,
    .options = kOptions,
    .is_on_by_default = false,
    .is_traced = true,
    .helper_capabilities = events::kAttachCapabilities,
    .needs = events::kAttachNeeds,
    .notes =
        "on where key events.mode is full; needs root, or CAP_BPF and CAP_PERFMON, at start, and Linux 6.1 with BTF; what "
        "is "
        "allocated in an interrupt counts for the task that it interrupted; names of kworker threads end at the slash; the "
        "control group is the one whose memory limit holds for the task; the cache of a kmalloc() is named by its size and "
        "flags, above 8 KiB kmalloc-large; takes 3 MiB, and 240 KiB a CPU; at most 8192 combinations of function, size, "
        "group and command at a time, of others the function and the cache are known only",
    .steps = source_steps<State, open, read, parse>(),
};

}  // namespace memstat::sources::linux_call_sites
