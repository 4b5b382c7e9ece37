/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The maps through which bpf/memuse.bpf.c says which blocks are in use: C for the kernel and for memstatctl. Each is
 * bounded, and what finds no room is counted. Thread safety: plain values. */
#pragma once

#define MEMSTAT_MEMUSE_FRAMES 32   /* of a stack that are kept, at most */
#define MEMSTAT_MEMUSE_SKIPPED 12  /* frames of the tracing itself in front of the caller's, at most */
#define MEMSTAT_MEMUSE_CACHES 2048 /* the caches of a machine are a few hundred */
#define MEMSTAT_MEMUSE_NAME 96     /* B of a cache's name, with the NUL; what is longer is cut */
#define MEMSTAT_MEMUSE_PROGRAMS 4  /* two for allocations, two for frees */
#define MEMSTAT_MEMUSE_COMMAND 16  /* B of a task's name, with the NUL: TASK_COMM_LEN */
#define MEMSTAT_MEMUSE_LEVELS 16   /* of control groups one in the other, that are looked through for the wanted one */

/* Told to the programs before they are loaded. */
struct memstat_memuse_settings {
  unsigned long long older_ns;      /* a block of that age is old */
  unsigned long long reclaimable;   /* the GFP flag of caches that the kernel empties when memory is short */
  unsigned int frames;              /* of a stack that are kept */
  unsigned int has_wanted;          /* blocks of one cache only */
  unsigned int keeps_unnamed;       /* also blocks whose cache the kernel does not name */
  unsigned long long wanted_group;  /* blocks that tasks of this control group, or one below it, ask for; 0: of all */
  char wanted[MEMSTAT_MEMUSE_NAME]; /* that cache */
};

/* A block in use, by its address. */
struct memstat_memuse_block {
  unsigned long long stack;   /* the key of its stack; 0: there was no room for it */
  unsigned long long time_ns; /* when it was allocated, by the clock since boot that stops in suspend */
  unsigned long long cache;   /* the address of its struct kmem_cache; 0: the kernel does not name it */
  unsigned long long group;   /* the number of the memory controller's group of who asked for it; 0: it has none */
  unsigned int requested;     /* B; 0: as many as an object of the cache has */
  unsigned int allocated;     /* B */
  unsigned int process;       /* that asked for it */
  char command[MEMSTAT_MEMUSE_COMMAND];
};

/* A stack, by a hash of its frames that is not 0. */
struct memstat_memuse_stack {
  unsigned long long frames[MEMSTAT_MEMUSE_FRAMES]; /* return addresses, the allocator's caller first; 0 behind the last */
  unsigned long long allocations;
  unsigned long long old_frees;    /* of blocks that had become old */
  unsigned long long silent_frees; /* of blocks that were allocated again though no event had freed them */
};

struct memstat_memuse_cache {
  unsigned int size; /* B that an object takes */
  unsigned int is_reclaimable;
  unsigned int is_wanted;
  char name[MEMSTAT_MEMUSE_NAME];
};

/* Of each program on each CPU. */
struct memstat_memuse_counts {
  unsigned long long kept_blocks;   /* allocations that went into the map */
  unsigned long long freed_blocks;  /* of these, given back */
  unsigned long long reused_blocks; /* of these, allocated again though no event had freed them */
  unsigned long long other_frees;   /* of blocks that are not in the map: allocated before, of other caches, or lost */
  unsigned long long lost_blocks;   /* there was no room for them */
  unsigned long long lost_stacks;   /* there was no room for their stack */
};
