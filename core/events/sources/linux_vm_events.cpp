// SPDX-License-Identifier: BSD-2-Clause
// Events of Linux's memory management since memstatd attached to them. The text, in this order:
//
//   vm_events 1                   the version
//   missed N                      events that occurred during one of the same kind on the same CPU
//   by_cache 0|1                  1: failures of slab caches are counted here, and linux_slab_events has none
//   governor ATTACHED WEIGHT COST_NS SAMPLED_NS BUDGET_PPM [later|lost]
//                                 optional; if ATTACHED is 0, only rare events follow
//   unsupported EVENT: REASON     an event that this kernel or its policy does not provide
//   event EVENT COUNT [BYTES]     bytes for events that have a size
//   fault KIND COUNT              page faults: read and write by access; minor, major, oom and sigbus by outcome
//   cpu_event EVENT CPU COUNT     the events on one CPU; only if enabled and not 0; CPUs ascend;
//                                 cpu_fault KIND CPU COUNT: the same for page faults
//   fault_times KIND NS COUNT...  durations of page faults with this outcome: the sum, and the numbers up to 2^-22 s,
//                                 2^-21 s, ..., 16 s, and above; if enabled
//   untimed N                     if times are enabled: faults whose end was not seen
//   pages ORDER TYPE COUNT        allocations of 2^ORDER pages, by migrate type
//   page_failures ORDER COUNT     failed allocations
//   gfp ALLOCATOR CLASS ALLOCATIONS FAILURES        pages by GFP class, if enabled
//   sizes ALLOCATOR BYTES COUNT...      allocations by size, up to 8 B, 16 B, ..., 1 GiB, and above; if enabled
//   victim COUNT COMMAND          processes killed for lack of memory; other_victim COUNT: with other commands
//   cache COUNT NAME              failed allocations of slab caches; other_cache COUNT: of other caches
//   end
//
// A name may occur twice, if two CPUs saw it for the first time at the same moment.
#include <memory>
#include <string>

#include "core/base/arithmetic.h"
#include "core/base/text.h"
#include "core/events/attach/event_source.h"
#include "core/events/attach/live_tables.h"
#include "core/events/vm/vm_rows.h"
#include "core/source.h"

namespace memstat::sources::linux_vm_events {
namespace {

using events::kLostEvents;
using events::kVmEventBytes;
using events::kVmEvents;

constexpr std::string_view kTable = "linux_vm_events";

constexpr SystemMetric kVictims =
    counter_metric("memstat_oom_victims_total", Tier::kDefault,
                   "Processes that the kernel chose to kill because memory ran out, since memstatd attached to these "
                   "events, by command; beyond 64 commands: other.",
                   {"command"});

constexpr SourceOption kOptions[] = {
    events::events_option("failures",
                          "The mode of key events (failures counts rare events, counters and full count all) and what they "
                          "may cost, in millionths of a CPU."),
    {.name = "per_cpu",
     .kind = SourceOption::Kind::kSwitch,
     .most = 1,
     .help = "also counts of each CPU, memstat_cpu_vm_events_total and memstat_cpu_page_faults_total: events times CPUs "
             "series"},
    events::kGfpOption};
constexpr std::size_t kPerCpuOption = 1;
constexpr std::size_t kGfpClassesOption = 2;

constexpr SystemMetric kPageFaults = counter_metric(
    "memstat_page_faults_total", Tier::kDefault,
    "Page faults since memstatd attached to their events, each counted twice: by access (read, write), and by outcome "
    "(minor, major, oom, sigbus). Kinds that this kernel or its policy does not provide are absent.",
    {"kind"});

constexpr SystemMetric kCpuVmEvents =
    counter_metric("memstat_cpu_vm_events_total", Tier::kDefault,
                   "memstat_vm_events_total by CPU, if there were any on it. Needs option per_cpu of the source "
                   "linux_vm_events.",
                   {"event", "cpu"});

constexpr SystemMetric kCpuPageFaults =
    counter_metric("memstat_cpu_page_faults_total", Tier::kDefault,
                   "memstat_page_faults_total by CPU, if there were any on it; kinds that the kernel counts itself are "
                   "absent. Needs option per_cpu of the source linux_vm_events.",
                   {"kind", "cpu"});

constexpr SystemMetric kPageAllocations =
    counter_metric("memstat_page_order_allocations_total", Tier::kFull,
                   "Successful allocations from the page allocator, since memstatd attached to their events, by order "
                   "(2^order pages) and migrate type.",
                   {"order", "migrate_type"});

constexpr SystemMetric kPageFailures = counter_metric(
    "memstat_page_order_failures_total", Tier::kDefault,
    "Failed allocations from the page allocator, since memstatd attached to their events, by order (2^order pages).",
    {"order"});

struct State final : ReaderState {
  std::unique_ptr<events::EventTable> table;
};

/// Replays call neither step of the table.
TextTableSource& table_of(KernelView& view, State& state) {
  if (!state.table) {
    const bool has_classes = state.options[kGfpClassesOption].number != 0;
    state.table = events::make_vm_events(state.options[0].text + std::string(has_classes ? events::kGfpWord : ""));
  }
  state.table->set_view(view);
  state.table->show_cpus(state.options[kPerCpuOption].number != 0);
  return *state.table;
}

Result<void> open(KernelView& view, RawBytes&, State& state) { return view.open_table(kTable, table_of(view, state)); }

Result<void> read(KernelView& view, RawBytes& raw, State& state) {
  return view.read_table(kTable, table_of(view, state), raw.parts[0]);
}

class Parser {
 public:
  Parser(const RawBytes& raw, Staging& staging) : rows_(events::kVmTable, raw.parts[0].view()), staging_(staging) {}

