// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
// Records which blocks of the kernel's allocator are in use, and who allocated them: an allocation puts its address
// into a map, with the stack; a free removes it. Raw tracepoints, for the reasons given in slab_events.bpf.c. Also
// built twice like that one: with MEMSTAT_OWNER_OF_OBJECT for kernels with bpf_get_kmem_cache().
#include "core/events/bpf/kernel_structs.h"

#define BPF_MAP_TYPE_HASH 1
#define BPF_ANY 0
#define BPF_NOEXIST 1

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "core/events/bpf/memuse_layout.h"

const volatile struct memstat_memuse_settings settings = {.frames = 8};

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 1);  // set to what fits into the memory limit before loading
  __type(key, __u64);
  __type(value, struct memstat_memuse_block);
} blocks SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 1);  // set before loading, too
  __type(key, __u64);
  __type(value, struct memstat_memuse_stack);
} stacks SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, MEMSTAT_MEMUSE_CACHES);
  __type(key, __u64);
  __type(value, struct memstat_memuse_cache);
} caches SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, MEMSTAT_MEMUSE_PROGRAMS);
  __type(key, __u32);
  __type(value, struct memstat_memuse_counts);
} counts SEC(".maps");

// Programs interrupt each other on a CPU, but never themselves. So each has its own memory to write to.
enum { kCacheAlloc, kKmalloc, kCacheFree, kKfree };

// Data too large for a BPF program's stack of 512 B.
struct scratch {
  __u64 raw[64];
  struct memstat_memuse_stack stack;
  struct memstat_memuse_cache cache;
  __u64 number;
};

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 2);  // for the programs that allocate
  __type(key, __u32);
  __type(value, struct scratch);
} scratches SEC(".maps");

// An allocation, as its event reports it.
struct allocation {
  __u64 call_site;
  __u64 address;
  __u64 cache;
  __u32 requested;
  __u32 allocated;
};

static __always_inline struct memstat_memuse_counts* counts_of(__u32 program) {
  return bpf_map_lookup_elem(&counts, &program);
}
static __always_inline struct scratch* scratch_of(__u32 program) { return bpf_map_lookup_elem(&scratches, &program); }

// The cache of an address; looked up by the first event.
static __noinline struct memstat_memuse_cache* cache_at(__u64 address, struct scratch* scratch) {
  struct memstat_memuse_cache* known = bpf_map_lookup_elem(&caches, &address);
  if (known || !scratch) return known;
  struct kmem_cache* cache = (struct kmem_cache*)address;
  struct memstat_memuse_cache* fresh = &scratch->cache;
  __builtin_memset(fresh->name, 0, sizeof fresh->name);
  fresh->size = BPF_CORE_READ(cache, size);
  fresh->is_reclaimable = (BPF_CORE_READ(cache, allocflags) & settings.reclaimable) != 0;
  fresh->is_wanted = 1;
  bpf_probe_read_kernel_str(fresh->name, sizeof fresh->name, BPF_CORE_READ(cache, name));
  if (settings.has_wanted) {
    for (int i = 0; i < MEMSTAT_MEMUSE_NAME; ++i) {
      if (fresh->name[i] != settings.wanted[i]) fresh->is_wanted = 0;
      if (fresh->name[i] == 0) break;
    }
  }
  bpf_map_update_elem(&caches, &address, fresh, BPF_NOEXIST);
  return bpf_map_lookup_elem(&caches, &address);
}

