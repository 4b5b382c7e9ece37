// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
// Counts events of Linux's memory management outside the slab caches. There is a program for each way to see an event;
// memstatd loads those that this kernel supports. The kernel's structs are declared here, and relocated to the running
// kernel's when the program is loaded (CO-RE).
#include "core/events/bpf/kernel_structs.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "core/events/bpf/sampling.h"
#include "core/events/bpf/vm_layout.h"

struct kernel_siginfo {
  int si_code;
} FOUND_IN_KERNEL;

// The saved registers at a probe, for x86 and arm64.
struct pt_regs {
  unsigned long ax;
  unsigned long dx;
} FOUND_IN_KERNEL;
struct user_pt_regs {
  __u64 regs[31];
} FOUND_IN_KERNEL;

const volatile struct memstat_vm_constants constants = {.has_victim_task = 1,
                                                        .page_size = 4096,
                                                        .percpu_size = 3,
                                                        .brk_length = 3,
                                                        .has_sizes = 0,
                                                        .has_times = 0,
                                                        .has_ticks = 1};

struct memstat_vm_shared shared;

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_MMAPABLE);
  __uint(max_entries, 1);  // set to the number of possible CPUs before loading
  __type(key, __u32);
  __type(value, struct memstat_vm_cpu);
} by_cpu SEC(".maps");

static __always_inline struct memstat_vm_cpu* this_cpu(void) {
  const __u32 cpu = bpf_get_smp_processor_id();
  return bpf_map_lookup_elem(&by_cpu, &cpu);
}

static __always_inline void count(__u32 event, __u64 bytes) {
  struct memstat_vm_cpu* cpu = this_cpu();
  if (!cpu) return;
  ++cpu->events[event].count;
  cpu->events[event].bytes += bytes;
}

// The weight of a frequent event; 0: skip it.
static __always_inline __u64 vm_weight(void) { return constants.has_ticks ? weight_now() : 1; }

static __always_inline void count_frequent(__u32 event, __u64 bytes) {
  const __u64 weight = vm_weight();
  if (weight == 0) return;
  struct memstat_vm_cpu* cpu = this_cpu();
  if (!cpu) return;
  cpu->events[event].count += weight;
  cpu->events[event].bytes += weight * bytes;
  if (!constants.has_sizes) return;
  if (event == MEMSTAT_VM_PERCPU_ALLOC) cpu->percpu_sizes[memstat_size_bucket(bytes)] += weight;
  if (event == MEMSTAT_VM_VMALLOC) cpu->vmalloc_sizes[memstat_size_bucket(bytes)] += weight;
}

// A name to look up, padded with zeros.
struct name {
  __u64 words[MEMSTAT_VM_NAME_SIZE / 8];
};

static __always_inline int is_name(const struct memstat_vm_name* known, const struct name* name) {
  const __u64* words = (const __u64*)known->name;
  __u64 difference = 0;
  for (int i = 0; i < MEMSTAT_VM_NAME_SIZE / 8; ++i) difference |= words[i] ^ name->words[i];
  return difference == 0;
}

// If two CPUs see a new name at the same time, both may claim an entry for it. Readers add up equal names.
static __always_inline void count_name(struct memstat_vm_names* all, const struct name* name) {
  for (int at = 0; at < MEMSTAT_VM_NAMES; ++at) {
    struct memstat_vm_name* known = &all->names[at];
    if (known->state == 0 && __sync_val_compare_and_swap(&known->state, 0, 1) == 0) {
      __u64* words = (__u64*)known->name;
      for (int i = 0; i < MEMSTAT_VM_NAME_SIZE / 8; ++i) words[i] = name->words[i];
      __sync_fetch_and_add(&known->count, 1);
      __sync_fetch_and_add(&known->state, 1);
      return;
    }
    if (known->state == 2 && is_name(known, name)) {
      __sync_fetch_and_add(&known->count, 1);
      return;
    }
  }
  __sync_fetch_and_add(&all->others, 1);
}

