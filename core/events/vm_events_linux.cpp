// SPDX-License-Identifier: BSD-2-Clause
// Loads and attaches bpf/vm_events.bpf.c: of each event the first way that this kernel allows.
#include "core/events/vm_events.h"

#if defined(MEMSTAT_HAVE_LIBBPF)

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "core/events/bpf/vm_layout.h"
#include "core/events/bpf_kernel.h"
#include "core/events/embedded_programs.h"
#include "core/events/vm_text.h"

namespace memstat::events {
namespace {

/// A program that sees an event: on a raw tracepoint with at least this number of arguments, or at a function of the kernel.
struct Way {
  memstat_vm_event event;
  const char* program;
  const char* place;
  int arguments = 0;  // -1: a function
};
constexpr int kFunction = -1;
/// The ways to see an event follow each other, the best first.
constexpr std::array kWays{
    Way{MEMSTAT_VM_OOM_KILL, "on_mark_victim", "mark_victim", 1},
    Way{MEMSTAT_VM_SLAB_FAILURE, "on_slab_out_of_memory", "slab_out_of_memory", kFunction},
    Way{MEMSTAT_VM_SLAB_FAILURE, "on_slab_message", "console", 2},
    Way{MEMSTAT_VM_PAGE_FAILURE, "on_page_message", "console", 2},
    Way{MEMSTAT_VM_PERCPU_FAILURE, "on_percpu_failure", "percpu_alloc_percpu_fail", 4},
    Way{MEMSTAT_VM_VMALLOC_FAILURE, "on_vmap_failure", "alloc_vmap_area", 6},
};

/// The programs, attached. Thread safety: none.
class VmEvents final : public LiveTable {
 public:
  explicit VmEvents(std::string_view mode) : are_all_counted_(mode == "counters") {}
  Result<void> open() override;
  Result<void> read(Buffer& out) override;

 private:
  std::string why_not(const btf& types, const Way& way) const;
  Result<void> load(const btf& types);
  Result<void> map_memory();
  void attach(const btf& types);

  bool are_all_counted_;
  ObjectPointer object_;
  AttachedPrograms attached_;  // behind the object, so that they go first
  std::vector<std::string_view> attached_names_;
  SharedMap shared_;
  SharedMap by_cpu_;
  std::size_t cpu_count_ = 0;
  std::string functions_refused_;  // why programs at functions cannot be loaded; "": they can
  VmTextFacts facts_;
};

/// Why this kernel does not have a way, "" when it has.
std::string VmEvents::why_not(const btf& types, const Way& way) const {
  if (way.arguments != kFunction) {
    const int arguments = arguments_of(types, way.place);
    if (arguments < 0) return std::string("this kernel has no tracepoint ") + way.place;
    return arguments < way.arguments ? std::string("tracepoint ") + way.place + " has other arguments" : std::string();
  }
  if (!has_function(types, way.place)) return std::string("this kernel has no function ") + way.place + " of its own";
  return functions_refused_.empty() ? "" : std::string("function ") + way.place + ": " + functions_refused_;
}

Result<void> VmEvents::load(const btf& types) {
  auto object = open_programs(vm_events());
  if (!object) return object.error();
  object_ = *std::move(object);
  bpf_program* program = nullptr;
  bpf_object__for_each_program(program, object_.get()) bpf_program__set_autoload(program, false);
  for (const Way& way : kWays) {
    program = bpf_object__find_program_by_name(object_.get(), way.program);
    if (program != nullptr && why_not(types, way).empty()) bpf_program__set_autoload(program, true);
  }
  bpf_map* constants = bpf_object__find_map_by_name(object_.get(), ".rodata");
  bpf_map* by_cpu = bpf_object__find_map_by_name(object_.get(), "by_cpu");
  if (constants == nullptr || by_cpu == nullptr) return refused("the maps of the programs", EINVAL);
  facts_.has_victims = points_to(types, "mark_victim", 0, "task_struct");
  const memstat_vm_constants values{.has_victim_task = facts_.has_victims ? 1U : 0U};
  if (const int error = bpf_map__set_initial_value(constants, &values, sizeof values); error != 0) {
    return refused("the constants of the programs", error);
  }
  const int cpus = libbpf_num_possible_cpus();
  if (cpus <= 0) return refused("/sys/devices/system/cpu/possible", cpus);
  cpu_count_ = static_cast<std::size_t>(cpus);
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

void VmEvents::attach(const btf& types) {
  std::array<std::string, MEMSTAT_VM_EVENTS> reasons;
  for (const Way& way : kWays) {
    if (facts_.counted[way.event]) continue;
    std::string reason = why_not(types, way);
    if (reason.empty()) {
      const bool is_attached =
          std::find(attached_names_.begin(), attached_names_.end(), way.program) != attached_names_.end();
      const int error = is_attached ? 0 : attached_.attach(bpf_object__find_program_by_name(object_.get(), way.program));
      if (error == 0) {
        if (!is_attached) attached_names_.emplace_back(way.program);
        facts_.counted.set(way.event);
        continue;
      }
      reason = std::string("attaching to ") + way.place + ": " + std::strerror(error);
    }
    reasons[way.event] += (reasons[way.event].empty() ? "" : ", ") + reason;
  }
  for (std::size_t event = 0; event < MEMSTAT_VM_EVENTS; ++event) {
    if (facts_.counted[event]) continue;
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