// The ID of the current task's control group in the memory controller's hierarchy: the inode number of its directory.
// 0: none. Clears `is_wanted` unless the group or an ancestor is the wanted one.
static __noinline __u64 group_of_task(__u32* is_wanted) {
  if (!is_wanted) return 0;
  *is_wanted = settings.wanted_group == 0;
  if (!bpf_core_enum_value_exists(enum cgroup_subsys_id, memory_cgrp_id)) return 0;
  const struct task_struct* task = (const struct task_struct*)bpf_get_current_task();
  const struct css_set* set = BPF_CORE_READ(task, cgroups);
  const __u64 place = bpf_core_field_offset(struct css_set, subsys) +
                      bpf_core_enum_value(enum cgroup_subsys_id, memory_cgrp_id) * sizeof(void*);
  struct cgroup_subsys_state* state = 0;
  bpf_probe_read_kernel(&state, sizeof state, (const char*)set + place);
  const __u64 group = state ? BPF_CORE_READ(state, cgroup, kn, id) : 0;
  if (*is_wanted) return group;
  for (int i = 0; i < MEMSTAT_MEMUSE_LEVELS && state; ++i) {
    if (BPF_CORE_READ(state, cgroup, kn, id) == settings.wanted_group) {
      *is_wanted = 1;
      break;
    }
    state = BPF_CORE_READ(state, parent);
  }
  return group;
}

// Reads the stack from the allocator's caller on into scratch->stack. Returns its key.
static __noinline __u64 take_stack(void* event, __u64 call_site, struct scratch* scratch) {
  if (!scratch) return 0;
  __u32 wanted = (MEMSTAT_MEMUSE_SKIPPED + settings.frames) * sizeof(__u64);  // each frame takes time
  if (wanted > sizeof scratch->raw) wanted = sizeof scratch->raw;
  const long size = bpf_get_stack(event, scratch->raw, wanted, 0);
  if (size <= 0) return 0;
  const __u32 known = (__u32)size / sizeof(__u64);
  __u32 first = 0;
  for (__u32 i = 0; i < MEMSTAT_MEMUSE_SKIPPED; ++i) {
    if (i < known && scratch->raw[i] == call_site) {
      first = i;
      break;
    }
  }
  __u64 key = 0xCBF29CE484222325ULL;
  for (__u32 i = 0; i < MEMSTAT_MEMUSE_FRAMES; ++i) {
    const __u32 from = first + i;
    const __u64 frame = i < settings.frames && from < known ? scratch->raw[from & 63] : 0;
    scratch->stack.frames[i] = frame;
    key = (key ^ frame) * 0x9E3779B97F4A7C15ULL;
    key ^= key >> 29;
  }
  return key == 0 ? 1 : key;
}

// The key of the stack once it is in the map; 0 if there is no room.
static __always_inline __u64 keep_stack(void* event, __u64 call_site, struct scratch* scratch,
                                        struct memstat_memuse_counts* cpu) {
  const __u64 key = take_stack(event, call_site, scratch);
  struct memstat_memuse_stack* stack = key == 0 ? 0 : bpf_map_lookup_elem(&stacks, &key);
  if (!stack && key != 0) {
    bpf_map_update_elem(&stacks, &key, &scratch->stack, BPF_NOEXIST);
    stack = bpf_map_lookup_elem(&stacks, &key);
  }
  if (!stack) {
    ++cpu->lost_stacks;
    return 0;
  }
  __sync_fetch_and_add(&stack->allocations, 1);
  return key;
}

// If a block that is in use is allocated again, it was freed without an event: in bulk, or after a grace period.
// Exception: some kernels (6.12) report a kmalloc() above two pages twice.
static __always_inline void forget_silently_freed(const struct allocation* allocation, struct memstat_memuse_counts* cpu) {
  struct memstat_memuse_block* before = bpf_map_lookup_elem(&blocks, &allocation->address);
  if (!before) return;
  ++cpu->reused_blocks;
  if (allocation->cache == 0 && allocation->allocated > 8192) return;
  struct memstat_memuse_stack* stack = bpf_map_lookup_elem(&stacks, &before->stack);
  if (stack) __sync_fetch_and_add(&stack->silent_frees, 1);
}

