// SPDX-License-Identifier: BSD-2-Clause
// Events of Linux's memory management since memstatd attached to them (core/events/vm/vm_events.h). The text, in this order:
//
//   vm_events 1                   the version
//   missed N                      events during an event of the same kind on the same CPU
//   by_cache 0|1                  1: failures of slab caches are counted here, and linux_slab_events has none
//   governor ATTACHED WEIGHT COST_NS SAMPLED_NS BUDGET_PPM [later|lost]
//                                 may be missing; ATTACHED 0: what follows is rare events
//   unsupported EVENT: REASON     an event that this kernel or its policy does not give
//   event EVENT COUNT [BYTES]     bytes: of events that have a size
//   fault KIND COUNT              page faults: read and write by access; minor, major, oom and sigbus by how they ended
//   cpu_event EVENT CPU COUNT     what a CPU counted of the event in the next such line; only where that is asked for and
//                                 not 0; CPUs ascend; cpu_fault KIND CPU COUNT: the same of page faults
//   fault_times KIND NS COUNT...  how long page faults took that ended so: the sum, and their number up to 2^-22 s, 2^-21 s,
//                                 ..., 16 s, and above; where that is counted
//   untimed N                     where there are times: faults whose end was not seen
//   pages ORDER TYPE COUNT        allocations of 2^ORDER pages, by migrate type
//   page_failures ORDER COUNT     those that got none
//   gfp ALLOCATOR CLASS ALLOCATIONS FAILURES        pages by class of GFP flags, where that is counted
//   sizes ALLOCATOR BYTES COUNT...      allocations by size, up to 8 B, 16 B, ..., 1 GiB, and above; where that is counted
//   victim COUNT COMMAND          processes that were killed for memory; other_victim COUNT: of further commands
//   cache COUNT NAME              slab caches that got no memory; other_cache COUNT: further ones
//   end
//
// A name may come twice: two CPUs met it at once.
#include <array>
#include <memory>
#include <string>

#include "core/base/arithmetic.h"
#include "core/base/text.h"
#include "core/events/attach/event_settings.h"
#include "core/events/table/event_metrics.h"
#include "core/events/table/table_lines.h"
#include "core/events/vm/vm_events.h"
#include "core/source.h"

