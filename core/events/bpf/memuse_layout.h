/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The maps in which bpf/memuse.bpf.c records the blocks in use. C, for the kernel and memstatctl. All maps are
 * bounded; what finds no room is counted. Thread safety: plain values. */
#pragma once

#define MEMSTAT_MEMUSE_FRAMES 32   /* maximum number of frames kept of a stack */
#define MEMSTAT_MEMUSE_SKIPPED 12  /* maximum number of the tracing's own frames at the top of a stack */
#define MEMSTAT_MEMUSE_CACHES 2048 /* a machine has a few hundred caches */
#define MEMSTAT_MEMUSE_NAME 96     /* B of a cache's name with the NUL; longer names are truncated */
#define MEMSTAT_MEMUSE_PROGRAMS 4  /* two for allocations, two for frees */
#define MEMSTAT_MEMUSE_COMMAND 16  /* B of a task's name with the NUL: TASK_COMM_LEN */
#define MEMSTAT_MEMUSE_LEVELS 16   /* maximum depth of control groups that is searched for the wanted one */

/* Set before the programs are loaded. */
struct memstat_memuse_settings {
  unsigned long long older_ns;      /* minimum age of an old block */
  unsigned long long reclaimable;   /* the GFP flag of reclaimable caches, which the kernel empties when memory is short */
  unsigned int frames;              /* kept of a stack */
  unsigned int has_wanted;          /* only the blocks of one cache */
  unsigned int keeps_unnamed;       /* also blocks whose cache the kernel does not report */
  unsigned long long wanted_group;  /* only blocks that tasks of this control group, or one below it, allocate; 0: all */
  char wanted[MEMSTAT_MEMUSE_NAME]; /* name of that cache */
};

/* A block in use. The key is its address. */
struct memstat_memuse_block {
  unsigned long long stack;   /* key of its stack; 0: there was no room for it */
  unsigned long long time_ns; /* of the allocation; CLOCK_MONOTONIC */
  unsigned long long cache;   /* address of its struct kmem_cache; 0: the kernel does not report it */
  unsigned long long group;   /* ID of the allocating task's control group; 0: none */
  unsigned int requested;     /* B; 0: the object size of the cache */
  unsigned int allocated;     /* B */
  unsigned int process;       /* that allocated it */
  char command[MEMSTAT_MEMUSE_COMMAND];
};

/* A stack. The key is a hash of its frames and never 0. */
struct memstat_memuse_stack {
  unsigned long long frames[MEMSTAT_MEMUSE_FRAMES]; /* return addresses, the allocator's caller first; 0 ends them */
  unsigned long long allocations;
  unsigned long long old_frees;    /* of old blocks */
  unsigned long long silent_frees; /* blocks allocated again although no event had freed them */
};

struct memstat_memuse_cache {
  unsigned int size; /* B per object */
  unsigned int is_reclaimable;
  unsigned int is_wanted;
  char name[MEMSTAT_MEMUSE_NAME];
};

/* Counters of one program on one CPU. */
struct memstat_memuse_counts {
  unsigned long long kept_blocks;   /* allocations that went into the map */
  unsigned long long freed_blocks;  /* kept blocks that were freed */
  unsigned long long reused_blocks; /* kept blocks that were allocated again although no event had freed them */
  unsigned long long other_frees;   /* of blocks not in the map: allocated earlier, of other caches, or lost */
  unsigned long long lost_blocks;   /* no room for the block */
  unsigned long long lost_stacks;   /* no room for the block's stack */
};
