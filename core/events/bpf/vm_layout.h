/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Events of virtual memory, counted by bpf/vm_events.bpf.c. memstatd reads them without a system call. C, for both.
 * Each figure is written by one program on its CPU's own row, and a program never interrupts itself on a CPU; so
 * nothing needs a lock. Names are rare: all CPUs share them and claim entries. */
#pragma once

#include "core/events/bpf/gfp.h"
#include "core/events/bpf/sizes.h"

/* Each event's name, its word, and what it has besides a count. Bytes: its size. Fault: a kind of page fault. Times:
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

#define MEMSTAT_VM_ORDERS 16       /* orders of page allocations, a power of two; kernels have 11 */
#define MEMSTAT_VM_MIGRATE_TYPES 8 /* a power of two; kernels have 4 to 6 */

struct memstat_vm_count {
  unsigned long long count;
  unsigned long long bytes; /* of events that have a size */
};

#define MEMSTAT_VM_OUTCOMES 4 /* outcomes of a page fault, in the order of MEMSTAT_VM_TIME_* */

/* Durations of page faults with one outcome. */
struct memstat_vm_times {
  unsigned long long sum_ns;
  unsigned long long counts[MEMSTAT_TIMES];
};

/* Each task with a page fault in progress has an entry, found by the lower bits of its number, if times are enabled. */
#define MEMSTAT_VM_TASK_BITS 12

#define MEMSTAT_VM_TEXT 256 /* B of a kernel message that a program reads */

struct memstat_vm_cpu {
  struct memstat_vm_count events[MEMSTAT_VM_EVENTS];
  unsigned long long pages[MEMSTAT_VM_ORDERS][MEMSTAT_VM_MIGRATE_TYPES]; /* successful allocations */
  unsigned long long page_failures[MEMSTAT_VM_ORDERS];
  struct memstat_gfp_counts pages_by_gfp;         /* if classes are enabled */
  unsigned long long percpu_sizes[MEMSTAT_SIZES]; /* if sizes are enabled */
  unsigned long long vmalloc_sizes[MEMSTAT_SIZES];
  unsigned long long user_faults[2]; /* reads, writes; if faults are seen as CPU exceptions */
  unsigned long long kernel_faults[2];
  struct memstat_vm_times fault_times[MEMSTAT_VM_OUTCOMES]; /* if times are enabled */
  unsigned long long untimed_faults; /* the end was not seen, as far as a later fault of the task shows */
  char slab_text[MEMSTAT_VM_TEXT];   /* private to the programs */
  char page_text[MEMSTAT_VM_TEXT];
};

#define MEMSTAT_VM_NAME_SIZE 64 /* B, with the NUL; longer names are truncated */
#define MEMSTAT_VM_NAMES 64     /* of each kind; further names are counted as "other" */

/* The events of one name. */
struct memstat_vm_name {
  unsigned long long state; /* 0: free, 1: being claimed, 2: complete */
  unsigned long long count;
  char name[MEMSTAT_VM_NAME_SIZE];
};

struct memstat_vm_names {
  struct memstat_vm_name names[MEMSTAT_VM_NAMES];
  unsigned long long others;
};

/* Shared by all CPUs. */
struct memstat_vm_shared {
  struct memstat_vm_names caches;  /* caches whose allocations failed */
  struct memstat_vm_names victims; /* commands killed for lack of memory */
};

/* Properties of this kernel, set before the programs are loaded. */
struct memstat_vm_constants {
  unsigned int has_victim_task; /* mark_victim passes the task, not its number */
  unsigned int page_size;       /* B */
  unsigned int percpu_size;     /* index of the size argument of percpu_alloc_percpu */
  unsigned int brk_length;      /* index of the length argument of do_brk_flags */
  unsigned int has_sizes;       /* whether sizes are counted */
  unsigned int has_times;       /* whether times are counted */
  struct memstat_gfp_flags gfp;
  unsigned int has_ticks; /* programs may read the kernel's clock, so they can sample */
};
