/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Who allocates from the slab caches, as the programs in the kernel count it and memstatd reads it, without a system call: C
 * for both of them. An origin is a function that calls the allocator, the cache, the control group and the command at hand.
 * It claims a slot when its first event comes. The figures of each CPU stand in that CPU's own rows, each written by one
 * program only, and no program interrupts itself on a CPU, so that nothing needs a lock. memstatd takes a slot back that had
 * no events for a while: it sets the key to MEMSTAT_SITE_RETIRED, and a while later clears the rows and frees the slot.
 * Thread safety: as that says. */
#pragma once

#define MEMSTAT_SITE_SLOTS 8192 /* of origins; a power of two */
#define MEMSTAT_SITE_COARSE_SLOTS \
  2048 /* behind them, of origins that had no room there, without group and command; likewise */
#define MEMSTAT_SITE_ALL (MEMSTAT_SITE_SLOTS + MEMSTAT_SITE_COARSE_SLOTS)
#define MEMSTAT_SITE_ROWS (MEMSTAT_SITE_ALL + 2) /* behind them, what had no room at all: of caches, of kmalloc() */
#define MEMSTAT_SITE_PROBES 32                   /* slots that are looked at for one origin */
#define MEMSTAT_SITE_NAME_SIZE 112               /* B, with the NUL; what is longer is cut */
#define MEMSTAT_SITE_CACHE_SIZE 48
#define MEMSTAT_SITE_COMMAND_SIZE 16
#define MEMSTAT_SITE_RETIRED 1         /* a key: the slot is to be freed */
#define MEMSTAT_SITE_ANY_GROUP (~0ULL) /* of slots without group and command */

#define MEMSTAT_SITE_GROUPS 2048 /* a power of two */
#define MEMSTAT_SITE_GROUP_PROBES 16
#define MEMSTAT_SITE_GROUP_DEPTH 8
#define MEMSTAT_SITE_GROUP_NAME 112 /* B, with the NUL */

/* A control group, written once. */
struct memstat_site_group {
  unsigned long long id;                                         /* 0: the entry is free */
  unsigned long long is_known;                                   /* 1 once all below is written */
  char names[MEMSTAT_SITE_GROUP_DEPTH][MEMSTAT_SITE_GROUP_NAME]; /* its own, its parent's, ...; "": the root's */
};

/* What is known of a slot, written once for each origin that has it. */
struct memstat_site_slot {
  unsigned long long is_known; /* its key, once all below is written */
  unsigned long long site;     /* the address that the allocator returns to */
  unsigned long long group;    /* the number of the control group, or MEMSTAT_SITE_ANY_GROUP */
  unsigned int size;           /* B that an object takes */
  unsigned int object_size;    /* B that a caller gets; 0: of kmalloc(), which counts what was asked for */
  unsigned int kind;           /* of kmalloc(): as MEMSTAT_SLAB_KINDS; of a cache 0 */
  unsigned int is_charged;     /* 1: to the control group */
  char command[MEMSTAT_SITE_COMMAND_SIZE];
  char name[MEMSTAT_SITE_NAME_SIZE];   /* "function" or "function [module]"; "": not known */
  char cache[MEMSTAT_SITE_CACHE_SIZE]; /* "": of kmalloc() */
};

/* All CPUs share this. */
struct memstat_site_table {
  unsigned long long keys[MEMSTAT_SITE_ALL]; /* 0: the slot is free */
  struct memstat_site_slot slots[MEMSTAT_SITE_ALL];
  struct memstat_site_group groups[MEMSTAT_SITE_GROUPS];
};

/* The events of one origin on one CPU since it got the slot. */
struct memstat_site_row {
  unsigned long long allocations;
  unsigned long long requested; /* B, of kmalloc() */
  unsigned long long failures;
};

struct memstat_site_cpu {
  unsigned long long last_large, last_site; /* the programs' own: the last kmalloc() beyond the caches, and its caller */
  unsigned long long last_row, last_weight, last_requested; /* and what was counted of it, where */
  struct memstat_site_row rows[MEMSTAT_SITE_ROWS];
};

/* What this kernel's flags are, told to the programs before they are loaded. */
struct memstat_site_flags {
  unsigned long long reclaimable;
  unsigned long long account;
  unsigned long long dma;
  unsigned long long cache_account; /* of struct kmem_cache: what it gives is charged */
  char name_format[8];              /* no flag: how the kernel is to print a function's name */
};