  Result<void> parse() {
    staging_.reset({}, 0);
    std::uint64_t missed = 0;
    std::uint64_t by_cache = 0;
    if (auto result = rows_.take_head({{"missed", &missed}, {"by_cache", &by_cache}}); !result) return result;
    staging_.statistics().add(kLostEvents, missed, {"vm_missed"});
    if (by_cache == 0) staging_.omit(FieldMask(Field::kFailures), {});
    return rows_.take_rest([this](const events::TableRow& row) { return take(row); });
  }

 private:
  bool take(const events::TableRow& row) {
    StagedStatistics& statistics = staging_.statistics();
    const auto& word = row.word;
    const auto& numbers = row.number;
    const std::string_view name = row.name[0];
    if (word == "governor") return governor_.take(row, kTable, staging_);
    if (word == "unsupported") return take_unsupported(name);
    if (word == "event") return events::take_event(row, staging_);
    if (word == "cpu_event") return take_of_cpu(row, kCpuVmEvents);
    if (word == "cpu_fault") return take_of_cpu(row, kCpuPageFaults);
    if (word == "fault_times") return take_fault_times(row);
    if (word == "sizes") return events::take_sizes(row, staging_);
    if (word == "gfp") return gfp_.take(row, staging_);
    if (word == "fault") statistics.merge(kPageFaults, numbers[0], {name});
    if (word == "untimed") statistics.add(kLostEvents, numbers[0], {"untimed"});
    if (word == "pages") statistics.merge(kPageAllocations, numbers[1], {numbers[0], name});
    if (word == "page_failures") statistics.merge(kPageFailures, numbers[1], {numbers[0]});
    // A command may itself be called "other", or equal another one once invalid bytes are replaced.
    if (word == "victim") statistics.merge(kVictims, numbers[0], {name});
    if (word == "other_victim" && numbers[0] != 0) statistics.merge(kVictims, numbers[0], {kOther});
    if (word == "cache") {
      StagedType& type = staging_.merge(name);
      type.fields = FieldMask(Field::kFailures);
      type.figures[Field::kFailures] = saturating_sum(type.figures[Field::kFailures], numbers[0]);
    }
    return word != "missed" && word != "by_cache";  // other_cache needs no more: the event's own count includes it
  }

  bool take_unsupported(std::string_view reason) {
    if (reason.find(": ") == std::string_view::npos) return false;
    staging_.add_note(trim(reason));
    return true;
  }

  bool take_of_cpu(const events::TableRow& row, const SystemMetric& metric) {
    const std::string_view word = row.name[0];
    const std::uint64_t cpu = row.number[0];
    if (cpu > kMaxCpu) return false;
    const bool is_same_event = metric_of_cpus_ == &metric && event_of_cpus_ == word;
    if (is_same_event ? cpu < next_cpu_ : ++cpu_event_count_ > kMaxEvents) return false;
    metric_of_cpus_ = &metric;
    event_of_cpus_ = word;
    next_cpu_ = cpu + 1;
    staging_.statistics().merge(metric, row.number[1], {word, cpu});
    return true;
  }

  bool take_fault_times(const events::TableRow& row) {
    StagedStatistics& statistics = staging_.statistics();
    const std::string_view kind = row.name[0];
    if (row.number_count != 2 + events::kTimeBounds.size() || statistics.has(events::kPageFaultTimes, kind)) return false;
    statistics.add_histogram(events::kPageFaultTimes,
                             {.counts = row.numbers().subspan(1), .sum = static_cast<double>(row.number[0]) / 1e9}, {kind});
    return true;
  }

