// SPDX-License-Identifier: BSD-2-Clause
// Implements memstat.h on top of the model. Translates calls and lets no exception escape.
#include <algorithm>
#include <bit>
#include <cerrno>
#include <limits>
#include <new>
#include <string>

#include "core/c_api/handle.h"
#include "core/c_api/systemtap_text.h"
#include "core/include/memstat.h"
#include "core/model/type_rules.h"
#include "core/source.h"

namespace {

using memstat::Allocator;
using memstat::CpuField;
using memstat::ErrorCode;
using memstat::Field;
using memstat::MemoryType;
using memstat::NodeField;
using memstat::run_query;

static_assert(MEMSTAT_MAXCALLER == memstat::kCallerSlotCount);
static_assert(
    ALLOCATOR_MALLOC == static_cast<int>(Allocator::kMalloc) && ALLOCATOR_UMA == static_cast<int>(Allocator::kUma) &&
    ALLOCATOR_SLAB == static_cast<int>(Allocator::kSlab) && ALLOCATOR_VMALLOC == static_cast<int>(Allocator::kVmalloc) &&
    ALLOCATOR_CALL_SITE == static_cast<int>(Allocator::kCallSite) && ALLOCATOR_PAGE == static_cast<int>(Allocator::kPage) &&
    ALLOCATOR_PERCPU == static_cast<int>(Allocator::kPercpu) && ALLOCATOR_HUGETLB == static_cast<int>(Allocator::kHugetlb) &&
    ALLOCATOR_CMA == static_cast<int>(Allocator::kCma) && ALLOCATOR_ZSWAP == static_cast<int>(Allocator::kZswap) &&
    ALLOCATOR_MEMCG == static_cast<int>(Allocator::kMemcg) && ALLOCATOR_SOCKET == static_cast<int>(Allocator::kSocket) &&
    ALLOCATOR_TABLE == static_cast<int>(Allocator::kTable) && ALLOCATOR_PROCESS == static_cast<int>(Allocator::kProcess) &&
    ALLOCATOR_KMALLOC_SITE == static_cast<int>(Allocator::kKmallocSite) &&
    ALLOCATOR_JAIL == static_cast<int>(Allocator::kJail));
static_assert(memstat::kAllocatorCount == ALLOCATOR_JAIL + 1, "memstat.h names every allocator");
static_assert(MEMSTAT_ERROR_KVM_SHORTREAD == static_cast<int>(ErrorCode::kKvmShortRead) &&
              MEMSTAT_ERROR_NOTPRESENT == static_cast<int>(ErrorCode::kNotPresent) &&
              MEMSTAT_ERROR_IO == static_cast<int>(ErrorCode::kIo) &&
              MEMSTAT_ERROR_TIMEOUT == static_cast<int>(ErrorCode::kTimeout));
static_assert(MEMSTAT_FIGURE_SIZEMASK == 1U << static_cast<unsigned>(Field::kSizeMask) &&
              MEMSTAT_FIGURE_XDOMAIN == 1U << static_cast<unsigned>(Field::kXDomain) &&
              MEMSTAT_FIGURE_BYTES == 1U << static_cast<unsigned>(Field::kBytes));
static_assert(MEMSTAT_NODE_FIGURE_HELD_BYTES == 1U << static_cast<unsigned>(NodeField::kHeldBytes) &&
              MEMSTAT_NODE_FIGURE_COUNT == 1U << static_cast<unsigned>(NodeField::kCount) &&
              MEMSTAT_NODE_FIGURE_FREE == 1U << static_cast<unsigned>(NodeField::kFree) &&
              MEMSTAT_NODE_FIGURE_SLOTS == 1U << static_cast<unsigned>(NodeField::kTotalObjects));
static_assert(MEMSTAT_CPU_FIGURE_NUMALLOCS == 1U << static_cast<unsigned>(CpuField::kNumAllocs) &&
              MEMSTAT_CPU_FIGURE_NUMFREES == 1U << static_cast<unsigned>(CpuField::kNumFrees) &&
              MEMSTAT_CPU_FIGURE_MEMALLOCED == 1U << static_cast<unsigned>(CpuField::kMemAlloced) &&
              MEMSTAT_CPU_FIGURE_MEMFREED == 1U << static_cast<unsigned>(CpuField::kMemFreed) &&
              MEMSTAT_CPU_FIGURE_FREE == 1U << static_cast<unsigned>(CpuField::kFree) &&
              MEMSTAT_CPU_FIGURE_SIZEMASK == 1U << static_cast<unsigned>(CpuField::kSizeMask) &&
              memstat::kCpuFieldCount == 6);
static_assert(memstat::kNodeFieldCount == 4, "memstat.h has every figure of a node");

// `struct memory_type` is never defined: pointers to it are pointers to the model's types.
memory_type* to_c(MemoryType* type) { return reinterpret_cast<memory_type*>(type); }
const MemoryType& type_of(const memory_type* type) { return *reinterpret_cast<const MemoryType*>(type); }
MemoryType& type_of(memory_type* type) { return *reinterpret_cast<MemoryType*>(type); }

std::uint64_t figure(const memory_type* type, Field field) { return type == nullptr ? 0 : type_of(type).figure(field); }

/// The model has per-CPU counts of zones; the original's accessors return 0 for them.
std::uint64_t malloc_cpu_figure(const memory_type* type, CpuField field, int cpu) {
  if (type == nullptr || cpu < 0 || type_of(type).allocator() == Allocator::kUma) return 0;
  return type_of(type).cpu_figure(field, static_cast<std::uint32_t>(cpu));
}

std::uint64_t node_figure(const memory_type* type, NodeField field, int node) {
  const std::uint64_t figure =
      type == nullptr || node < 0 ? 0 : type_of(type).node_figure(field, static_cast<std::uint32_t>(node));
  return figure == memstat::kNoFigure ? 0 : figure;
}

/// Like snprintf.
std::size_t copy_text(std::string_view from, char* text, std::size_t room) {
  if (text != nullptr && room != 0) text[from.copy(text, room - 1)] = '\0';
  return from.size();
}

/// Maps negative indexes and CPUs to values that are out of range.
std::size_t slot_of(int index) { return static_cast<std::size_t>(static_cast<unsigned>(index)); }
std::uint32_t cpu_of(int cpu) { return static_cast<std::uint32_t>(cpu); }

/// Runs a setter. Reports lack of memory through errno, since setters return nothing.
template <typename Set>
void store(memory_type* type, Set set) noexcept {
  if (type == nullptr) return;
  try {
    set(type_of(type));
  } catch (const std::bad_alloc&) {
    errno = ENOMEM;
  }
}

int query_kvm(memory_type_list* list, void* kvm, memstat::KvmNeeds needs) {
  return run_query(list, [&](memory_type_list& self) { return self.query_kvm(kvm, needs); });
}

int int_of(std::uint64_t value) { return static_cast<int>(std::min<std::uint64_t>(value, std::numeric_limits<int>::max())); }

}  // namespace

