// SPDX-License-Identifier: BSD-2-Clause
// Loads and attaches bpf/vm_events.bpf.c: of each event the first way that this kernel allows.
#include "core/events/vm_events.h"

#if defined(MEMSTAT_HAVE_LIBBPF)

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "core/base/text.h"
#include "core/base/unique_fd.h"
#include "core/events/bpf/vm_layout.h"
#include "core/events/bpf_kernel.h"
#include "core/events/embedded_programs.h"
#include "core/events/vm_text.h"

namespace memstat::events {
namespace {

/// A program that sees an event. The ways to see one event follow each other, the best first.
struct Way {
  enum class At : std::uint8_t { kTracepoint, kFunction, kCall, kStatistics };
  memstat_vm_event event;
  bool is_rare = false;  // attached in every mode
  At at = At::kTracepoint;
  const char* program = nullptr;    // nullptr: the kernel counts it by itself
  const char* place = nullptr;      // raw tracepoint, function, system call or file
  int arguments = 0;                // of the tracepoint, at least
  const char* companion = nullptr;  // a second program, without which the first counts half
};
using enum Way::At;
constexpr bool kRare = true;
constexpr const char* kCounters = "/proc/vmstat";
constexpr std::array kWays{
    Way{MEMSTAT_VM_OOM_KILL, kRare, kTracepoint, "on_mark_victim", "mark_victim", 1},
    Way{MEMSTAT_VM_SLAB_FAILURE, kRare, kFunction, "on_slab_out_of_memory", "slab_out_of_memory"},
    Way{MEMSTAT_VM_SLAB_FAILURE, kRare, kTracepoint, "on_slab_message", "console", 2},
    Way{MEMSTAT_VM_PAGE_FAILURE, false, kTracepoint, "on_page_alloc", "mm_page_alloc", 4},
    Way{MEMSTAT_VM_PAGE_FAILURE, kRare, kTracepoint, "on_page_message", "console", 2},
    Way{MEMSTAT_VM_PERCPU_FAILURE, kRare, kTracepoint, "on_percpu_failure", "percpu_alloc_percpu_fail", 4},
    Way{MEMSTAT_VM_VMALLOC_FAILURE, false, kTracepoint, "on_vmap_area", "alloc_vmap_area", 6},
    Way{MEMSTAT_VM_VMALLOC_FAILURE, kRare, kTracepoint, "on_vmap_failure", "alloc_vmap_area", 6},
    Way{MEMSTAT_VM_FAULT_READ, false, kFunction, "on_fault", "handle_mm_fault"},
    Way{MEMSTAT_VM_FAULT_READ, false, kTracepoint, "on_user_fault", "page_fault_user", 3, "on_kernel_fault"},
    Way{MEMSTAT_VM_FAULT_WRITE, false, kFunction, "on_fault", "handle_mm_fault"},
    Way{MEMSTAT_VM_FAULT_WRITE, false, kTracepoint, "on_user_fault", "page_fault_user", 3, "on_kernel_fault"},
    Way{MEMSTAT_VM_FAULT_MINOR, false, kFunction, "on_fault", "handle_mm_fault"},
    Way{MEMSTAT_VM_FAULT_MINOR, false, kStatistics, nullptr, kCounters},
    Way{MEMSTAT_VM_FAULT_MAJOR, false, kFunction, "on_fault", "handle_mm_fault"},
    Way{MEMSTAT_VM_FAULT_MAJOR, false, kStatistics, nullptr, kCounters},
    Way{MEMSTAT_VM_FAULT_OOM, false, kFunction, "on_fault", "handle_mm_fault"},
    Way{MEMSTAT_VM_FAULT_SIGBUS, false, kFunction, "on_fault", "handle_mm_fault"},
    Way{MEMSTAT_VM_FAULT_SIGBUS, false, kTracepoint, "on_signal", "signal_generate", 2},
    Way{MEMSTAT_VM_WRITE_SHARED, false, kFunction, "on_write_shared", "do_wp_page"},
    Way{MEMSTAT_VM_WRITE_SHARED_COPY, false, kFunction, "on_write_shared_copy", "wp_page_copy"},
    Way{MEMSTAT_VM_MMAP, false, kFunction, "on_mmap", "ksys_mmap_pgoff"},
    Way{MEMSTAT_VM_MMAP, false, kCall, "on_mmap_call", "sys_enter_mmap"},
    Way{MEMSTAT_VM_MUNMAP, false, kFunction, "on_munmap", "__vm_munmap"},
    Way{MEMSTAT_VM_MUNMAP, false, kCall, "on_munmap_call", "sys_enter_munmap"},
    Way{MEMSTAT_VM_BRK, false, kFunction, "on_brk", "do_brk_flags"},
    Way{MEMSTAT_VM_BRK, false, kCall, "on_brk_call", "sys_enter_brk"},
    Way{MEMSTAT_VM_PAGE_ALLOC, false, kTracepoint, "on_page_alloc", "mm_page_alloc", 4},
    Way{MEMSTAT_VM_PAGE_FREE, false, kTracepoint, "on_page_free", "mm_page_free", 2},
    Way{MEMSTAT_VM_PERCPU_ALLOC, false, kTracepoint, "on_percpu_alloc", "percpu_alloc_percpu", 7},
    Way{MEMSTAT_VM_PERCPU_FREE, false, kTracepoint, "on_percpu_free", "percpu_free_percpu", 3},
    Way{MEMSTAT_VM_VMALLOC, false, kTracepoint, "on_vmap_area", "alloc_vmap_area", 6},
    Way{MEMSTAT_VM_VFREE, false, kTracepoint, "on_vmap_free", "free_vmap_area_noflush", 3},
};
constexpr std::array kTracingDirectories{"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};

bool has_call_event(const char* call) {
  return std::any_of(kTracingDirectories.begin(), kTracingDirectories.end(), [call](const char* directory) {
    const std::string file = std::string(directory) + "/events/syscalls/" + call + "/id";
    return ::access(file.c_str(), R_OK) == 0;
  });
}

/// The words of this kernel's migrate types by their number, without what only counts them.
void take_migrate_types(const btf& types, VmTextFacts& facts) {
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
    for (const char c : name) word += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  }
}

/// Page faults that the kernel counts by itself, since this was opened.
class CountedFaults {
 public:
  bool open() {
    file_ = UniqueFd(::open(kCounters, O_RDONLY | O_CLOEXEC));
    return file_ && read(first_minor_, first_major_);
  }
  void add_to(VmTextFacts& facts) {
    std::uint64_t minor = 0;
    std::uint64_t major = 0;
    if (!file_ || !read(minor, major)) return;
    facts.minor_faults = minor - std::min(minor, first_minor_);
    facts.major_faults = major - std::min(major, first_major_);
  }