  static constexpr std::size_t kMaxEvents = 64;
  static constexpr std::uint64_t kMaxCpu = 65535;
  static constexpr std::string_view kOther = "other";

  events::TableReader rows_;
  events::GovernorRow governor_;
  events::GfpRows gfp_;
  Staging& staging_;
  const SystemMetric* metric_of_cpus_ = nullptr;
  std::string_view event_of_cpus_;
  std::uint64_t next_cpu_ = 0;
  std::size_t cpu_event_count_ = 0;
};

Result<void> parse(const RawBytes& raw, Staging& staging) { return Parser(raw, staging).parse(); }

constexpr auto kOrigins = events::with_costs({
    {Field::kFailures, "calls of slab_out_of_memory(), else the kernel's messages \"cache: NAME\""},
    {kVmEvents,
     "oom_kill is oom:mark_victim, slab_failure a call of slab_out_of_memory() or else its message, page_failure "
     "kmem:mm_page_alloc without a page or, in mode failures, the message 'page allocation failure', percpu_failure "
     "percpu:percpu_alloc_percpu_fail, vmalloc_failure vmalloc:alloc_vmap_area that failed, write_shared do_wp_page(), "
     "write_shared_copy wp_page_copy(), mmap, munmap and brk ksys_mmap_pgoff(), __vm_munmap() and do_brk_flags() or "
     "else syscalls:sys_enter_*, page_alloc and page_free kmem:mm_page_alloc and mm_page_free, percpu_alloc and "
     "percpu_free percpu:percpu_alloc_percpu and percpu_free_percpu, vmalloc and vfree vmalloc:alloc_vmap_area and "
     "free_vmap_area_noflush"},
    {kVmEventBytes, "size, length or pages of the same"},
    {kPageFaults,
     "result of handle_mm_fault(), or else exceptions:page_fault_user and page_fault_kernel, pgfault and pgmajfault of "
     "vmstat, and signal:signal_generate of SIGBUS with BUS_ADRERR"},
    {kCpuVmEvents, "the same as memstat_vm_events_total, by CPU"},
    {kCpuPageFaults, "the same as memstat_page_faults_total, by CPU, but pgfault and pgmajfault"},
    {kPageAllocations, "kmem:mm_page_alloc"},
    {kPageFailures, "kmem:mm_page_alloc without a page"},
    {kVictims, "comm of oom:mark_victim"},
    {kLostEvents, "recursion_misses of memstatd's programs, and begun page faults without an end"},
    {events::kPageFaultTimes,
     "time between call and return of handle_mm_fault() by programs or kprobes, or else between the software events "
     "page-faults and minor-faults, major-faults or signal:signal_generate of SIGBUS with BUS_ADRERR"},
    {events::kAllocationSizes,
     "order of kmem:mm_page_alloc, size of percpu:percpu_alloc_percpu and vmalloc:alloc_vmap_area"},
    {events::kGfpAllocations, "gfp_flags of kmem:mm_page_alloc"},
    {events::kGfpFailures, "the same, without a page"},
});

}  // namespace

extern const SourceDescriptor descriptor = events::attached_source({
    .name = kTable,
    .origin = "raw tracepoints of oom, printk, percpu, vmalloc, kmem, exceptions, signal and syscalls, and functions",
    .os = OperatingSystem::kLinux,
    .allocator = Allocator::kSlab,
    .origins = kOrigins,
    .options = kOptions,
    .notes = "on unless key events.mode is off, if it is permitted: needs root, or CAP_BPF and CAP_PERFMON, at start, and "
             "BTF; in mode failures it attaches to rare events only, without measurable cost; if programs cannot be "
             "attached to functions, failures of slab caches, and in mode failures of pages, are those that the kernel "
             "printed, which are fewer: it prints at most ten of each in five seconds, and none if the caller forbids it; "
             "failures of a slab cache are those for lack of pages, not those at the limit of a control group; if "
             "linux_slab_events is on, it has the failures by cache; in mode counters each page allocation, free and fault "
             "takes some 30 ns longer; mode full measures the duration of page faults, which takes some 500 ns each if "
             "programs cannot be attached to functions (durations of failed ones are then unknown, except sigbus, and so "
             "are those on CPUs that come online later); mmap, munmap and brk need functions or a mounted tracefs; an event "
             "that this kernel does not provide is absent, and the status page shows why",
    .steps = source_steps<State, open, read, parse>(),
});

}  // namespace memstat::sources::linux_vm_events