static __always_inline int keep(void* event, const struct allocation* allocation, __u32 program) {
  struct memstat_memuse_counts* cpu = counts_of(program);
  struct scratch* scratch = scratch_of(program);
  if (!cpu || !scratch) return 0;
  struct memstat_memuse_block block = {.time_ns = bpf_ktime_get_ns(),
                                       .cache = allocation->cache,
                                       .requested = allocation->requested,
                                       .allocated = allocation->allocated,
                                       .process = bpf_get_current_pid_tgid() >> 32};
  if (allocation->cache != 0) {
    struct memstat_memuse_cache* cache = cache_at(allocation->cache, scratch);
    if (cache && !cache->is_wanted) return 0;
    if (cache) block.allocated = cache->size;
  } else if (settings.has_wanted && !settings.keeps_unnamed) {
    return 0;
  }
  __u32 is_wanted = 0;
  block.group = group_of_task(&is_wanted);
  if (!is_wanted) return 0;
  block.stack = keep_stack(event, allocation->call_site, scratch, cpu);
  bpf_get_current_comm(block.command, sizeof block.command);
  forget_silently_freed(allocation, cpu);
  if (bpf_map_update_elem(&blocks, &allocation->address, &block, BPF_ANY) == 0) {
    ++cpu->kept_blocks;
  } else {
    ++cpu->lost_blocks;
  }
  return 0;
}

static __always_inline int drop(__u64 address, __u32 program) {
  struct memstat_memuse_counts* cpu = counts_of(program);
  if (!cpu) return 0;
  struct memstat_memuse_block* block = bpf_map_lookup_elem(&blocks, &address);
  if (!block) {
    ++cpu->other_frees;
    return 0;
  }
  if (bpf_ktime_get_ns() - block->time_ns >= settings.older_ns) {
    struct memstat_memuse_stack* stack = bpf_map_lookup_elem(&stacks, &block->stack);
    if (stack) __sync_fetch_and_add(&stack->old_frees, 1);
  }
  if (bpf_map_delete_elem(&blocks, &address) == 0) ++cpu->freed_blocks;
  return 0;
}

SEC("raw_tp/kmem_cache_alloc")
int on_kmem_cache_alloc(struct raw_arguments* event) {
  const struct allocation allocation = {
      .call_site = event->values[0], .address = event->values[1], .cache = event->values[2]};
  if (allocation.address == 0 || allocation.cache == 0) return 0;
  return keep(event, &allocation, kCacheAlloc);
}

SEC("raw_tp/kmalloc")
int on_kmalloc(struct raw_arguments* event) {
  struct allocation allocation = {.call_site = event->values[0],
                                  .address = event->values[1],
                                  .requested = event->values[2],
                                  .allocated = event->values[3]};
  if (allocation.address <= 16 || allocation.allocated == 0) return 0;  // NULL and ZERO_SIZE_PTR
#ifdef MEMSTAT_OWNER_OF_OBJECT
  struct scratch* scratch = scratch_of(kKmalloc);
  struct kmem_cache* cache = get_kmem_cache(allocation.address);
  if (scratch && cache) {  // stored and loaded as a number: the verifier does not let a program convert the pointer
    *(struct kmem_cache* volatile*)&scratch->number = cache;
    allocation.cache = *(volatile __u64*)&scratch->number;
  }
#endif
  return keep(event, &allocation, kKmalloc);
}

SEC("raw_tp/kmem_cache_free")
int on_kmem_cache_free(struct raw_arguments* event) {
  const __u64 address = event->values[1];
  const __u64 owner = event->values[2];
  if (address == 0) return 0;
  if (settings.has_wanted) {
    const struct memstat_memuse_cache* cache = bpf_map_lookup_elem(&caches, &owner);
    if (!cache || !cache->is_wanted) return 0;
  }
  return drop(address, kCacheFree);
}

SEC("raw_tp/kfree")
int on_kfree(struct raw_arguments* event) { return event->values[1] > 16 ? drop(event->values[1], kKfree) : 0; }

char terms[] SEC("license") = "Dual BSD/GPL";
