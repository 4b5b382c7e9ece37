/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The records that one pass over the kernel's slab caches writes and memstatd reads: C for both of them. A cache is a struct
 * memstat_cache that ends after its name, then `node_count` nodes, then `cpu_count` CPUs. Nodes without slabs and CPUs
 * that hold nothing are omitted. */
#pragma once

#define MEMSTAT_CACHE_NAME_SIZE 256   /* B, with the NUL; longer ones are truncated */
#define MEMSTAT_CACHE_NODES 128       /* nodes with slabs of one cache; further nodes are in the sums only */
#define MEMSTAT_CACHE_CPUS 1024       /* the same for CPUs that hold free objects: 16 KiB of the kernel's 32 per cache */
#define MEMSTAT_CACHE_KNOWN_LISTS 512 /* caches of which a CPU's free objects are remembered: 12 KiB a CPU */
#define MEMSTAT_CACHE_LONGEST_LIST                                                                                \
  10000                                /* partial slabs of a node that are examined, as many as by /proc/slabinfo \
                                        */
#define MEMSTAT_CACHE_SHORT_LIST 16    /* partial slabs of a node; a longer list is not counted at each pass */
#define MEMSTAT_CACHE_LONG_LIST 64     /* slabs a pass above which a long list is counted less often */
#define MEMSTAT_CACHE_LIST_PASSES 6    /* passes from one count of a long list to the next */
#define MEMSTAT_CACHE_MOST_PASSES 48   /* the same for the longest lists */
#define MEMSTAT_CACHE_WALKED_LISTS 512 /* long lists that are remembered: 16 KiB */
#define MEMSTAT_CACHE_LIST_PLACES 4    /* of these, where one list may be */

/* Free objects of one cache that still belong to it, by place. */
struct memstat_cache_free {
  unsigned long long on_lists;   /* in slabs on the nodes' lists of partial slabs */
  unsigned long long in_barns;   /* in full sheaves of the nodes */
  unsigned long long in_slabs;   /* in slabs that CPUs hold */
  unsigned long long in_sheaves; /* in sheaves that CPUs hold */
};

struct memstat_cache {
  unsigned int node_count;
  unsigned int cpu_count;
  unsigned int name_size;   /* B, in words of 8; the name ends before, with a NUL */
  unsigned int size;        /* B that an object takes */
  unsigned int object_size; /* B that a caller gets */
  unsigned int order;       /* a slab is 2^order pages */
  unsigned long long slabs;
  unsigned long long objects;   /* free or in use */
  unsigned long long estimated; /* lists with an estimated count in this pass, because they were not walked to the end */
  struct memstat_cache_free free;
  char name[MEMSTAT_CACHE_NAME_SIZE];
};

struct memstat_cache_node {
  unsigned int node;
  unsigned int padding;
  unsigned long long slabs;
  unsigned long long objects;
  unsigned long long partial_slabs;
  unsigned long long free;    /* objects in these */
  unsigned long long in_barn; /* objects in full sheaves */
};

struct memstat_cache_cpu {
  unsigned int cpu;
  unsigned int slabs;      /* that it holds */
  unsigned int free;       /* objects in these */
  unsigned int in_sheaves; /* objects */
};

#define MEMSTAT_GROUPS 256 /* control groups whose counters a pass reads, the first of the kernel's tree */

struct memstat_page_counter {
  unsigned long long usage, failures, limit; /* pages, times, pages */
};
struct memstat_group {
  unsigned long long id;     /* inode of its directory */
  unsigned long long events; /* changes whenever memory.events or memory.oom_control does */
  struct memstat_page_counter memory, both, kernel, tcp;
};
struct memstat_groups {
  unsigned int count;
  unsigned int is_whole; /* no group is missing */
  struct memstat_group groups[MEMSTAT_GROUPS];
};

/* The structs that the program casts addresses to. */
#define MEMSTAT_CAST_STRUCTS(STRUCT) \
  STRUCT(rb_node)                    \
  STRUCT(slab)                       \
  STRUCT(list_head)                  \
  STRUCT(node_barn)                  \
  STRUCT(slub_percpu_sheaves)        \
  STRUCT(kmem_cache)                 \
  STRUCT(kmem_cache_node)            \
  STRUCT(mem_cgroup)                 \
  STRUCT(cgroup_subsys_state)        \
  STRUCT(task_struct)
#define MEMSTAT_CAST_NUMBER(name) unsigned int name;

/* Set by memstatd before the programs are loaded. */
struct memstat_cache_limits {
  unsigned int node_count; /* the highest possible node plus one */
  unsigned int cpu_count;  /* the highest possible CPU plus one */
  unsigned int page_size;  /* B */
  struct {
    MEMSTAT_CAST_STRUCTS(MEMSTAT_CAST_NUMBER)
  } numbers; /* of the structs in the types of this kernel; 0: it has no such struct */
};
