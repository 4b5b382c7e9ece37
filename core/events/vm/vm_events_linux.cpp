// SPDX-License-Identifier: BSD-2-Clause
// Loads and attaches bpf/vm_events.bpf.c: for each event, the first probe that this kernel permits.
#include "core/events/attach/live_tables.h"

#if defined(MEMSTAT_HAVE_LIBBPF)

#include <linux/perf_event.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "core/base/ascii.h"
#include "core/base/text.h"
#include "core/events/attach/attached_table.h"
#include "core/events/attach/embedded_programs.h"
#include "core/events/bpf/vm_layout.h"
#include "core/events/vm/vm_rows.h"
#include "core/parse/vmstat.h"

namespace memstat::events {
namespace {

/// A program that counts an event. The alternatives for one event are consecutive, the best first.
struct Probe {
  enum class At : std::uint8_t { kTracepoint, kFunction, kProbe, kCall, kSoftware, kStatistics };
  enum class From : std::uint8_t {
    kRare,
    kCounters,
    kFull
  };  // kRare: attached in every mode; otherwise in this mode and above
  memstat_vm_event event;
  From from = From::kCounters;
  At at = At::kTracepoint;
  const char* program = nullptr;    // nullptr: counted by the kernel itself
  const char* place = nullptr;      // raw tracepoint, function, system call, software event or file
  int arguments = 0;                // minimum number of the tracepoint's arguments
  const char* companion = nullptr;  // a second program, without which the first would count half
};
using enum Probe::At;
using enum Probe::From;
constexpr const char* kVmCountersFile = "/proc/vmstat";
constexpr std::array kEventProbes{
    Probe{MEMSTAT_VM_OOM_KILL, kRare, kTracepoint, "on_mark_victim", "mark_victim", 1},
    Probe{MEMSTAT_VM_SLAB_FAILURE, kRare, kFunction, "on_slab_out_of_memory", "slab_out_of_memory"},
    Probe{MEMSTAT_VM_SLAB_FAILURE, kRare, kTracepoint, "on_slab_message", "console", 2},
    Probe{MEMSTAT_VM_PAGE_FAILURE, kCounters, kTracepoint, "on_page_alloc", "mm_page_alloc", 4},
    Probe{MEMSTAT_VM_PAGE_FAILURE, kRare, kTracepoint, "on_page_message", "console", 2},
    Probe{MEMSTAT_VM_PERCPU_FAILURE, kRare, kTracepoint, "on_percpu_failure", "percpu_alloc_percpu_fail", 4},
    Probe{MEMSTAT_VM_VMALLOC_FAILURE, kCounters, kTracepoint, "on_vmap_area", "alloc_vmap_area", 6},
    Probe{MEMSTAT_VM_VMALLOC_FAILURE, kRare, kTracepoint, "on_vmap_failure", "alloc_vmap_area", 6},
    Probe{MEMSTAT_VM_FAULT_READ, kCounters, kFunction, "on_fault", "handle_mm_fault"},
    Probe{MEMSTAT_VM_FAULT_READ, kCounters, kTracepoint, "on_user_fault", "page_fault_user", 3, "on_kernel_fault"},
    Probe{MEMSTAT_VM_FAULT_WRITE, kCounters, kFunction, "on_fault", "handle_mm_fault"},
    Probe{MEMSTAT_VM_FAULT_WRITE, kCounters, kTracepoint, "on_user_fault", "page_fault_user", 3, "on_kernel_fault"},
    Probe{MEMSTAT_VM_FAULT_MINOR, kCounters, kFunction, "on_fault", "handle_mm_fault"},
    Probe{MEMSTAT_VM_FAULT_MINOR, kCounters, kStatistics, nullptr, kVmCountersFile},
    Probe{MEMSTAT_VM_FAULT_MAJOR, kCounters, kFunction, "on_fault", "handle_mm_fault"},
    Probe{MEMSTAT_VM_FAULT_MAJOR, kCounters, kStatistics, nullptr, kVmCountersFile},
    Probe{MEMSTAT_VM_FAULT_OOM, kCounters, kFunction, "on_fault", "handle_mm_fault"},
    Probe{MEMSTAT_VM_FAULT_SIGBUS, kCounters, kFunction, "on_fault", "handle_mm_fault"},
    Probe{MEMSTAT_VM_FAULT_SIGBUS, kCounters, kTracepoint, "on_signal", "signal_generate", 2},
    Probe{MEMSTAT_VM_WRITE_SHARED, kCounters, kFunction, "on_write_shared", "do_wp_page"},
    Probe{MEMSTAT_VM_WRITE_SHARED_COPY, kCounters, kFunction, "on_write_shared_copy", "wp_page_copy"},
    Probe{MEMSTAT_VM_MMAP, kCounters, kFunction, "on_mmap", "ksys_mmap_pgoff"},
    Probe{MEMSTAT_VM_MMAP, kCounters, kCall, "on_mmap_call", "sys_enter_mmap"},
    Probe{MEMSTAT_VM_MUNMAP, kCounters, kFunction, "on_munmap", "__vm_munmap"},
    Probe{MEMSTAT_VM_MUNMAP, kCounters, kCall, "on_munmap_call", "sys_enter_munmap"},
    Probe{MEMSTAT_VM_BRK, kCounters, kFunction, "on_brk", "do_brk_flags"},
    Probe{MEMSTAT_VM_BRK, kCounters, kCall, "on_brk_call", "sys_enter_brk"},
    Probe{MEMSTAT_VM_PAGE_ALLOC, kCounters, kTracepoint, "on_page_alloc", "mm_page_alloc", 4},
    Probe{MEMSTAT_VM_PAGE_FREE, kCounters, kTracepoint, "on_page_free", "mm_page_free", 2},
    Probe{MEMSTAT_VM_PERCPU_ALLOC, kCounters, kTracepoint, "on_percpu_alloc", "percpu_alloc_percpu", 7},
    Probe{MEMSTAT_VM_PERCPU_FREE, kCounters, kTracepoint, "on_percpu_free", "percpu_free_percpu", 3},
    Probe{MEMSTAT_VM_VMALLOC, kCounters, kTracepoint, "on_vmap_area", "alloc_vmap_area", 6},
    Probe{MEMSTAT_VM_VFREE, kCounters, kTracepoint, "on_vmap_free", "free_vmap_area_noflush", 3},
    Probe{MEMSTAT_VM_TIME_MINOR, kFull, kFunction, "on_fault", "handle_mm_fault", 0, "on_fault_begin"},
    Probe{MEMSTAT_VM_TIME_MINOR, kFull, kProbe, "on_fault_return", "handle_mm_fault", 0, "on_fault_probe"},
    Probe{MEMSTAT_VM_TIME_MINOR, kFull, kSoftware, "on_minor_fault", "minor-faults", 0, "on_fault_counted"},
    Probe{MEMSTAT_VM_TIME_MAJOR, kFull, kFunction, "on_fault", "handle_mm_fault", 0, "on_fault_begin"},
    Probe{MEMSTAT_VM_TIME_MAJOR, kFull, kProbe, "on_fault_return", "handle_mm_fault", 0, "on_fault_probe"},
    Probe{MEMSTAT_VM_TIME_MAJOR, kFull, kSoftware, "on_major_fault", "major-faults", 0, "on_fault_counted"},
    Probe{MEMSTAT_VM_TIME_OOM, kFull, kFunction, "on_fault", "handle_mm_fault", 0, "on_fault_begin"},
    Probe{MEMSTAT_VM_TIME_OOM, kFull, kProbe, "on_fault_return", "handle_mm_fault", 0, "on_fault_probe"},
    Probe{MEMSTAT_VM_TIME_SIGBUS, kFull, kFunction, "on_fault", "handle_mm_fault", 0, "on_fault_begin"},
    Probe{MEMSTAT_VM_TIME_SIGBUS, kFull, kProbe, "on_fault_return", "handle_mm_fault", 0, "on_fault_probe"},
    Probe{MEMSTAT_VM_TIME_SIGBUS, kFull, kTracepoint, "on_signal", "signal_generate", 2, "on_fault_counted"},
};
/// Programs on software events of the kernel, and these events (linux/perf_event.h).
struct SoftwareEvent {
  std::string_view program;
  std::uint64_t number;
};
constexpr std::array kSoftwareEvents{SoftwareEvent{"on_fault_counted", PERF_COUNT_SW_PAGE_FAULTS},
                                     SoftwareEvent{"on_minor_fault", PERF_COUNT_SW_PAGE_FAULTS_MIN},
                                     SoftwareEvent{"on_major_fault", PERF_COUNT_SW_PAGE_FAULTS_MAJ}};
constexpr const char* kProbes = "/sys/bus/event_source/devices/kprobe/type";
constexpr std::array kTracingDirectories{"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};

bool has_call_event(const char* call) {
  return std::any_of(kTracingDirectories.begin(), kTracingDirectories.end(), [call](const char* directory) {
    const std::string file = std::string(directory) + "/events/syscalls/" + call + "/id";
    return ::access(file.c_str(), R_OK) == 0;
  });
}

/// Reads this kernel's names of migrate types by number, except those that only count them.
void take_migrate_types(const btf& types, VmFacts& facts) {
  const int id = btf__find_by_name_kind(&types, "migratetype", BTF_KIND_ENUM);
  if (id < 0) return;
  constexpr std::string_view kPrefix = "MIGRATE_";
  const btf_type* type = btf__type_by_id(&types, static_cast<__u32>(id));
  const struct btf_enum* values = ::btf_enum(type);
  for (int i = 0; i < btf_vlen(type); ++i) {
    std::string_view name = btf__name_by_offset(&types, values[i].name_off);
    if (!name.starts_with(kPrefix) || values[i].val < 0 || values[i].val >= MEMSTAT_VM_MIGRATE_TYPES) continue;
    name.remove_prefix(kPrefix.size());
    if (name == "PCPTYPES" || name == "TYPES") continue;
    std::string& word = facts.migrate_types[static_cast<std::size_t>(values[i].val)];
    word.clear();
    for (const char c : name) word += ascii_lower(c);
  }
}

/// Page faults in /proc/vmstat since open().
class CountedFaults {
 public:
  void set_view(KernelView& view) { view_ = &view; }
  bool open() { return view_ != nullptr && view_->keep_open(kVmCountersFile) && read(first_minor_, first_major_); }
  void add_to(VmFacts& facts) {
    std::uint64_t minor = 0;
    std::uint64_t major = 0;
    if (view_ == nullptr || !read(minor, major)) return;
    facts.minor_faults = minor - std::min(minor, first_minor_);
    facts.major_faults = major - std::min(major, first_major_);
  }

 private:
  bool read(std::uint64_t& minor, std::uint64_t& major) {
    std::array<KeyedNumber, 2> numbers{KeyedNumber{.key = "pgfault", .value = {}},
                                       KeyedNumber{.key = "pgmajfault", .value = {}}};
    if (!view_->read_file(kVmCountersFile, text_) || read_vm_counters(text_.view(), numbers)) return false;
    if (!numbers[0].value || !numbers[1].value) return false;
    major = *numbers[1].value;
    minor = *numbers[0].value - std::min(*numbers[0].value, major);
    return true;
  }

  KernelView* view_ = nullptr;
  Buffer text_;
  std::uint64_t first_minor_ = 0;
  std::uint64_t first_major_ = 0;
};

/// Whether programs on raw tracepoints may read the kernel's clock.
bool has_ticks() { return libbpf_probe_bpf_helper(BPF_PROG_TYPE_RAW_TRACEPOINT, BPF_FUNC_jiffies64, nullptr) == 1; }

/// The programs of the base class are those on frequent events.
class VmEvents final : public GovernedTable {
 public:
  VmEvents(const EventSettings& settings, EventBudget& budget)
      : GovernedTable(kVmTable, settings, budget), settings_(settings) {
    has_ticks_ = settings.counts_all && has_ticks();
    facts_.has_sizes = settings.is_full;
    facts_.has_gfp_classes = settings.has_gfp_classes;
    facts_.page_size = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  }
  Result<void> read(Buffer& out) override;
  void show_cpus(bool is_wanted) override { facts_.has_cpus = is_wanted; }
  void set_view(KernelView& view) override { counted_faults_.set_view(view); }

 private:
  std::string why_not(const btf& types, const Probe& probe) const;
  bool is_wanted(const Probe& probe) const {
    return probe.from == kRare || (probe.from == kFull ? settings_.is_full : settings_.counts_all);
  }
  memstat_vm_constants constants_for(const btf& types);
  Result<void> load(const btf& types) override;
  Result<void> try_to_load(const btf& types);
  Result<void> choose_programs(const btf& types);
  Result<void> attach(const btf& types) override;
  Result<void> attach_programs(const btf& types) override;
  int attach(const char* program, Probe::From from);
  void detach() override {
    rare_.detach();
    attached_.detach();
  }
  void cause_events() override;
  std::uint64_t events_now() override { return count_vm_events(cpus()); }
  bool is_attached(std::string_view program) const {
    return std::find(attached_names_.begin(), attached_names_.end(), program) != attached_names_.end();
  }
  std::span<const memstat_vm_cpu> cpus() const { return {static_cast<const memstat_vm_cpu*>(by_cpu_.get()), cpu_count_}; }

  const EventSettings settings_;
  AttachedPrograms rare_;
  std::uint32_t reads_ = 0;
  std::bitset<MEMSTAT_VM_EVENTS> frequent_events_;
  std::vector<std::string_view> attached_names_;
  std::string functions_refused_;  // why programs at functions cannot be loaded; "": they can
  bool is_refused_ = false;        // an event was refused for lack of a privilege
  CountedFaults counted_faults_;
  bool are_faults_from_vmstat_ = false;
  VmFacts facts_;
};

/// Why this kernel does not support a probe; "" if it does.
std::string VmEvents::why_not(const btf& types, const Probe& probe) const {
  const std::string place = probe.place;
  switch (probe.at) {
    case kSoftware:
    case kStatistics: return "";
    case kProbe:
      return ::access(kProbes, F_OK) == 0 ? "" : "this kernel has no probes at functions: CONFIG_KPROBE_EVENTS is off";
    case kCall:
      return has_call_event(probe.place) ? ""
                                         : "tracepoint " + place + " is not in /sys/kernel/tracing: is tracefs mounted?";
    case kFunction:
      if (!has_function(types, probe.place)) return "this kernel has inlined the function " + place + ", or lacks it";
      return functions_refused_.empty() ? "" : "function " + place + ": " + functions_refused_;
    case kTracepoint: break;
  }
  const int arguments = arguments_of(types, probe.place);
  if (arguments < 0) return "this kernel has no tracepoint " + place;
  return arguments < probe.arguments ? "tracepoint " + place + " has too few arguments" : "";
}

memstat_vm_constants VmEvents::constants_for(const btf& types) {
  facts_.has_victims = points_to(types, "mark_victim", 0, "task_struct");
  // Since Linux commit f67bed134a05 ("percpu: improve percpu_alloc_percpu event trace") (v5.19).
  constexpr int kArgumentsWithCaller = 10;
  return {.has_victim_task = facts_.has_victims ? 1U : 0U,
          .page_size = static_cast<unsigned>(facts_.page_size),
          .percpu_size = arguments_of(types, "percpu_alloc_percpu") >= kArgumentsWithCaller ? 3U : 2U,
          .brk_length =
              has_parameter(types, "do_brk_flags", 3, "len") || has_parameter(types, "do_brk_flags", 3, "request") ? 3U : 1U,
          .has_sizes = facts_.has_sizes ? 1U : 0U,
          .has_times = settings_.is_full ? 1U : 0U,
          .gfp = gfp_flags(types, facts_.has_gfp_classes),
          .has_ticks = has_ticks_ ? 1U : 0U};
}

Result<void> VmEvents::choose_programs(const btf& types) {
  bpf_program* program = nullptr;
  bpf_object__for_each_program(program, object_.get()) bpf_program__set_autoload(program, false);
  for (const Probe& probe : kEventProbes) {
    if (!is_wanted(probe) || !why_not(types, probe).empty()) continue;
    for (const char* name : {probe.program, probe.companion}) {
      if (name == nullptr) continue;
      program = bpf_object__find_program_by_name(object_.get(), name);
      if (program != nullptr) bpf_program__set_autoload(program, true);
    }
  }
  bpf_map* begun = bpf_object__find_map_by_name(object_.get(), "begun_faults");
  if (begun == nullptr || (settings_.is_full && bpf_map__set_max_entries(begun, 1U << MEMSTAT_VM_TASK_BITS) != 0)) {
    return refused("the programs' map of faults", EINVAL);
  }
  return {};
}

Result<void> VmEvents::try_to_load(const btf& types) {
  const memstat_vm_constants constants = constants_for(types);
  return load_programs_of(vm_events(), std::as_bytes(std::span(&constants, 1)),
                          {.shared = sizeof(memstat_vm_shared), .by_cpu = sizeof(memstat_vm_cpu)},
                          [&] { return choose_programs(types); });
}

Result<void> VmEvents::load(const btf& types) {
  auto result = try_to_load(types);
  if (result || shared_.get() != nullptr) return result;
  const int number = result.error().system_errno;  // a security policy may allow only tracepoints: retry without functions
  functions_refused_ = std::strerror(number);
  if (number == EPERM) functions_refused_ += ", by lockdown or another policy of this kernel";
  return try_to_load(types);
}

/// Attaches a program once, even if it counts several events. Returns 0 or an errno.
int VmEvents::attach(const char* name, Probe::From from) {
  if (name == nullptr || is_attached(name)) return 0;
  bpf_program* program = bpf_object__find_program_by_name(object_.get(), name);
  const auto* const software = std::find_if(kSoftwareEvents.begin(), kSoftwareEvents.end(),
                                            [name](const SoftwareEvent& event) { return event.program == name; });
  AttachedPrograms& programs = from == kRare ? rare_ : attached_;
  const int error =
      software == kSoftwareEvents.end() ? programs.attach(program) : programs.attach_everywhere(program, software->number);
  if (error == 0) attached_names_.emplace_back(name);
  return error;
}

/// Causes each event once: a page fault, a page allocation, and the system calls.
void VmEvents::cause_events() {
  constexpr std::size_t kSize = 4096;
  void* const memory = ::mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return;
  *static_cast<volatile char*>(memory) = 1;
  ::munmap(memory, kSize);
}

Result<void> VmEvents::attach_programs(const btf& types) {
  std::array<std::string, MEMSTAT_VM_EVENTS> reasons;
  for (const Probe& probe : kEventProbes) {
    if (!is_wanted(probe) || facts_.counted[probe.event]) continue;
    std::string reason = why_not(types, probe);
    if (reason.empty()) {
      if (probe.at == kStatistics && !are_faults_from_vmstat_) are_faults_from_vmstat_ = counted_faults_.open();
      int error = probe.at == kStatistics && !are_faults_from_vmstat_ ? ENOENT : attach(probe.program, probe.from);
      if (error == 0) error = attach(probe.companion, probe.from);
      is_refused_ = is_refused_ || error == EPERM || error == EACCES;
      if (error == 0) {
        facts_.counted.set(probe.event);
        if (probe.from != kRare && probe.program != nullptr) frequent_events_.set(probe.event);
        continue;
      }
      reason = std::string(probe.place) + ": " + std::strerror(error);
    }
    reasons[probe.event] += (reasons[probe.event].empty() ? "" : ", ") + reason;
  }
  for (std::size_t event = 0; event < MEMSTAT_VM_EVENTS; ++event) {
    if (facts_.counted[event] || reasons[event].empty()) continue;
    facts_.unsupported.push_back(name_of(static_cast<memstat_vm_event>(event)) + ": " + reasons[event]);
  }
  return {};
}

Result<void> VmEvents::attach(const btf& types) {
  // Only frequent events are governed.
  if (auto result = settings_.counts_all ? GovernedTable::attach(types) : attach_programs(types); !result) return result;
  take_migrate_types(types, facts_);
  facts_.has_brk_length = is_attached("on_brk");
  facts_.has_pages = facts_.counted[MEMSTAT_VM_PAGE_ALLOC];
  facts_.has_cache_failures = !settings_.counts_all && facts_.counted[MEMSTAT_VM_SLAB_FAILURE];
  facts_.has_victims = facts_.has_victims && facts_.counted[MEMSTAT_VM_OOM_KILL];
  if (facts_.counted.any()) return {};
  constexpr const char* kNone = "attaching to events";
  return is_refused_ ? refused(kNone, EPERM) : not_present(kNone, "this kernel has none of them");
}

Result<void> VmEvents::read(Buffer& out) {
  if (!is_open()) return refused(kVmTable.source, EPERM);
  if (settings_.counts_all) {  // rare events stay attached
    look(events_now());
    facts_.counted = governor_.is_attached() ? facts_.counted | frequent_events_ : facts_.counted & ~frequent_events_;
    facts_.has_pages = facts_.counted[MEMSTAT_VM_PAGE_ALLOC];
    facts_.governor = governor_.facts();
  }
  // Programs on rare events miss hardly any, and reading their misses takes one file per program.
  constexpr std::uint32_t kReadsOfMissed = 4;
  if (settings_.counts_all || reads_++ % kReadsOfMissed == 0) {
    facts_.missed_events = rare_.facts().missed_events + attached_.facts().missed_events;
  }
  if (are_faults_from_vmstat_) counted_faults_.add_to(facts_);
  write_vm_rows(*static_cast<const memstat_vm_shared*>(shared_.get()), cpus(), facts_, out);
  return {};
}

}  // namespace

std::unique_ptr<EventTable> make_vm_events(std::string_view settings, EventBudget& budget) {
  return std::make_unique<VmEvents>(event_settings(settings), budget);
}

}  // namespace memstat::events

#endif