 private:
  bool read(std::uint64_t& minor, std::uint64_t& major) {
    std::size_t size = 0;
    while (size < text_.size()) {
      const ssize_t part = ::pread(file_.get(), text_.data() + size, text_.size() - size, static_cast<off_t>(size));
      if (part < 0) return false;
      if (part == 0) break;
      size += static_cast<std::size_t>(part);
    }
    std::uint64_t all = 0;
    std::uint64_t found = 0;
    std::string_view rest(text_.data(), size);
    for (std::string_view line, word; next_line(rest, line);) {
      if (!next_word(line, word) || (word != "pgfault" && word != "pgmajfault")) continue;
      std::uint64_t& figure = word == "pgfault" ? all : major;
      if (!next_word(line, word)) return false;
      figure = parse_u64(word).value_or(0);
      ++found;
    }
    minor = all - std::min(all, major);
    return found == 2;
  }

  UniqueFd file_;
  std::array<char, 16384> text_{};
  std::uint64_t first_minor_ = 0;
  std::uint64_t first_major_ = 0;
};

/// The programs, attached. Thread safety: none.
class VmEvents final : public LiveTable {
 public:
  explicit VmEvents(std::string_view mode) : are_all_counted_(mode == "counters") {}
  Result<void> open() override;
  Result<void> read(Buffer& out) override;

