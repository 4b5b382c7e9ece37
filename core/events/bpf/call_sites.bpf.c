// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
// Counts allocations from Linux's slab caches by origin: the function that calls the allocator, the charged control
// group and the current command. Raw tracepoints and CO-RE, for the reasons given in slab_events.bpf.c.
#include "core/events/bpf/kernel_structs.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "core/events/bpf/sampling.h"
#include "core/events/bpf/site_layout.h"
#include "core/events/bpf/slab_layout.h"

struct kernfs_node___before {
  struct kernfs_node* parent;
} FOUND_IN_KERNEL;

// GFP flags of the running kernel; their bits differ between versions.
const volatile struct memstat_site_flags flags_of_kernel = {
    .reclaimable = 0x10, .account = 0x400000, .dma = 0x1, .cache_account = 0x4000000, .name_format = "%ps"};

struct memstat_site_table table;

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_MMAPABLE);
  __uint(max_entries, 1);  // set to the number of possible CPUs before loading
  __type(key, __u32);
  __type(value, struct memstat_site_cpu);
} by_cpu SEC(".maps");

struct origin {
  __u64 key;
  __u64 site;
  __u64 cache;  // 0 for kmalloc()
  __u64 group;
  __u64 command[2];
  __u32 size;  // for kmalloc(): the size that it allocated, and its kind
  __u32 kind;
  __u32 is_charged;
};

// The control group that allocations of this task are charged to: the nearest one with the memory controller.
static __always_inline struct kernfs_node* group_of(struct task_struct* task) {
  struct css_set* groups = task->cgroups;
  if (!bpf_core_enum_value_exists(enum cgroup_subsys_id, memory_cgrp_id)) return groups->dfl_cgrp->kn;
  const __u64 number = bpf_core_enum_value(enum cgroup_subsys_id, memory_cgrp_id);
  return groups->subsys[number]->cgroup->kn;
}

static __always_inline struct kernfs_node* parent_of(struct kernfs_node* node) {
  if (bpf_core_field_exists(node->__parent)) return BPF_CORE_READ(node, __parent);
  struct kernfs_node___before* before = (struct kernfs_node___before*)node;
  return BPF_CORE_READ(before, parent);
}

// Writes the names of a control group, from its own up to the root's, once.
static __noinline int claim_group(__u64 id) {
  __u32 at = (__u32)(id * 0x9E3779B97F4A7C15ULL >> 40);
  struct memstat_site_group* group = 0;
  for (int i = 0; i < MEMSTAT_SITE_GROUP_PROBES; ++i) {
    at &= MEMSTAT_SITE_GROUPS - 1;
    const __u64 before = __sync_val_compare_and_swap(&table.groups[at].id, 0, id);
    if (before == id) return 0;
    if (before == 0) {
      group = &table.groups[at];
      break;
    }
    ++at;
  }
  if (!group) return 0;
  struct kernfs_node* node = group_of(bpf_get_current_task_btf());
  for (int depth = 0; depth < MEMSTAT_SITE_GROUP_DEPTH && node; ++depth) {
    bpf_probe_read_kernel_str(group->names[depth], MEMSTAT_SITE_GROUP_NAME, BPF_CORE_READ(node, name));
    node = parent_of(node);
  }
  __sync_fetch_and_add(&group->is_known, 1);
  return 0;
}

