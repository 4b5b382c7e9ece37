/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Slab events, counted by programs in the kernel. memstatd reads them without a system call. C, for both. A cache
 * claims a slot with its first event, and keeps it. Each CPU has its own rows, each figure is written by one
 * program, and a program never interrupts itself on a CPU; so nothing needs a lock. */
#pragma once

#include "core/events/bpf/gfp.h"
#include "core/events/bpf/sizes.h"

#define MEMSTAT_SLAB_SLOTS 1024   /* a power of two; a machine has a few hundred caches */
#define MEMSTAT_SLAB_PROBES 32    /* maximum number of slots tried for a cache */
#define MEMSTAT_SLAB_NAME_SIZE 96 /* B, with the NUL; longer names are truncated */
#define MEMSTAT_SLAB_FORGOTTEN 1  /* a key: the slot's cache was destroyed */
#define MEMSTAT_SLAB_KINDS 4      /* of kmalloc: ordinary, reclaimable, charged to a control group, DMA */

/* The cache of a slot, written once. */
struct memstat_slab_slot {
  unsigned long long is_known; /* 1 once everything below is written */
  unsigned int size;           /* B per object */
  unsigned int object_size;    /* B usable by the caller */
  char name[MEMSTAT_SLAB_NAME_SIZE];
};

/* Shared by all CPUs. */
struct memstat_slab_slots {
  /* The address of the slot's struct kmem_cache. 0: the slot is free. A value below 2^32 and above
   * MEMSTAT_SLAB_FORGOTTEN: kmalloc() with an unreported cache; B allocated x MEMSTAT_SLAB_KINDS + kind. */
  unsigned long long keys[MEMSTAT_SLAB_SLOTS];
  struct memstat_slab_slot slots[MEMSTAT_SLAB_SLOTS];
  unsigned long long cache_of_caches; /* key of the cache of struct kmem_cache itself */
  unsigned long long unplaced_events; /* events without a free slot */
};

/* The events of one slot on one CPU since the programs were attached. */
struct memstat_slab_row {
  unsigned long long cache_allocations;   /* by kmem_cache_alloc() */
  unsigned long long cache_failures;      /* of kmem_cache_alloc() */
  unsigned long long cache_frees;         /* by kmem_cache_free() */
  unsigned long long kmalloc_allocations; /* by kmalloc() */
  unsigned long long kmalloc_requested;   /* B requested by these */
  unsigned long long kmalloc_failures;    /* of kmalloc() */
  unsigned long long kmalloc_frees;       /* by kfree() */
  unsigned long long scratch;             /* private to the programs; first row only */
};

#define MEMSTAT_SLAB_LARGEST 8192 /* B; larger sizes get whole pages and no cache */
#define MEMSTAT_SLAB_LARGE_SIZES 10

/* Events without a slot, or of all slots, on one CPU. */
struct memstat_slab_totals {
  unsigned long long cache_on_node;         /* cache allocations that named a node */
  unsigned long long kmalloc_on_node;       /* kmalloc() calls that named a node */
  unsigned long long large_requested;       /* B, by kmalloc() above the largest cache */
  unsigned long long large_failures;        /* of these */
  unsigned long long large_frees;           /* of these, and of others without a cache */
  unsigned long long last_large, last_site; /* private to the programs: the last of these, and its caller */
  /* of these, by allocated size: 16 KiB, 32 KiB, ...; the last bucket: and above */
  unsigned long long large_allocations[MEMSTAT_SLAB_LARGE_SIZES];
  unsigned long long kmalloc_sizes[MEMSTAT_SIZES]; /* kmalloc() by requested size, if enabled */
  struct memstat_gfp_counts cache_by_gfp;          /* if classes are enabled: by kmem_cache_alloc(), */
  struct memstat_gfp_counts kmalloc_by_gfp;        /* and by kmalloc() */
};

struct memstat_slab_cpu {
  struct memstat_slab_totals totals;
  struct memstat_slab_row rows[MEMSTAT_SLAB_SLOTS];
};

/* This kernel's GFP flags, set before the programs are loaded. */
struct memstat_slab_flags {
  unsigned long long reclaimable;
  unsigned long long account;
  unsigned long long dma;
  unsigned long long has_sizes; /* not a flag: whether sizes are counted */
  struct memstat_gfp_flags classes;
};