SEC("raw_tp/mark_victim")
int on_mark_victim(struct raw_arguments* arguments) {
  count(MEMSTAT_VM_OOM_KILL, 0);
  if (!constants.has_victim_task) return 0;
  const struct task_struct* task = (const struct task_struct*)arguments->values[0];
  struct name name = {};
  BPF_CORE_READ_STR_INTO((char(*)[MEMSTAT_VM_NAME_SIZE]) & name, task, comm);
  count_name(&shared.victims, &name);
  return 0;
}

// The page allocator had no memory for a slab cache. Runs before the kernel decides whether to print a message.
SEC("fentry/slab_out_of_memory")
int on_slab_out_of_memory(__u64* arguments) {
  count(MEMSTAT_VM_SLAB_FAILURE, 0);
  const struct kmem_cache* cache = (const struct kmem_cache*)arguments[0];
  struct name name = {};
  bpf_probe_read_kernel_str(&name, sizeof name, BPF_CORE_READ(cache, name));
  count_name(&shared.caches, &name);
  return 0;
}

// The last 16 bytes of a text that is read byte by byte.
struct window {
  __u64 before;
  __u64 last;
};
#define EIGHT(a, b, c, d, e, f, g, h)                                                                                \
  ((__u64)(a) << 56 | (__u64)(b) << 48 | (__u64)(c) << 40 | (__u64)(d) << 32 | (__u64)(e) << 24 | (__u64)(f) << 16 | \
   (__u64)(g) << 8 | (__u64)(h))
static __always_inline void move_on(struct window* window, char next) {
  window->before = window->before << 8 | window->last >> 56;
  window->last = window->last << 8 | (__u8)next;
}

// Reads a kernel message into `text`. Returns 0 if there is none.
static __always_inline int read_message(const struct raw_arguments* arguments, char* text) {
  __u64 size = arguments->values[1];
  if (size == 0) return 0;
  if (size > MEMSTAT_VM_TEXT - 1) size = MEMSTAT_VM_TEXT - 1;
  if (bpf_probe_read_kernel(text, size, (const void*)arguments->values[0]) != 0) return 0;
  text[size & (MEMSTAT_VM_TEXT - 1)] = 0;
  return 1;
}

// Parses the message of slab_out_of_memory(): "  cache: dentry, object size: 192, ...".
SEC("raw_tp/console")
int on_slab_message(struct raw_arguments* arguments) {
  struct memstat_vm_cpu* cpu = this_cpu();
  if (!cpu || !read_message(arguments, cpu->slab_text)) return 0;
  const char* text = cpu->slab_text;
  struct window seen = {};
  struct name name = {};
  __u32 at = 0;
  int is_found = 0;
  for (; at < 64; ++at) {
    move_on(&seen, text[at]);
    is_found = seen.last == EIGHT(' ', ' ', 'c', 'a', 'c', 'h', 'e', ':');
    if (is_found) break;
  }
  if (!is_found) return 0;
  at += 2;
  char* to = (char*)&name;
  __u32 length = 0;
  for (; length < MEMSTAT_VM_NAME_SIZE - 1; ++length) {
    const char next = text[(at + length) & (MEMSTAT_VM_TEXT - 1)];
    if (next == ',' || next == 0) break;
    to[length] = next;
  }
  // A cache has a name, and a comma follows it.
  if (length == 0 || text[(at + length) & (MEMSTAT_VM_TEXT - 1)] != ',') return 0;
  ++cpu->events[MEMSTAT_VM_SLAB_FAILURE].count;
  count_name(&shared.caches, &name);
  return 0;
}

// Parses the message of warn_alloc(): "COMMAND: page allocation failure: order:3, mode:...".
SEC("raw_tp/console")
int on_page_message(struct raw_arguments* arguments) {
  struct memstat_vm_cpu* cpu = this_cpu();
  if (!cpu || !read_message(arguments, cpu->page_text)) return 0;
  struct window seen = {};
  for (__u32 at = 0; at < 96; ++at) {
    move_on(&seen, cpu->page_text[at]);
    if (seen.before == EIGHT('o', 'c', 'a', 't', 'i', 'o', 'n', ' ') &&
        seen.last == EIGHT('f', 'a', 'i', 'l', 'u', 'r', 'e', ':')) {
      ++cpu->events[MEMSTAT_VM_PAGE_FAILURE].count;
      return 0;
    }
  }
  return 0;
}