// Claims the free slot `at` for `origin`. Returns true if the slot now belongs to the origin, even if another CPU
// claimed it.
static __noinline int claim(__u32 at, struct origin* origin) {
  if (at >= MEMSTAT_SITE_ALL) return 0;
  const __u64 before = __sync_val_compare_and_swap(&table.keys[at], 0, origin->key);
  if (before == origin->key) return 1;
  if (before != 0) return 0;
  struct memstat_site_slot* slot = &table.slots[at];
  slot->site = origin->site;
  slot->group = origin->group;
  slot->kind = origin->kind;
  slot->is_charged = origin->is_charged;
  __builtin_memcpy(slot->command, origin->command, sizeof slot->command);
  __u64 call = origin->site - 1;  // the return address of a call that never returns is after its function
  bpf_snprintf(slot->name, sizeof slot->name, (const char*)flags_of_kernel.name_format, &call, sizeof call);
  if (origin->cache != 0) {
    struct kmem_cache* cache = (struct kmem_cache*)origin->cache;
    slot->size = BPF_CORE_READ(cache, size);
    slot->object_size = BPF_CORE_READ(cache, object_size);
    slot->is_charged |= (BPF_CORE_READ(cache, flags) & flags_of_kernel.cache_account) != 0;
    bpf_probe_read_kernel_str(slot->cache, sizeof slot->cache, BPF_CORE_READ(cache, name));
  } else {
    slot->size = origin->size;
    slot->object_size = 0;
    slot->cache[0] = 0;
  }
  if (origin->group != MEMSTAT_SITE_ANY_GROUP) claim_group(origin->group);
  __sync_lock_test_and_set(&slot->is_known, origin->key);
  return 1;
}

// The multiplications are independent, so the CPU runs them in parallel; the sum is mixed at the end.
static __always_inline __u64 key_of(const struct origin* origin) {
  const __u64 what = origin->cache + ((__u64)origin->size << 8) + (origin->kind << 1) + origin->is_charged;
  __u64 hash = origin->site * 0x9E3779B97F4A7C15ULL;
  hash += (what ^ what >> 32) * 0xBF58476D1CE4E5B9ULL;
  hash += (origin->group ^ origin->group >> 32) * 0x94D049BB133111EBULL;
  hash += (origin->command[0] ^ origin->command[0] >> 32) * 0xD6E8FEB86659FD93ULL;
  hash += (origin->command[1] ^ origin->command[1] >> 32) * 0xA0761D6478BD642FULL;
  return (hash ^ hash >> 32) | 2;  // neither 0 nor MEMSTAT_SITE_RETIRED, which are reserved
}

static __always_inline __u32 first_place(__u64 key, __u32 count) { return (__u32)(key >> 20) & (count - 1); }

// The slot of an origin among `count` slots from `first` on; MEMSTAT_SITE_ALL if there is no room.
static __always_inline __u32 slot_of(struct origin* origin, __u32 first, __u32 count) {
  __u32 at = first_place(origin->key, count);
  for (int i = 0; i < MEMSTAT_SITE_PROBES; ++i) {
    const __u64 known = table.keys[first + at];
    if (known == origin->key) return first + at;
    if (known == 0 && claim(first + at, origin)) return first + at;
    at = (at + 1) & (count - 1);
  }
  return MEMSTAT_SITE_ALL;
}

// The number of the row that counts an origin's events; `otherwise` if there is no room for it.
static __noinline __u32 find_row(struct origin* origin, __u32 otherwise) {
  __u32 at = slot_of(origin, 0, MEMSTAT_SITE_SLOTS);
  if (at < MEMSTAT_SITE_ALL) return at;
  origin->group = MEMSTAT_SITE_ANY_GROUP;
  origin->command[0] = 0;
  origin->command[1] = 0;
  origin->key = key_of(origin);
  at = slot_of(origin, MEMSTAT_SITE_SLOTS, MEMSTAT_SITE_COARSE_SLOTS);
  return at < MEMSTAT_SITE_ALL ? at : otherwise;
}

// Same, for the current task. The first slot nearly always matches, and up to there everything stays in registers. The
// command is read in place: calling a helper would take 5 ns of the 20 ns per event.
static __always_inline __u32 row_of(struct origin origin, __u32 otherwise) {
  struct task_struct* task = bpf_get_current_task_btf();
  const __u64* command = (const __u64*)task->comm;
  origin.group = group_of(task)->id;
  origin.command[0] = command[0];
  origin.command[1] = command[1];
  if (origin.command[0] == 0x2F72656B726F776BULL) {  // "kworker/": the rest changes with the work
    origin.command[0] = 0x0072656B726F776BULL;
    origin.command[1] = 0;
  }
  origin.key = key_of(&origin);
  const __u32 at = first_place(origin.key, MEMSTAT_SITE_SLOTS);
  if (table.keys[at] == origin.key) return at;
  struct origin in_memory = origin;
  return find_row(&in_memory, otherwise);
}