extern "C" {

const char* memstat_strerror(int error) {
  switch (error) {
    case MEMSTAT_ERROR_NOMEMORY: return "Not enough memory";
    case MEMSTAT_ERROR_VERSION: return "The kernel's statistics are missing or of an unknown version";
    case MEMSTAT_ERROR_PERMISSION: return "No permission to read the kernel's statistics";
    case MEMSTAT_ERROR_TOOMANYCPUS: return "More CPUs than expected";
    case MEMSTAT_ERROR_DATAERROR: return "The kernel's statistics are damaged";
    case MEMSTAT_ERROR_KVM: return "Reading kernel memory failed";
    case MEMSTAT_ERROR_KVM_NOSYMBOL: return "A kernel symbol was not found";
    case MEMSTAT_ERROR_KVM_SHORTREAD: return "Kernel memory was read only in part";
    case MEMSTAT_ERROR_NOTPRESENT: return "This kernel or capture has no such statistics";
    case MEMSTAT_ERROR_IO: return "Reading the kernel's statistics failed";
    case MEMSTAT_ERROR_TIMEOUT: return "The kernel did not answer in time";
    default: return "Unknown error";
  }
}

memory_type_list* memstat_mtl_alloc(void) {
  try {
    return new memory_type_list();
  } catch (const std::bad_alloc&) {
    errno = ENOMEM;
    return nullptr;
  }
}

memory_type* memstat_mtl_first(memory_type_list* list) { return list == nullptr ? nullptr : to_c(list->types().first()); }
memory_type* memstat_mtl_next(memory_type* mtp) { return mtp == nullptr ? nullptr : to_c(type_of(mtp).next()); }

memory_type* memstat_mtl_find(memory_type_list* list, int allocator, const char* name) {
  if (list == nullptr || name == nullptr) return nullptr;
  if (allocator == ALLOCATOR_ANY) return to_c(list->types().find(std::nullopt, name));
  if (allocator <= ALLOCATOR_UNKNOWN || allocator >= static_cast<int>(memstat::kAllocatorCount)) return nullptr;
  return to_c(list->types().find(static_cast<Allocator>(allocator), name));
}

void memstat_mtl_free(memory_type_list* list) { delete list; }
int memstat_mtl_geterror(memory_type_list* list) { return list == nullptr ? MEMSTAT_ERROR_UNDEFINED : list->error(); }

int memstat_sysctl_all(memory_type_list* list, int) {
  return run_query(list, [](memory_type_list& self) { return self.query_malloc() && self.query_uma(); });
}
int memstat_sysctl_malloc(memory_type_list* list, int) {
  return run_query(list, [](memory_type_list& self) { return self.query_malloc(); });
}
int memstat_sysctl_uma(memory_type_list* list, int) {
  return run_query(list, [](memory_type_list& self) { return self.query_uma(); });
}

int memstat_kvm_all(memory_type_list* list, void* kvm) { return query_kvm(list, kvm, {.malloc = true, .uma = true}); }
int memstat_kvm_malloc(memory_type_list* list, void* kvm) { return query_kvm(list, kvm, {.malloc = true}); }
int memstat_kvm_uma(memory_type_list* list, void* kvm) { return query_kvm(list, kvm, {.uma = true}); }

size_t memstat_malloc_zone_get_count(void) { return memstat::malloc_sizes::count(); }
size_t memstat_malloc_zone_get_size(size_t n) {
  return n < memstat::malloc_sizes::kMax ? static_cast<size_t>(memstat::malloc_sizes::size(n)) : static_cast<size_t>(-1);
}
int memstat_malloc_zone_used(const memory_type* mtp, size_t n) {
  return n < memstat::malloc_sizes::kMax && (figure(mtp, Field::kSizeMask) >> n & 1U) != 0 ? 1 : 0;
}

const char* memstat_get_name(const memory_type* mtp) { return mtp == nullptr ? "" : type_of(mtp).name().c_str(); }
int memstat_get_allocator(const memory_type* mtp) {
  return mtp == nullptr ? ALLOCATOR_UNKNOWN : static_cast<int>(type_of(mtp).allocator());
}

uint64_t memstat_get_countlimit(const memory_type* mtp) { return figure(mtp, Field::kCountLimit); }
uint64_t memstat_get_byteslimit(const memory_type* mtp) { return figure(mtp, Field::kBytesLimit); }
uint64_t memstat_get_sizemask(const memory_type* mtp) { return figure(mtp, Field::kSizeMask); }
uint64_t memstat_get_size(const memory_type* mtp) { return figure(mtp, Field::kSize); }
uint64_t memstat_get_rsize(const memory_type* mtp) { return figure(mtp, Field::kRSize); }
uint64_t memstat_get_memalloced(const memory_type* mtp) { return figure(mtp, Field::kMemAlloced); }
uint64_t memstat_get_memfreed(const memory_type* mtp) { return figure(mtp, Field::kMemFreed); }
uint64_t memstat_get_numallocs(const memory_type* mtp) { return figure(mtp, Field::kNumAllocs); }
uint64_t memstat_get_numfrees(const memory_type* mtp) { return figure(mtp, Field::kNumFrees); }
uint64_t memstat_get_bytes(const memory_type* mtp) { return figure(mtp, Field::kBytes); }
uint64_t memstat_get_count(const memory_type* mtp) { return figure(mtp, Field::kCount); }
uint64_t memstat_get_free(const memory_type* mtp) { return figure(mtp, Field::kFree); }
uint64_t memstat_get_failures(const memory_type* mtp) { return figure(mtp, Field::kFailures); }
uint64_t memstat_get_sleeps(const memory_type* mtp) { return figure(mtp, Field::kSleeps); }
uint64_t memstat_get_xdomain(const memory_type* mtp) { return figure(mtp, Field::kXDomain); }
uint64_t memstat_get_zonefree(const memory_type* mtp) { return figure(mtp, Field::kZoneFree); }
uint64_t memstat_get_kegfree(const memory_type* mtp) { return figure(mtp, Field::kKegFree); }

void* memstat_get_caller_pointer(const memory_type* mtp, int index) {
  return mtp == nullptr ? nullptr : type_of(mtp).caller_pointer(slot_of(index));
}
void memstat_set_caller_pointer(memory_type* mtp, int index, void* value) {
  store(mtp, [&](MemoryType& type) { type.set_caller_pointer(slot_of(index), value); });
}
uint64_t memstat_get_caller_uint64(const memory_type* mtp, int index) {
  return mtp == nullptr ? 0 : type_of(mtp).caller_uint64(slot_of(index));
}
void memstat_set_caller_uint64(memory_type* mtp, int index, uint64_t value) {
  store(mtp, [&](MemoryType& type) { type.set_caller_uint64(slot_of(index), value); });
}

uint64_t memstat_get_percpu_memalloced(const memory_type* mtp, int cpu) {
  return malloc_cpu_figure(mtp, CpuField::kMemAlloced, cpu);
}
uint64_t memstat_get_percpu_memfreed(const memory_type* mtp, int cpu) {
  return malloc_cpu_figure(mtp, CpuField::kMemFreed, cpu);
}
uint64_t memstat_get_percpu_numallocs(const memory_type* mtp, int cpu) {
  return malloc_cpu_figure(mtp, CpuField::kNumAllocs, cpu);
}
uint64_t memstat_get_percpu_numfrees(const memory_type* mtp, int cpu) {
  return malloc_cpu_figure(mtp, CpuField::kNumFrees, cpu);
}
uint64_t memstat_get_percpu_sizemask(const memory_type* mtp, int cpu) {
  return malloc_cpu_figure(mtp, CpuField::kSizeMask, cpu);
}
uint64_t memstat_get_percpu_free(const memory_type* mtp, int cpu) {
  const std::uint64_t free = mtp == nullptr || cpu < 0 ? 0 : type_of(mtp).cpu_figure(CpuField::kFree, cpu_of(cpu));
  return free == memstat::kNoFigure ? 0 : free;
}

void* memstat_get_percpu_caller_pointer(const memory_type* mtp, int cpu, int index) {
  return mtp == nullptr ? nullptr : type_of(mtp).cpu_caller_pointer(cpu_of(cpu), slot_of(index));
}
void memstat_set_percpu_caller_pointer(memory_type* mtp, int cpu, int index, void* value) {
  store(mtp, [&](MemoryType& type) { type.set_cpu_caller_pointer(cpu_of(cpu), slot_of(index), value); });
}
uint64_t memstat_get_percpu_caller_uint64(const memory_type* mtp, int cpu, int index) {
  return mtp == nullptr ? 0 : type_of(mtp).cpu_caller_uint64(cpu_of(cpu), slot_of(index));
}
void memstat_set_percpu_caller_uint64(memory_type* mtp, int cpu, int index, uint64_t value) {
  store(mtp, [&](MemoryType& type) { type.set_cpu_caller_uint64(cpu_of(cpu), slot_of(index), value); });
}

// ---- additions -----------------------------------------------------------------------------------------------------------

int memstat_mtl_set_capture(memory_type_list* list, const char* reference) {
  return run_query(list, [&](memory_type_list& self) { return self.set_capture(reference); });
}
void memstat_mtl_set_folding(memory_type_list* list, int folding) {
  if (list != nullptr) list->set_folding(folding != 0);
}
size_t memstat_mtl_get_count(const memory_type_list* list) { return list == nullptr ? 0 : list->types().size(); }
const char* memstat_mtl_get_message(const memory_type_list* list) { return list == nullptr ? "" : list->message(); }
const char* memstat_mtl_get_notes(const memory_type_list* list) { return list == nullptr ? "" : list->notes(); }

int memstat_linux_all(memory_type_list* list, int) {
  return run_query(list, [](memory_type_list& self) { return self.query_linux(); });
}
int memstat_linux_slab(memory_type_list* list, int) {
  return run_query(list, [](memory_type_list& self) { return self.query_linux(Allocator::kSlab); });
}
int memstat_linux_vmalloc(memory_type_list* list, int) {
  return run_query(list, [](memory_type_list& self) { return self.query_linux(Allocator::kVmalloc); });
}

size_t memstat_source_get_count(void) { return memstat::all_sources().size(); }
const char* memstat_source_get_name(size_t n) {
  return n < memstat::all_sources().size() ? memstat::all_sources()[n]->name.data()
                                           : nullptr;  // a string literal, so NUL-terminated
}
int memstat_source_query(memory_type_list* list, const char* name, int) {
  return run_query(list, [&](memory_type_list& self) { return self.query_source(name == nullptr ? "" : name); });
}

int memstat_sysctl_get(memory_type_list* list, const char* name, void* buffer, size_t* size) {
  return run_query(list, [&](memory_type_list& self) {
    if (name == nullptr || size == nullptr || (buffer == nullptr && *size != 0)) {
      return self.fail(ErrorCode::kData, "memstat_sysctl_get needs a name, a buffer and its size");
    }
    return self.read_sysctl(name, static_cast<char*>(buffer), *size);
  });
}

int memstat_get_cpu_count(const memory_type* mtp) { return mtp == nullptr ? 0 : int_of(type_of(mtp).cpu_count()); }
int memstat_get_ordinal(const memory_type* mtp) { return mtp == nullptr ? 0 : int_of(type_of(mtp).ordinal()); }
int memstat_get_duplicates(const memory_type* mtp) { return mtp == nullptr ? 0 : int_of(type_of(mtp).duplicates()); }
int memstat_is_present(const memory_type* mtp) { return mtp != nullptr && type_of(mtp).is_present() ? 1 : 0; }

int memstat_fails_routinely(const memory_type* mtp) {
  return mtp != nullptr && memstat::fails_routinely(type_of(mtp).allocator(), type_of(mtp).name()) ? 1 : 0;
}
int memstat_is_container(const memory_type* mtp) {
  return mtp != nullptr && memstat::is_container(type_of(mtp).allocator(), type_of(mtp).name()) ? 1 : 0;
}
const char* memstat_get_detail(const memory_type* mtp) { return mtp == nullptr ? "" : type_of(mtp).detail().c_str(); }
uint64_t memstat_get_held_bytes(const memory_type* mtp) { return figure(mtp, Field::kHeldBytes); }
uint32_t memstat_get_figures(const memory_type* mtp) { return mtp == nullptr ? 0 : type_of(mtp).fields().bits(); }

uint32_t memstat_get_cpu_figures(const memory_type* mtp) {
  return mtp == nullptr ? 0 : static_cast<uint32_t>(type_of(mtp).cpu_fields().bits());
}
uint64_t memstat_get_cpu_figure(const memory_type* mtp, int cpu, uint32_t figure) {
  if (!std::has_single_bit(figure & memstat_get_cpu_figures(mtp)) || !std::has_single_bit(figure) || cpu < 0) return 0;
  const std::uint64_t value = type_of(mtp).cpu_figure(static_cast<CpuField>(std::countr_zero(figure)), cpu_of(cpu));
  return value == memstat::kNoFigure ? 0 : value;
}

int memstat_get_node_count(const memory_type* mtp) { return mtp == nullptr ? 0 : int_of(type_of(mtp).node_count()); }
uint32_t memstat_get_node_figures(const memory_type* mtp) { return mtp == nullptr ? 0 : type_of(mtp).node_fields().bits(); }
uint64_t memstat_get_pernode_held_bytes(const memory_type* mtp, int node) {
  return node_figure(mtp, NodeField::kHeldBytes, node);
}
uint64_t memstat_get_pernode_count(const memory_type* mtp, int node) { return node_figure(mtp, NodeField::kCount, node); }
uint64_t memstat_get_pernode_free(const memory_type* mtp, int node) { return node_figure(mtp, NodeField::kFree, node); }
uint64_t memstat_get_pernode_slots(const memory_type* mtp, int node) {
  return node_figure(mtp, NodeField::kTotalObjects, node);
}

int memstat_get_kernel(memory_type_list* list, memstat_kernel* kernel) {
  return run_query(list, [&](memory_type_list& self) {
    if (kernel == nullptr) return self.fail(ErrorCode::kData, "memstat_get_kernel needs room for a kernel");
    return self.read_kernel(*kernel);
  });
}

int memstat_get_memory(memory_type_list* list, memstat_memory* memory) {
  return run_query(list, [&](memory_type_list& self) {
    if (memory == nullptr) return self.fail(ErrorCode::kData, "memstat_get_memory needs room for the memory");
    return self.read_memory(*memory);
  });
}

int memstat_find_memory_block(memory_type_list* list, uint64_t address, memstat_memory_block* block) {
  return run_query(list, [&](memory_type_list& self) {
    if (block == nullptr) return self.fail(ErrorCode::kData, "memstat_find_memory_block needs room for a block");
    memstat::MemoryBlock found;
    if (!self.find_memory_block(address, found)) return false;
    *block = {.node = int_of(found.node),
              .is_online = found.is_online ? 1 : 0,
              .is_block = found.is_block ? 1 : 0,
              .first = found.first,
              .last = found.last};
    return true;
  });
}

int memstat_get_process(memory_type_list* list, int pid, memstat_process* process) {
  return run_query(list, [&](memory_type_list& self) {
    if (process == nullptr) return self.fail(ErrorCode::kData, "memstat_get_process needs room for a process");
    if (pid < 0) return self.fail(ErrorCode::kNotPresent, "no process has a number below 0");
    memstat::ProcessMemory memory;
    std::string name;
    if (!self.read_process(pid, memory, name)) return false;
    *process = {.size = memory.size,
                .resident = memory.resident,
                .shared = memory.shared,
                .text = memory.text,
                .data = memory.data,
                .name = {}};
    copy_text(name, process->name, sizeof process->name);
    return true;
  });
}

size_t memstat_bytes_to_string(uint64_t bytes, char* text, size_t room) {
  return copy_text(memstat::bytes_to_string(bytes).view(), text, room);
}
size_t memstat_process_to_string(const memstat_process* process, char* text, size_t room) {
  if (process == nullptr) return copy_text({}, text, room);
  return copy_text(memstat::proc_mem_string({.size = process->size,
                                             .resident = process->resident,
                                             .shared = process->shared,
                                             .text = process->text,
                                             .data = process->data})
                       .view(),
                   text, room);
}

const char* memstat_source_get_os(size_t n) {
  return n < memstat::all_sources().size() ? memstat::to_string(memstat::all_sources()[n]->os).data() : nullptr;
}

int memstat_kernel_all(memory_type_list* list, int) {
  return run_query(list, [](memory_type_list& self) { return self.query_kernel(); });
}

size_t memstat_capture_get_count(memory_type_list* list) {
  size_t count = 0;
  run_query(list, [&](memory_type_list& self) {
    const memstat::ReplayKernelView* const capture = self.capture();
    count = capture == nullptr ? 0 : capture->poll_count();
    return true;
  });
  return count;
}

int memstat_capture_get_poll(memory_type_list* list, size_t number, memstat_poll* poll) {
  return run_query(list, [&](memory_type_list& self) {
    const memstat::ReplayKernelView* const capture = self.capture();
    if (poll == nullptr) return self.fail(ErrorCode::kData, "memstat_capture_get_poll needs room for a poll");
    if (capture == nullptr) return self.fail(ErrorCode::kNotPresent, "only captures have polls; name one");
    if (number >= capture->poll_count()) {
      return self.fail(ErrorCode::kNotPresent, "the capture has no poll " + std::to_string(number) + "; its last is " +
                                                   std::to_string(capture->poll_count() - 1));
    }
    const memstat::PollInfo& info = capture->poll_info(number);
    *poll = {.realtime_ns = info.realtime_ns,
             .monotonic_ns = info.monotonic_ns,
             .failed_reads = capture->errors_of(number).size(),
             .label = {}};
    copy_text(info.label, poll->label, sizeof poll->label);
    return true;
  });
}

int memstat_capture_select(memory_type_list* list, size_t number) {
  return run_query(list, [&](memory_type_list& self) { return self.select_poll(number); });
}

int memstat_record_begin(memory_type_list* list, const char* output, uint64_t max_bytes) {
  return run_query(list, [&](memory_type_list& self) {
    if (output == nullptr || *output == '\0') return self.fail(ErrorCode::kData, "memstat_record_begin needs a name");
    return self.begin_recording(output, max_bytes);
  });
}

int memstat_record_poll(memory_type_list* list, const char* label) {
  return run_query(list, [&](memory_type_list& self) { return self.record_poll(label == nullptr ? "" : label); });
}

int memstat_record_end(memory_type_list* list) {
  return run_query(list, [](memory_type_list& self) { return self.end_recording(); });
}

}  // extern "C"
