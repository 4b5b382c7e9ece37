/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The memory that bpf/vm_events.bpf.c writes and memstatd reads, without a system call: C for both of them. Each figure is
 * written by one program only, on its CPU's own row, and no program interrupts itself on a CPU, so that nothing needs a
 * lock; names, which are rare, are shared by all CPUs and claimed. Thread safety: as that says. */
#pragma once

#include "core/events/bpf/gfp.h"
#include "core/events/bpf/sizes.h"

/* What is counted, its word, and what there is beside its count: Bytes, its size; Fault, it is a kind of page fault; Times,
 * how long these took. */
#define MEMSTAT_VM_EVENT_LIST(EVENT)                                                 \
  EVENT(OOM_KILL, "oom_kill", Count)                                                 \
  EVENT(SLAB_FAILURE, "slab_failure", Count)                                         \
  EVENT(PAGE_FAILURE, "page_failure", Count)                                         \
  EVENT(PERCPU_FAILURE, "percpu_failure", Bytes)                                     \
  EVENT(VMALLOC_FAILURE, "vmalloc_failure", Bytes)                                   \
  /* Page faults by access, and by how they ended. */                                \
  EVENT(FAULT_READ, "read", Fault)                                                   \
  EVENT(FAULT_WRITE, "write", Fault)                                                 \
  EVENT(FAULT_MINOR, "minor", Fault)                                                 \
  EVENT(FAULT_MAJOR, "major", Fault)                                                 \
  EVENT(FAULT_OOM, "oom", Fault)                                                     \
  EVENT(FAULT_SIGBUS, "sigbus", Fault)                                               \
  EVENT(WRITE_SHARED, "write_shared", Count)                                         \
  EVENT(WRITE_SHARED_COPY, "write_shared_copy", Count)                               \
  EVENT(MMAP, "mmap", Bytes)                                                         \
  EVENT(MUNMAP, "munmap", Bytes)                                                     \
  EVENT(BRK, "brk", Bytes)                                                           \
  EVENT(PAGE_ALLOC, "page_alloc", Bytes)                                             \
  EVENT(PAGE_FREE, "page_free", Bytes)                                               \
  EVENT(PERCPU_ALLOC, "percpu_alloc", Bytes)                                         \
  EVENT(PERCPU_FREE, "percpu_free", Count)                                           \
  EVENT(VMALLOC, "vmalloc", Bytes)                                                   \
  EVENT(VFREE, "vfree", Count)                                                       \
  /* How long page faults took, by how they ended; these have times and no count. */ \
  EVENT(TIME_MINOR, "minor", Times)                                                  \
  EVENT(TIME_MAJOR, "major", Times)                                                  \
  EVENT(TIME_OOM, "oom", Times)                                                      \
  EVENT(TIME_SIGBUS, "sigbus", Times)

/* NOLINTBEGIN(readability-identifier-naming): the programs are C */
enum memstat_vm_event {
#define MEMSTAT_VM_NUMBER(NAME, word, kind) MEMSTAT_VM_##NAME,
  MEMSTAT_VM_EVENT_LIST(MEMSTAT_VM_NUMBER)
#undef MEMSTAT_VM_NUMBER
      MEMSTAT_VM_EVENTS
};
/* NOLINTEND(readability-identifier-naming) */

#define MEMSTAT_VM_ORDERS 16       /* of page allocations, a power of two; kernels have 11 */
#define MEMSTAT_VM_MIGRATE_TYPES 8 /* a power of two; kernels have 4 to 6 */

struct memstat_vm_count {
  unsigned long long count;
  unsigned long long bytes; /* of events that have a size */
};

#define MEMSTAT_VM_OUTCOMES 4 /* of a page fault, in the order of MEMSTAT_VM_TIME_* */

/* How long page faults of one outcome took. */
struct memstat_vm_times {
  unsigned long long sum_ns;
  unsigned long long counts[MEMSTAT_TIMES];
};

/* Tasks whose page fault is under way have a place each, by the lower bits of their number, if times are wanted. */
#define MEMSTAT_VM_TASK_BITS 12

#define MEMSTAT_VM_TEXT 256 /* B, of a message of the kernel that a program looks at */

struct memstat_vm_cpu {
  struct memstat_vm_count events[MEMSTAT_VM_EVENTS];
  unsigned long long pages[MEMSTAT_VM_ORDERS][MEMSTAT_VM_MIGRATE_TYPES]; /* allocations that got pages */
  unsigned long long page_failures[MEMSTAT_VM_ORDERS];
  struct memstat_gfp_counts pages_by_gfp;         /* where classes are wanted */
  unsigned long long percpu_sizes[MEMSTAT_SIZES]; /* where sizes are wanted */
  unsigned long long vmalloc_sizes[MEMSTAT_SIZES];
  unsigned long long user_faults[2]; /* reads, writes; where faults are seen as the CPU's exceptions */
  unsigned long long kernel_faults[2];
  struct memstat_vm_times fault_times[MEMSTAT_VM_OUTCOMES]; /* where times are wanted */
  unsigned long long untimed_faults; /* that began and whose end was not seen, as far as their task had another one */
  char slab_text[MEMSTAT_VM_TEXT];   /* the programs' own */
  char page_text[MEMSTAT_VM_TEXT];
};

#define MEMSTAT_VM_NAME_SIZE 64 /* B, with the NUL; what is longer is cut */
#define MEMSTAT_VM_NAMES 64     /* of each kind; events of further names are counted as those of others */

/* The events of one name. */
struct memstat_vm_name {
  unsigned long long state; /* 0: free, 1: being claimed, 2: the name is whole */
  unsigned long long count;
  char name[MEMSTAT_VM_NAME_SIZE];
};

struct memstat_vm_names {
  struct memstat_vm_name names[MEMSTAT_VM_NAMES];
  unsigned long long others;
};

/* All CPUs share this. */
struct memstat_vm_shared {
  struct memstat_vm_names caches;  /* whose allocations failed */
  struct memstat_vm_names victims; /* commands that were killed for memory */
};

/* What of this kernel the programs must know, told to them before they are loaded. */
struct memstat_vm_constants {
  unsigned int has_victim_task; /* mark_victim has the task, not its number */
  unsigned int page_size;       /* B */
  unsigned int percpu_size;     /* which argument of percpu_alloc_percpu is the size */
  unsigned int brk_length;      /* which argument of do_brk_flags is the length */
  unsigned int has_sizes;       /* sizes are wanted */
  unsigned int has_times;       /* times are wanted */
  struct memstat_gfp_flags gfp;
  unsigned int has_ticks; /* programs may ask for the kernel's clock, so that they can count at some moments only */
};