SEC("raw_tp/percpu_alloc_percpu_fail")
int on_percpu_failure(struct raw_arguments* arguments) {
  count(MEMSTAT_VM_PERCPU_FAILURE, arguments->values[2]);
  return 0;
}

SEC("raw_tp/alloc_vmap_area")
int on_vmap_failure(struct raw_arguments* arguments) {
  if ((int)arguments->values[5] != 0) count(MEMSTAT_VM_VMALLOC_FAILURE, arguments->values[1]);
  return 0;
}

// Selects one of two arguments after reading both: the verifier does not allow a variable index into the context.
static __always_inline __u64 one_of(__u64 first, __u64 second, int is_second) {
  barrier_var(first);
  barrier_var(second);
  return is_second ? second : first;
}

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);  // set to 2^MEMSTAT_VM_TASK_BITS before loading, if times are enabled
  __type(key, __u32);
  __type(value, __u64);
} begun_faults SEC(".maps");

// A page fault in progress is one word, so that it is written atomically: the start time in the lower bits, and above
// it the bits of the task's number that the index does not have.
#define TIME_BITS 54
#define TIME_MASK ((1ULL << TIME_BITS) - 1)

static __always_inline __u64* begun_fault_of(__u32 task) {
  const __u32 place = task & ((1U << MEMSTAT_VM_TASK_BITS) - 1);
  return bpf_map_lookup_elem(&begun_faults, &place);
}
static __always_inline int is_of_task(__u64 begun, __u32 task) {
  return begun != 0 && begun >> TIME_BITS == task >> MEMSTAT_VM_TASK_BITS;
}

static __always_inline void begin_fault(void) {
  if (!constants.has_times) return;
  const __u32 task = (__u32)bpf_get_current_pid_tgid();
  __u64* begun = begun_fault_of(task);
  if (!begun || task == 0) return;
  if (is_of_task(*begun, task)) {
    struct memstat_vm_cpu* cpu = this_cpu();
    if (cpu) ++cpu->untimed_faults;
  }
  *begun = vm_weight() == 0 ? 0 : (__u64)task >> MEMSTAT_VM_TASK_BITS << TIME_BITS | (bpf_ktime_get_ns() & TIME_MASK);
}

static __always_inline void end_fault(__u32 outcome) {
  if (!constants.has_times) return;
  const __u32 task = (__u32)bpf_get_current_pid_tgid();
  __u64* begun = begun_fault_of(task);
  if (!begun || !is_of_task(*begun, task)) return;
  const __u64 time = (bpf_ktime_get_ns() - *begun) & TIME_MASK;
  *begun = 0;
  struct memstat_vm_cpu* cpu = this_cpu();
  if (!cpu) return;
  const __u64 weight = constants.has_ticks ? (__u64)sampling.mask + 1 : 1;  // the start time was sampled
  struct memstat_vm_times* times = &cpu->fault_times[outcome & (MEMSTAT_VM_OUTCOMES - 1)];
  times->sum_ns += weight * time;
  times->counts[memstat_time_bucket(time)] += weight;
}

#define FAULT_FLAG_WRITE 1
#define FAULT_FLAG_TRIED 0x20
#define VM_FAULT_OOM 0x1
#define VM_FAULT_SIGBUS 0x2
#define VM_FAULT_MAJOR 0x4
#define VM_FAULT_RETRY 0x400

// The outcome in a result of handle_mm_fault(), as an offset from MEMSTAT_VM_FAULT_MINOR and MEMSTAT_VM_TIME_MINOR.
static __always_inline __u32 outcome_of(__u32 result) {
  if (result & VM_FAULT_OOM) return MEMSTAT_VM_FAULT_OOM - MEMSTAT_VM_FAULT_MINOR;
  if (result & VM_FAULT_SIGBUS) return MEMSTAT_VM_FAULT_SIGBUS - MEMSTAT_VM_FAULT_MINOR;
  return result & VM_FAULT_MAJOR ? MEMSTAT_VM_FAULT_MAJOR - MEMSTAT_VM_FAULT_MINOR : 0;
}