static __always_inline struct memstat_site_cpu* this_cpu(void) {
  const __u32 cpu = bpf_get_smp_processor_id();
  return bpf_map_lookup_elem(&by_cpu, &cpu);
}

// Failures are rare, so they are counted even when sampling skips events.
SEC("raw_tp/kmem_cache_alloc")
int on_kmem_cache_alloc(struct raw_arguments* arguments) {
  const __u64 weight = weight_now();
  if (weight == 0 && arguments->values[1] != 0) return 0;
  struct memstat_site_cpu* cpu = this_cpu();
  if (!cpu || arguments->values[2] == 0) return 0;
  const struct origin origin = {.site = arguments->values[0],
                                .cache = arguments->values[2],
                                .is_charged = (arguments->values[3] & flags_of_kernel.account) != 0};
  const __u32 at = row_of(origin, MEMSTAT_SITE_ALL);
  if (at >= MEMSTAT_SITE_ROWS) return 0;
  struct memstat_site_row* row = &cpu->rows[at];
  if (arguments->values[1] != 0) {
    row->allocations += weight;
  } else {
    ++row->failures;
  }
  return 0;
}

// Whether the slot's function is the allocator itself.
static __always_inline int is_allocator(__u64 at) {
  return at < MEMSTAT_SITE_ALL && *(const __u64*)table.slots[at].name == 0x6F6C6C616D6B5F5FULL;  // "__kmallo"
}

// Some kernels (6.12) report a kmalloc() above the largest cache twice: from inside the allocator, and with its caller.
// Only the second counts.
static __always_inline void count_large(struct memstat_site_cpu* cpu, struct raw_arguments* arguments, __u64 weight,
                                        __u32 at) {
  const __u64 site = arguments->values[0];
  const __u64 object = arguments->values[1];
  const __u64 row = cpu->last_row;
  if (object == cpu->last_large && site != cpu->last_site && is_allocator(row)) {
    struct memstat_site_row* before = &cpu->rows[row];
    before->allocations -= cpu->last_weight;
    before->requested -= cpu->last_requested;
    cpu->last_large = 0;
    return;
  }
  cpu->last_large = object;
  cpu->last_site = site;
  cpu->last_row = at;
  cpu->last_weight = weight;
  cpu->last_requested = weight * arguments->values[2];
}

SEC("raw_tp/kmalloc")
int on_kmalloc(struct raw_arguments* arguments) {
  struct kmalloc_event event;
  if (!take_kmalloc(arguments, &event)) return 0;
  struct memstat_site_cpu* cpu = this_cpu();
  if (!cpu) return 0;
  const __u64 flags = arguments->values[4];
  struct origin origin = {.site = arguments->values[0], .size = (__u32)event.allocated};
  if (flags & flags_of_kernel.account) {
    origin.kind = 2;
    origin.is_charged = 1;
  }
  if (flags & flags_of_kernel.reclaimable) origin.kind = 1;
  if (flags & flags_of_kernel.dma) origin.kind = 3;
  const __u32 at = row_of(origin, MEMSTAT_SITE_ALL + 1);
  if (at >= MEMSTAT_SITE_ROWS) return 0;
  struct memstat_site_row* row = &cpu->rows[at];
  if (event.object == 0) {
    ++row->failures;
    return 0;
  }
  if (event.allocated > MEMSTAT_SLAB_LARGEST) count_large(cpu, arguments, event.weight, at);
  row->allocations += event.weight;
  row->requested += event.weight * arguments->values[2];
  return 0;
}

char terms[] SEC("license") = "Dual BSD/GPL";
