/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The memory that the programs in the kernel write and memstatd reads, without a system call: C for both of them.
 * A cache claims a slot when the first event of it comes, and keeps it. The figures of each CPU stand in that CPU's own
 * rows. Each figure is written by one program only, and no program interrupts itself on a CPU, so that nothing needs a lock.
 * Thread safety: as that says. */
#pragma once

#include "core/events/bpf/gfp.h"
#include "core/events/bpf/sizes.h"

#define MEMSTAT_SLAB_SLOTS 1024   /* a power of two: the caches of a machine are a few hundred */
#define MEMSTAT_SLAB_PROBES 32    /* slots that are looked at for one cache */
#define MEMSTAT_SLAB_NAME_SIZE 96 /* B, with the NUL; what is longer is cut */
#define MEMSTAT_SLAB_FORGOTTEN 1  /* a key: the slot's cache was destroyed */
#define MEMSTAT_SLAB_KINDS 4      /* of kmalloc: ordinary, reclaimable, charged to a control group, for DMA */

/* What is known of a slot, written once. */
struct memstat_slab_slot {
  unsigned long long is_known; /* 1 once all below is written */
  unsigned int size;           /* B that an object takes */
  unsigned int object_size;    /* B that a caller gets */
  char name[MEMSTAT_SLAB_NAME_SIZE];
};

/* All CPUs share this. */
struct memstat_slab_slots {
  /* The address of the slot's struct kmem_cache; 0: the slot is free; below 2^32 and above MEMSTAT_SLAB_FORGOTTEN, where the
   * cache of a kmalloc() is not known: B allocated x MEMSTAT_SLAB_KINDS + kind. */
  unsigned long long keys[MEMSTAT_SLAB_SLOTS];
  struct memstat_slab_slot slots[MEMSTAT_SLAB_SLOTS];
  unsigned long long cache_of_caches; /* the key of the cache that struct kmem_cache itself comes from */
  unsigned long long unplaced_events; /* for which there was no slot left */
};

/* The events of one slot on one CPU since the programs were attached. */
struct memstat_slab_row {
  unsigned long long cache_allocations;   /* by kmem_cache_alloc() */
  unsigned long long cache_failures;      /* of it */
  unsigned long long cache_frees;         /* by kmem_cache_free() */
  unsigned long long kmalloc_allocations; /* by kmalloc() */
  unsigned long long kmalloc_requested;   /* B, asked for in these */
  unsigned long long kmalloc_failures;    /* of kmalloc() */
  unsigned long long kmalloc_frees;       /* by kfree() */
  unsigned long long scratch;             /* the programs' own, in the first row only */
};

#define MEMSTAT_SLAB_LARGEST 8192 /* B; what kmalloc() gives above this is pages, and of no cache */
#define MEMSTAT_SLAB_LARGE_SIZES 10

/* What is counted of no slot, or of all of them, on one CPU. */
struct memstat_slab_totals {
  unsigned long long cache_on_node;         /* allocations from caches that named a node */
  unsigned long long kmalloc_on_node;       /* the same of kmalloc() */
  unsigned long long large_requested;       /* B, of kmalloc() beyond the largest cache */
  unsigned long long large_failures;        /* of these */
  unsigned long long large_frees;           /* of these, and of others that are no cache's */
  unsigned long long last_large, last_site; /* the programs' own: the last of these, and its caller */
  /* of these by what they got: 16 KiB, 32 KiB, ..., the last: and more */
  unsigned long long large_allocations[MEMSTAT_SLAB_LARGE_SIZES];
  unsigned long long kmalloc_sizes[MEMSTAT_SIZES]; /* kmalloc() by what was asked for, where that is wanted */
  struct memstat_gfp_counts cache_by_gfp;          /* where classes are wanted: by kmem_cache_alloc(), */
  struct memstat_gfp_counts kmalloc_by_gfp;        /* and by kmalloc() */
};

struct memstat_slab_cpu {
  struct memstat_slab_totals totals;
  struct memstat_slab_row rows[MEMSTAT_SLAB_SLOTS];
};

/* What this kernel's GFP flags are, told to the programs before they are loaded. */
struct memstat_slab_flags {
  unsigned long long reclaimable;
  unsigned long long account;
  unsigned long long dma;
  unsigned long long has_sizes; /* no flag: whether sizes are wanted */
  struct memstat_gfp_flags classes;
};