// A retried fault keeps its start time.
SEC("fentry/handle_mm_fault")
int on_fault_begin(__u64* arguments) {
  if (!(arguments[2] & FAULT_FLAG_TRIED)) begin_fault();
  return 0;
}

SEC("fexit/handle_mm_fault")
int on_fault(__u64* arguments) {
  const __u32 result = (__u32)arguments[4];
  if (result & VM_FAULT_RETRY) return 0;  // the fault will be retried
  const __u32 outcome = outcome_of(result);
  end_fault(outcome);
  const __u64 weight = vm_weight();
  if (weight == 0) return 0;
  struct memstat_vm_cpu* cpu = this_cpu();
  if (!cpu) return 0;
  if (arguments[2] & FAULT_FLAG_WRITE) {
    cpu->events[MEMSTAT_VM_FAULT_WRITE].count += weight;
  } else {
    cpu->events[MEMSTAT_VM_FAULT_READ].count += weight;
  }
  cpu->events[MEMSTAT_VM_FAULT_MINOR + outcome].count += weight;
  return 0;
}

// Fallback for kernels that only support probes at functions. Accesses and other outcomes are then counted elsewhere.
static __always_inline __u64 of_registers(const struct pt_regs* registers, int is_result) {
  if (bpf_core_field_exists(registers->ax)) return is_result ? BPF_CORE_READ(registers, ax) : BPF_CORE_READ(registers, dx);
  const struct user_pt_regs* of_arm64 = (const struct user_pt_regs*)registers;
  return is_result ? BPF_CORE_READ(of_arm64, regs[0]) : BPF_CORE_READ(of_arm64, regs[2]);
}
SEC("kprobe/handle_mm_fault")
int on_fault_probe(struct pt_regs* registers) {
  if (!(of_registers(registers, 0) & FAULT_FLAG_TRIED)) begin_fault();
  return 0;
}
SEC("kretprobe/handle_mm_fault")
int on_fault_return(struct pt_regs* registers) {
  const __u32 result = (__u32)of_registers(registers, 1);
  if (result & VM_FAULT_RETRY) return 0;
  end_fault(outcome_of(result));
  return 0;
}

// Fallback for kernels that support no programs at functions: the kernel's software events. The first comes once per
// fault, however often it is retried.
SEC("perf_event")
int on_fault_counted(void* context) {
  begin_fault();
  return 0;
}
SEC("perf_event")
int on_minor_fault(void* context) {
  end_fault(MEMSTAT_VM_FAULT_MINOR - MEMSTAT_VM_FAULT_MINOR);
  return 0;
}
SEC("perf_event")
int on_major_fault(void* context) {
  end_fault(MEMSTAT_VM_FAULT_MAJOR - MEMSTAT_VM_FAULT_MINOR);
  return 0;
}

// x86: the CPU's error code has the access. User and kernel faults have separate counters, because a kernel fault can
// occur while a user fault is handled.
#define IS_WRITE 2
SEC("raw_tp/page_fault_user")
int on_user_fault(struct raw_arguments* arguments) {
  const __u64 weight = vm_weight();
  struct memstat_vm_cpu* cpu = weight != 0 ? this_cpu() : 0;
  if (cpu) cpu->user_faults[(arguments->values[2] & IS_WRITE) != 0] += weight;
  return 0;
}
SEC("raw_tp/page_fault_kernel")
int on_kernel_fault(struct raw_arguments* arguments) {
  const __u64 weight = vm_weight();
  struct memstat_vm_cpu* cpu = weight != 0 ? this_cpu() : 0;
  if (cpu) cpu->kernel_faults[(arguments->values[2] & IS_WRITE) != 0] += weight;
  return 0;
}

// The signal for an access beyond the end of a mapped file.
#define SIGBUS 7
#define BUS_ADRERR 2
SEC("raw_tp/signal_generate")
int on_signal(struct raw_arguments* arguments) {
  if ((int)arguments->values[0] != SIGBUS || arguments->values[1] <= 1) return 0;
  const struct kernel_siginfo* facts = (const struct kernel_siginfo*)arguments->values[1];
  if (BPF_CORE_READ(facts, si_code) != BUS_ADRERR) return 0;
  count(MEMSTAT_VM_FAULT_SIGBUS, 0);
  end_fault(MEMSTAT_VM_FAULT_SIGBUS - MEMSTAT_VM_FAULT_MINOR);
  return 0;
}