 private:
  std::string why_not(const btf& types, const Way& way) const;
  bool is_wanted(const Way& way) const { return are_all_counted_ || way.is_rare; }
  Result<void> load(const btf& types);
  Result<void> set_constants(const btf& types);
  Result<void> map_memory();
  void attach(const btf& types);
  int attach(const char* program);
  bool is_attached(std::string_view program) const {
    return std::find(attached_names_.begin(), attached_names_.end(), program) != attached_names_.end();
  }

  bool are_all_counted_;
  ObjectPointer object_;
  AttachedPrograms attached_;  // behind the object, so that they go first
  std::vector<std::string_view> attached_names_;
  SharedMap shared_;
  SharedMap by_cpu_;
  std::size_t cpu_count_ = 0;
  std::string functions_refused_;  // why programs at functions cannot be loaded; "": they can
  CountedFaults counted_faults_;
  VmTextFacts facts_;
};

/// Why this kernel does not have a way, "" when it has.
std::string VmEvents::why_not(const btf& types, const Way& way) const {
  const std::string place = way.place;
  switch (way.at) {
    case kStatistics: return "";
    case kCall:
      return has_call_event(way.place) ? "" : "tracepoint " + place + " is not in /sys/kernel/tracing: is tracefs mounted?";
    case kFunction:
      if (!has_function(types, way.place)) return "this kernel has no function " + place + " of its own";
      return functions_refused_.empty() ? "" : "function " + place + ": " + functions_refused_;
    case kTracepoint: break;
  }
  const int arguments = arguments_of(types, way.place);
  if (arguments < 0) return "this kernel has no tracepoint " + place;
  return arguments < way.arguments ? "tracepoint " + place + " has other arguments" : "";
}

Result<void> VmEvents::set_constants(const btf& types) {
  bpf_map* constants = bpf_object__find_map_by_name(object_.get(), ".rodata");
  if (constants == nullptr) return refused("the maps of the programs", EINVAL);
  facts_.has_victims = points_to(types, "mark_victim", 0, "task_struct");
  constexpr int kArgumentsWithCaller = 10;  // since 5.19, f67bed134a05; brk's since 6.1
  const memstat_vm_constants values{
      .has_victim_task = facts_.has_victims ? 1U : 0U,
      .page_size = static_cast<unsigned>(::sysconf(_SC_PAGESIZE)),
      .percpu_size = arguments_of(types, "percpu_alloc_percpu") >= kArgumentsWithCaller ? 3U : 2U,
      .brk_length =
          has_parameter(types, "do_brk_flags", 3, "len") || has_parameter(types, "do_brk_flags", 3, "request") ? 3U : 1U};
  if (const int error = bpf_map__set_initial_value(constants, &values, sizeof values); error != 0) {
    return refused("the constants of the programs", error);
  }
  return {};
}

Result<void> VmEvents::load(const btf& types) {
  auto object = open_programs(vm_events());
  if (!object) return object.error();
  object_ = *std::move(object);
  bpf_program* program = nullptr;
  bpf_object__for_each_program(program, object_.get()) bpf_program__set_autoload(program, false);
  for (const Way& way : kWays) {
    if (!is_wanted(way) || !why_not(types, way).empty()) continue;
    for (const char* name : {way.program, way.companion}) {
      if (name == nullptr) continue;
      program = bpf_object__find_program_by_name(object_.get(), name);
      if (program != nullptr) bpf_program__set_autoload(program, true);
    }
  }
  if (auto result = set_constants(types); !result) return result;
  const int cpus = libbpf_num_possible_cpus();
  if (cpus <= 0) return refused("/sys/devices/system/cpu/possible", cpus);
  cpu_count_ = static_cast<std::size_t>(cpus);
  bpf_map* by_cpu = bpf_object__find_map_by_name(object_.get(), "by_cpu");
  if (by_cpu == nullptr) return refused("the maps of the programs", EINVAL);
  if (const int error = bpf_map__set_max_entries(by_cpu, static_cast<__u32>(cpus)); error != 0) {
    return refused("the programs' map of CPUs", error);
  }
  if (const int error = bpf_object__load(object_.get()); error != 0) return refused("BPF_PROG_LOAD", error);
  return {};
}

Result<void> VmEvents::map_memory() {
  bpf_map* shared = bpf_object__find_map_by_name(object_.get(), ".bss");
  bpf_map* by_cpu = bpf_object__find_map_by_name(object_.get(), "by_cpu");
  if (shared == nullptr || bpf_map__value_size(shared) < sizeof(memstat_vm_shared)) {
    return refused("the maps of the programs", EINVAL);
  }
  if (auto result = shared_.open(shared, sizeof(memstat_vm_shared)); !result) return result;
  return by_cpu_.open(by_cpu, cpu_count_ * sizeof(memstat_vm_cpu));
}

/// Attaches a program once, however many events it counts; 0 or an errno.
int VmEvents::attach(const char* program) {
  if (program == nullptr || is_attached(program)) return 0;
  const int error = attached_.attach(bpf_object__find_program_by_name(object_.get(), program));
  if (error == 0) attached_names_.emplace_back(program);
  return error;
}

void VmEvents::attach(const btf& types) {
  std::array<std::string, MEMSTAT_VM_EVENTS> reasons;
  for (const Way& way : kWays) {
    if (!is_wanted(way) || facts_.counted[way.event]) continue;
    std::string reason = why_not(types, way);
    if (reason.empty()) {
      int error = way.at == kStatistics && !counted_faults_.open() ? ENOENT : attach(way.program);
      if (error == 0) error = attach(way.companion);
      if (error == 0) {
        facts_.counted.set(way.event);
        continue;
      }
      reason = std::string(way.place) + ": " + std::strerror(error);
    }
    reasons[way.event] += (reasons[way.event].empty() ? "" : ", ") + reason;
  }
  for (std::size_t event = 0; event < MEMSTAT_VM_EVENTS; ++event) {
    if (facts_.counted[event] || reasons[event].empty()) continue;
    facts_.unsupported +=
        "unsupported " + std::string(word_of(static_cast<memstat_vm_event>(event)).word) + ": " + reasons[event] + "\n";
  }
}

Result<void> VmEvents::open() {
  const auto types = kernel_types();
  if (!types) return types.error();
  auto result = load(**types);
  if (!result && functions_refused_.empty()) {  // a policy may allow tracepoints only: once more without functions
    functions_refused_ = std::strerror(result.error().system_errno);
    result = load(**types);
  }
  if (result) result = map_memory();
  if (result) {
    attach(**types);
    take_migrate_types(**types, facts_);
    facts_.has_brk_length = is_attached("on_brk");
    facts_.has_pages = facts_.counted[MEMSTAT_VM_PAGE_ALLOC];
    facts_.has_cache_failures = !are_all_counted_ && facts_.counted[MEMSTAT_VM_SLAB_FAILURE];
    facts_.has_victims = facts_.has_victims && facts_.counted[MEMSTAT_VM_OOM_KILL];
    if (facts_.counted.none()) result = refused("attaching to events", EPERM);
  }
  if (!result) {
    attached_.detach();
    object_.reset();
    // Rare events are on where they are permitted; elsewhere nothing has failed.
    if (!are_all_counted_ && result.error().code == ErrorCode::kPermission) {
      return not_present(result.error().path, result.error().detail);
    }
  }
  return result;
}

Result<void> VmEvents::read(Buffer& out) {
  if (attached_.size() == 0) return refused("linux_vm_events", EPERM);
  facts_.missed_events = attached_.missed_events();
  counted_faults_.add_to(facts_);
  write_vm_text(*static_cast<const memstat_vm_shared*>(shared_.get()),
                {static_cast<const memstat_vm_cpu*>(by_cpu_.get()), cpu_count_}, facts_, out);
  return {};
}

}  // namespace

std::unique_ptr<LiveTable> make_vm_events(std::string_view mode) { return std::make_unique<VmEvents>(mode); }

}  // namespace memstat::events

#else

#include "core/events/missing_events.h"

namespace memstat::events {

std::unique_ptr<LiveTable> make_vm_events(std::string_view /*mode*/) { return make_missing_events("linux_vm_events"); }

}  // namespace memstat::events

#endif