namespace memstat::sources::linux_vm_events {
namespace {

using events::kLostEvents;
using events::kVmEventBytes;
using events::kVmEvents;
using events::take_number;

constexpr std::string_view kTable = "linux_vm_events";

constexpr SystemMetric kVictims{
    .facts = {.name = "memstat_oom_victims_total",
              .kind = MetricKind::kCounter,
              .tier = Tier::kDefault,
              .help = "Processes that the kernel chose to kill because memory ran out, since memstatd attached to these "
                      "events, by command; beyond 64 commands: other."},
    .labels = {"command"}};

constexpr SourceOption kOptions[] = {
    events::events_option("failures",
                          "The mode of key events (failures counts what is rare, counters and full all) and what "
                          "they may cost, in millionths of a CPU."),
    {.name = "per_cpu",
     .kind = SourceOption::Kind::kSwitch,
     .most = 1,
     .help = "also counts of each CPU, memstat_cpu_vm_events_total and memstat_cpu_page_faults_total: events times CPUs "
             "series"},
    events::kGfpOption};
constexpr std::size_t kPerCpuOption = 1;
constexpr std::size_t kGfpClassesOption = 2;

constexpr SystemMetric kPageFaults{
    .facts = {.name = "memstat_page_faults_total",
              .kind = MetricKind::kCounter,
              .tier = Tier::kDefault,
              .help =
                  "Page faults since memstatd attached to their events, each counted twice: by access (read, write), and by "
                  "how it ended (minor, major, oom, sigbus). What this kernel or its policy does not give is absent."},
    .labels = {"kind"}};

constexpr SystemMetric kCpuVmEvents{
    .facts = {.name = "memstat_cpu_vm_events_total",
              .kind = MetricKind::kCounter,
              .tier = Tier::kDefault,
              .help = "The part of memstat_vm_events_total on each CPU that counted any. Needs option per_cpu of the source "
                      "linux_vm_events."},
    .labels = {"event", "cpu"}};

constexpr SystemMetric kCpuPageFaults{
    .facts = {.name = "memstat_cpu_page_faults_total",
              .kind = MetricKind::kCounter,
              .tier = Tier::kDefault,
              .help = "The part of memstat_page_faults_total on each CPU that counted any; kinds that the kernel counts by "
                      "itself are absent. Needs option per_cpu of the source linux_vm_events."},
    .labels = {"kind", "cpu"}};

constexpr SystemMetric kPageAllocations{
    .facts = {.name = "memstat_page_order_allocations_total",
              .kind = MetricKind::kCounter,
              .tier = Tier::kFull,
              .help =
                  "Allocations from the page allocator that got memory, since memstatd attached to their events, by order "
                  "(two to this power pages) and migrate type."},
    .labels = {"order", "migrate_type"}};

constexpr SystemMetric kPageFailures{
    .facts =
        {.name = "memstat_page_order_failures_total",
         .kind = MetricKind::kCounter,
         .tier = Tier::kDefault,
         .help = "Allocations from the page allocator that got none, since memstatd attached to their events, by order (two "
                 "to this power pages)."},
    .labels = {"order"}};

struct State final : ReaderState {
  std::unique_ptr<events::VmTable> table;
};

/// Replays call neither step of the table.
LiveTable& table_of(KernelView& view, State& state) {
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

/// Parses one text. Thread safety: none.
class Parser {
 public:
  Parser(const RawBytes& raw, Staging& staging) : lines_(kTable, raw.parts[0].view()), staging_(staging) {}

  Result<void> parse() {
    staging_.reset({}, 0);
    if (auto result = parse_header(); !result) return result;
    return lines_.take_rest([this](std::string_view line) { return take(line); },
                            "is neither an event nor a name with its count");
  }

 private:
  Result<void> parse_header() {
    std::uint64_t missed = 0;
    std::uint64_t by_cache = 0;
    if (auto result = lines_.take_version("vm_events 1"); !result) return result;
    if (auto result = lines_.take_figure("missed", missed); !result) return result;
    if (auto result = lines_.take_figure("by_cache", by_cache); !result) return result;
    staging_.statistics().add(kLostEvents, missed, {"vm_missed"});
    if (by_cache == 0) staging_.leave(FieldMask(Field::kFailures), {});
    return {};
  }

  bool take(std::string_view line) {
    std::string_view word;
    if (!next_word(line, word)) return false;
    if (word == "governor") return governor_.take(line, kTable, staging_);
    if (word == "unsupported") return take_unsupported(trim(line));
    if (word == "event") return event_count_++ < kMostEvents && events::take_event(line, staging_);
    if (word == "fault") return take_fault(line);
    if (word == "cpu_event") return take_of_cpu(line, kCpuVmEvents);
    if (word == "cpu_fault") return take_of_cpu(line, kCpuPageFaults);
    if (word == "fault_times") return take_fault_times(line);
    if (word == "untimed") return take_untimed(line);
    if (word == "sizes") return size_count_++ < kMostSizes && events::take_sizes(line, staging_);
    if (word == "gfp") return gfp_.take(line, staging_);
    if (word == "pages") return take_pages(line);
    if (word == "page_failures") return take_page_failures(line);
    std::uint64_t count = 0;
    if (!take_number(line, count)) return false;
    if (word == "other_victim") return line.empty() && take_other_victims(count);
    if (word == "other_cache") return line.empty();  // the event has them in its count
    if (line.size() < 2) return false;               // the name stands behind one blank, and may have more of them
    const std::string_view name = line.substr(1);
    if (word == "victim") return take_victim(count, name);
    if (word != "cache") return false;
    StagedType& type = staging_.merge(name);
    type.fields = FieldMask(Field::kFailures);
    type.figures[Field::kFailures] = saturating_sum(type.figures[Field::kFailures], count);
    return true;
  }

  bool take_unsupported(std::string_view reason) {
    if (reason.find(": ") == std::string_view::npos) return false;
    staging_.add_note(reason);
    return true;
  }

  bool take_fault(std::string_view line) {
    std::string_view word;
    std::uint64_t count = 0;
    if (!next_word(line, word) || !is_valid_label_text(word) || !take_number(line, count) || !line.empty()) return false;
    if (++event_count_ > kMostEvents) return false;
    staging_.statistics().merge(kPageFaults, count, {word});
    return true;
  }

  bool take_of_cpu(std::string_view line, const SystemMetric& metric) {
    std::string_view word;
    std::uint64_t cpu = 0;
    std::uint64_t count = 0;
    if (!next_word(line, word) || !is_valid_label_text(word) || !take_number(line, cpu) || !take_number(line, count) ||
        !line.empty() || cpu > kHighestCpu) {
      return false;
    }
    const bool is_same_event = metric_of_cpus_ == &metric && event_of_cpus_ == word;
    if (is_same_event ? cpu < next_cpu_ : ++cpu_event_count_ > kMostEvents) return false;
    metric_of_cpus_ = &metric;
    event_of_cpus_ = word;
    next_cpu_ = cpu + 1;
    staging_.statistics().merge(metric, count, {word, cpu});
    return true;
  }

  bool take_fault_times(std::string_view line) {
    std::string_view word;
    std::uint64_t sum_ns = 0;
    if (!next_word(line, word) || !is_valid_label_text(word) || !take_number(line, sum_ns)) return false;
    std::array<std::uint64_t, events::kTimeBounds.size() + 1> counts{};
    for (std::uint64_t& count : counts) {
      if (!take_number(line, count)) return false;
    }
    if (!line.empty() || ++time_count_ > kMostTimes) return false;
    if (staging_.statistics().has(events::kPageFaultTimes, word)) return false;
    staging_.statistics().add_histogram(events::kPageFaultTimes,
                                        {.counts = counts, .sum = static_cast<double>(sum_ns) / 1e9}, {word});
    return true;
  }

  bool take_untimed(std::string_view line) {
    std::uint64_t count = 0;
    if (!take_number(line, count) || !line.empty() || has_untimed_) return false;
    has_untimed_ = true;
    staging_.statistics().add(kLostEvents, count, {"untimed"});
    return true;
  }

  bool take_pages(std::string_view line) {
    std::uint64_t order = 0;
    std::string_view type;
    std::uint64_t count = 0;
    if (!take_number(line, order) || !next_word(line, type) || !is_valid_label_text(type) || !take_number(line, count) ||
        !line.empty() || ++page_count_ > kMostPages) {
      return false;
    }
    staging_.statistics().merge(kPageAllocations, count, {order, type});
    return true;
  }

  bool take_page_failures(std::string_view line) {
    std::uint64_t order = 0;
    std::uint64_t count = 0;
    if (!take_number(line, order) || !take_number(line, count) || !line.empty() || ++page_count_ > kMostPages) return false;
    staging_.statistics().merge(kPageFailures, count, {order});
    return true;
  }

  /// A command may be called "other", too, or look like another one once what is no text in it is replaced.
  bool take_victim(std::uint64_t count, std::string_view command) {
    if (++victim_count_ > kMostCommands) return false;
    staging_.statistics().merge(kVictims, count, {command});
    return true;
  }

  bool take_other_victims(std::uint64_t count) {
    if (count != 0) staging_.statistics().merge(kVictims, count, {kOther});
    return true;
  }

  static constexpr std::size_t kMostEvents = 64;
  static constexpr std::size_t kMostPages = 144;    // 16 orders of 8 migrate types, and their failures
  static constexpr std::size_t kMostCommands = 64;  // as many as the programs have room for
  static constexpr std::string_view kOther = "other";

  events::TableLines lines_;
  events::GovernorLine governor_;
  events::GfpLines gfp_;
  Staging& staging_;
  std::size_t victim_count_ = 0;
  std::size_t event_count_ = 0;
  static constexpr std::uint64_t kHighestCpu = 65535;
  const SystemMetric* metric_of_cpus_ = nullptr;
  std::string_view event_of_cpus_;
  std::uint64_t next_cpu_ = 0;
  std::size_t cpu_event_count_ = 0;
  std::size_t page_count_ = 0;
  static constexpr std::size_t kMostSizes = 8;
  std::size_t size_count_ = 0;
  static constexpr std::size_t kMostTimes = 8;
  std::size_t time_count_ = 0;
  bool has_untimed_ = false;
};

Result<void> parse(const RawBytes& raw, Staging& staging) { return Parser(raw, staging).parse(); }

constexpr MetricOrigin kOrigins[] = {
    {Field::kFailures, "calls of slab_out_of_memory(), else the kernel's messages \"cache: NAME\""},
    {kVmEvents,
     "oom_kill is oom:mark_victim, slab_failure a call of slab_out_of_memory() or else its message, page_failure "
     "kmem:mm_page_alloc without a page or, in mode failures, the message 'page allocation failure', "
     "percpu_failure percpu:percpu_alloc_percpu_fail, vmalloc_failure vmalloc:alloc_vmap_area that failed, "
     "write_shared do_wp_page(), write_shared_copy wp_page_copy(), mmap, munmap and brk ksys_mmap_pgoff(), "
     "__vm_munmap() and do_brk_flags() or else syscalls:sys_enter_*, page_alloc and page_free kmem:mm_page_alloc "
     "and mm_page_free, percpu_alloc and percpu_free percpu:percpu_alloc_percpu and percpu_free_percpu, vmalloc "
     "and vfree vmalloc:alloc_vmap_area and free_vmap_area_noflush"},
    {kVmEventBytes, "size, length or pages of the same"},
    {kPageFaults,
     "result of handle_mm_fault(), or else exceptions:page_fault_user and page_fault_kernel, pgfault and "
     "pgmajfault of vmstat, and signal:signal_generate of SIGBUS with BUS_ADRERR"},
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
    {events::kEventsCost, "events x ns an event, or run_time_ns of memstatd's programs"},
    {events::kEventsSampled, "memstatd's governor"},
    {events::kEventsCounted, "memstatd's governor"},
    {events::kEventsBudget, "key events.budget"},
};

}  // namespace

extern const SourceDescriptor descriptor;
const SourceDescriptor descriptor{
    .name = kTable,
    .origin = "raw tracepoints of oom, printk, percpu, vmalloc, kmem, exceptions, signal and syscalls, and functions",
    .os = OperatingSystem::kLinux,
    .allocator = Allocator::kSlab,
    .is_roster = false,
    .fields = fields_of(kOrigins),
    .cpu_fields = {},
    .origins = kOrigins,
    .options = kOptions,
    .is_on_by_default = false,
    .is_traced = true,
    .helper_capabilities = events::kAttachCapabilities,
    .needs = events::kAttachNeeds,
    .notes =
        "on unless key events.mode is off, where it is permitted: needs root, or CAP_BPF and CAP_PERFMON, at "
        "start, and BTF; in mode failures it attaches to what is rare, and costs nothing that can be measured; "
        "where programs cannot be attached to functions, failures of slab caches, and in mode failures of pages, "
        "are those that the kernel printed, which are fewer: it prints at most ten of each in five seconds, and "
        "none of callers that asked it not to; of a slab cache those for want of pages, not of a limit of a "
        "control group; where linux_slab_events is on, failures by cache are its own; in mode counters each page "
        "allocation, free and fault costs some 30 ns more; mode full times page faults, which costs each some 500 ns where "
        "functions take no program (of failed ones the times are then unknown, except of sigbus, and so are those on CPUs "
        "that come online later); mmap, munmap and brk need functions or a mounted "
        "tracefs; an event that this kernel does not give is absent, and the status page says why",
    .steps = source_steps<State, open, read, parse>(),
};

}  // namespace memstat::sources::linux_vm_events