// A program that counts a frequent event of that many bytes.
#define COUNTS(place, program, type, event, bytes) \
  SEC(place) int program(type* context) {          \
    count_frequent(event, bytes);                  \
    return 0;                                      \
  }

COUNTS("fentry/do_wp_page", on_write_shared, __u64, MEMSTAT_VM_WRITE_SHARED, 0)
COUNTS("fentry/wp_page_copy", on_write_shared_copy, __u64, MEMSTAT_VM_WRITE_SHARED_COPY, 0)

COUNTS("fentry/ksys_mmap_pgoff", on_mmap, __u64, MEMSTAT_VM_MMAP, context[1])
COUNTS("fentry/__vm_munmap", on_munmap, __u64, MEMSTAT_VM_MUNMAP, context[1])
COUNTS("fentry/do_brk_flags", on_brk, __u64, MEMSTAT_VM_BRK, one_of(context[1], context[3], constants.brk_length == 3))

struct system_call {
  __u64 common;
  __u64 number;
  __u64 arguments[6];
};
COUNTS("tp/syscalls/sys_enter_mmap", on_mmap_call, struct system_call, MEMSTAT_VM_MMAP, context->arguments[1])
COUNTS("tp/syscalls/sys_enter_munmap", on_munmap_call, struct system_call, MEMSTAT_VM_MUNMAP, context->arguments[1])
COUNTS("tp/syscalls/sys_enter_brk", on_brk_call, struct system_call, MEMSTAT_VM_BRK, 0)

SEC("raw_tp/mm_page_alloc")
int on_page_alloc(struct raw_arguments* arguments) {
  const __u64 weight = vm_weight();
  if (weight == 0 && arguments->values[0] != 0) return 0;
  struct memstat_vm_cpu* cpu = this_cpu();
  if (!cpu) return 0;
  const __u32 order = (__u32)arguments->values[1] & (MEMSTAT_VM_ORDERS - 1);
  if (constants.gfp.is_wanted) {
    memstat_gfp_count(&cpu->pages_by_gfp, arguments->values[2], &constants.gfp, weight, arguments->values[0] == 0);
  }
  if (arguments->values[0] == 0) {
    ++cpu->events[MEMSTAT_VM_PAGE_FAILURE].count;
    ++cpu->page_failures[order];
    return 0;
  }
  cpu->events[MEMSTAT_VM_PAGE_ALLOC].count += weight;
  cpu->events[MEMSTAT_VM_PAGE_ALLOC].bytes += weight * ((__u64)constants.page_size << order);
  cpu->pages[order][(__u32)arguments->values[3] & (MEMSTAT_VM_MIGRATE_TYPES - 1)] += weight;
  return 0;
}
COUNTS("raw_tp/mm_page_free", on_page_free, struct raw_arguments, MEMSTAT_VM_PAGE_FREE,
       (__u64)constants.page_size << (context->values[1] & (MEMSTAT_VM_ORDERS - 1)))

COUNTS("raw_tp/percpu_alloc_percpu", on_percpu_alloc, struct raw_arguments, MEMSTAT_VM_PERCPU_ALLOC,
       one_of(context->values[2], context->values[3], constants.percpu_size == 3))
COUNTS("raw_tp/percpu_free_percpu", on_percpu_free, struct raw_arguments, MEMSTAT_VM_PERCPU_FREE, 0)

SEC("raw_tp/alloc_vmap_area")
int on_vmap_area(struct raw_arguments* arguments) {
  if ((int)arguments->values[5] != 0) {
    count(MEMSTAT_VM_VMALLOC_FAILURE, arguments->values[1]);
  } else {
    count_frequent(MEMSTAT_VM_VMALLOC, arguments->values[1]);
  }
  return 0;
}
COUNTS("raw_tp/free_vmap_area_noflush", on_vmap_free, struct raw_arguments, MEMSTAT_VM_VFREE, 0)

char terms[] SEC("license") = "Dual BSD/GPL";
