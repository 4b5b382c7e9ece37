/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Slab allocations by origin, counted by programs in the kernel. memstatd reads them without a system call. C, for
 * both. An origin is a calling function, a cache, a control group and a command. It claims a slot with its first
 * event. Each CPU has its own rows, each row is written by one program, and a program never interrupts itself on a
 * CPU; so nothing needs a lock. memstatd reclaims slots without recent events: it sets the key to
 * MEMSTAT_SITE_RETIRED, and a while later clears the rows and frees the slot. */
#pragma once

#define MEMSTAT_SITE_SLOTS 8192 /* for origins; a power of two */
#define MEMSTAT_SITE_COARSE_SLOTS \
  2048 /* behind those, for origins that found no room there, without group and command; a power of two */
#define MEMSTAT_SITE_ALL (MEMSTAT_SITE_SLOTS + MEMSTAT_SITE_COARSE_SLOTS)
#define MEMSTAT_SITE_ROWS (MEMSTAT_SITE_ALL + 2) /* behind those, for all the rest: of caches, of kmalloc() */
#define MEMSTAT_SITE_PROBES 32                   /* maximum number of slots tried for an origin */
#define MEMSTAT_SITE_NAME_SIZE 112               /* B, with the NUL; longer names are truncated */
#define MEMSTAT_SITE_CACHE_SIZE 48
#define MEMSTAT_SITE_COMMAND_SIZE 16
#define MEMSTAT_SITE_RETIRED 1         /* a key: the slot is about to be freed */
#define MEMSTAT_SITE_ANY_GROUP (~0ULL) /* of slots without group and command */

#define MEMSTAT_SITE_GROUPS 2048 /* a power of two */
#define MEMSTAT_SITE_GROUP_PROBES 16
#define MEMSTAT_SITE_GROUP_DEPTH 8
#define MEMSTAT_SITE_GROUP_NAME 112 /* B, with the NUL */

/* A control group, written once. */
struct memstat_site_group {
  unsigned long long id;                                         /* 0: the entry is free */
  unsigned long long is_known;                                   /* 1 once everything below is written */
  char names[MEMSTAT_SITE_GROUP_DEPTH][MEMSTAT_SITE_GROUP_NAME]; /* its own, its parent's, ...; "": the root's */
};

/* The origin of a slot, written once per origin. */
struct memstat_site_slot {
  unsigned long long is_known; /* its key, once everything below is written */
  unsigned long long site;     /* return address of the allocator */
  unsigned long long group;    /* ID of the control group, or MEMSTAT_SITE_ANY_GROUP */
  unsigned int size;           /* B per object */
  unsigned int object_size;    /* B usable by the caller; 0: kmalloc(), which counts the requested sizes */
  unsigned int kind;           /* for kmalloc(): as MEMSTAT_SLAB_KINDS; for a cache 0 */
  unsigned int is_charged;     /* 1: to the control group */
  char command[MEMSTAT_SITE_COMMAND_SIZE];
  char name[MEMSTAT_SITE_NAME_SIZE];   /* "function" or "function [module]"; "": unknown */
  char cache[MEMSTAT_SITE_CACHE_SIZE]; /* "": kmalloc() */
};

/* Shared by all CPUs. */
struct memstat_site_table {
  unsigned long long keys[MEMSTAT_SITE_ALL]; /* 0: the slot is free */
  struct memstat_site_slot slots[MEMSTAT_SITE_ALL];
  struct memstat_site_group groups[MEMSTAT_SITE_GROUPS];
};

/* The events of one origin on one CPU since it got the slot. */
struct memstat_site_row {
  unsigned long long allocations;
  unsigned long long requested; /* B, for kmalloc() */
  unsigned long long failures;
};

struct memstat_site_cpu {
  unsigned long long last_large, last_site; /* private to the programs: the last large kmalloc(), and its caller */
  unsigned long long last_row, last_weight, last_requested; /* private: what it added, and to which row */
  struct memstat_site_row rows[MEMSTAT_SITE_ROWS];
};

/* This kernel's flags, set before the programs are loaded. */
struct memstat_site_flags {
  unsigned long long reclaimable;
  unsigned long long account;
  unsigned long long dma;
  unsigned long long cache_account; /* of struct kmem_cache: its objects are charged */
  char name_format[8];              /* not a flag: how the kernel prints a function's name */
};
