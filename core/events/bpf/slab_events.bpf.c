// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
// Counts the events of Linux's slab allocator by cache and CPU. Raw tracepoints, because their arguments are plain numbers
// that can be hashed.
//
// Built twice: without MEMSTAT_OWNER_OF_OBJECT, and with it for kernels with bpf_get_kmem_cache(): Linux commit
// a992d7a39791 ("mm/bpf: Add bpf_get_kmem_cache() kfunc") (v6.13). The event kmalloc does not name the cache. There, the
// cache is that of the object. Otherwise it is derived from size and flags, and the cache of a kfree() is unknown.
#include "core/events/bpf/kernel_structs.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "core/events/bpf/sampling.h"
#include "core/events/bpf/slab_layout.h"

// This kernel's GFP flags that select the cache of a kmalloc(); their bits differ between versions.
const volatile struct memstat_slab_flags gfp = {.reclaimable = 0x10, .account = 0x400000, .dma = 0x1, .has_sizes = 0};

struct memstat_slab_slots shared;

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_MMAPABLE);
  __uint(max_entries, 1);  // set to the number of possible CPUs before loading
  __type(key, __u32);
  __type(value, struct memstat_slab_cpu);
} by_cpu SEC(".maps");

static __always_inline __u32 first_slot(__u64 key) {
  return (__u32)((key * 0x9E3779B97F4A7C15ULL) >> 54);  // 10 bits, for the 1024 slots
}

// Claims the free slot `at` for `key`. Returns true if the slot now belongs to the key, even if another CPU claimed it.
static __noinline int claim(__u32 at, __u64 key) {
  at &= MEMSTAT_SLAB_SLOTS - 1;
  const __u64 before = __sync_val_compare_and_swap(&shared.keys[at], 0, key);
  if (before == key) return 1;
  if (before != 0) return 0;
  struct memstat_slab_slot* slot = &shared.slots[at];
  if (key >> 32 == 0) {
    slot->size = (__u32)key / MEMSTAT_SLAB_KINDS;
  } else {
    struct kmem_cache* cache = (struct kmem_cache*)key;
    slot->size = BPF_CORE_READ(cache, size);
    slot->object_size = BPF_CORE_READ(cache, object_size);
    bpf_probe_read_kernel_str(slot->name, sizeof slot->name, BPF_CORE_READ(cache, name));
    const char own[] = "kmem_cache";
    int is_own = 1;
    for (int i = 0; i < (int)sizeof own; ++i) is_own &= slot->name[i] == own[i];
    if (is_own) shared.cache_of_caches = key;
  }
  __sync_fetch_and_add(&slot->is_known, 1);
  return 1;
}

// The slot of `key`; MEMSTAT_SLAB_SLOTS if there is no room.
static __always_inline __u32 slot_of(__u64 key) {
  __u32 at = first_slot(key);
  for (int i = 0; i < MEMSTAT_SLAB_PROBES; ++i) {
    at &= MEMSTAT_SLAB_SLOTS - 1;
    const __u64 known = shared.keys[at];
    if (known == key) return at;
    if (known == 0 && claim(at, key)) return at;
    ++at;
  }
  __sync_fetch_and_add(&shared.unplaced_events, 1);
  return MEMSTAT_SLAB_SLOTS;
}

static __always_inline struct memstat_slab_cpu* this_cpu(void) {
  const __u32 cpu = bpf_get_smp_processor_id();
  return bpf_map_lookup_elem(&by_cpu, &cpu);
}

static __always_inline struct memstat_slab_row* row_of(struct memstat_slab_cpu* cpu, __u64 key) {
  const __u32 at = slot_of(key);
  return at < MEMSTAT_SLAB_SLOTS ? &cpu->rows[at] : 0;
}

enum { kNoNode = -1 };  // NUMA_NO_NODE

// Failures are rare, so they are counted even when sampling skips events.
SEC("raw_tp/kmem_cache_alloc")
int on_kmem_cache_alloc(struct raw_arguments* arguments) {
  const __u64 weight = weight_now();
  if (weight == 0 && arguments->values[1] != 0) return 0;
  struct memstat_slab_cpu* cpu = this_cpu();
  if (!cpu) return 0;
  if (gfp.classes.is_wanted) {
    memstat_gfp_count(&cpu->totals.cache_by_gfp, arguments->values[3], &gfp.classes, weight, arguments->values[1] == 0);
  }
  struct memstat_slab_row* row = row_of(cpu, arguments->values[2]);
  if (!row) return 0;
  if (arguments->values[1] != 0) {
    row->cache_allocations += weight;
    if ((__s32)arguments->values[4] != kNoNode) cpu->totals.cache_on_node += weight;
  } else {
    ++row->cache_failures;
  }
  return 0;
}

// A destroyed cache frees its struct, and another cache may get the same address. So its slot is retired.
static __noinline int forget(__u64 key) {
  __u32 at = first_slot(key);
  for (int i = 0; i < MEMSTAT_SLAB_PROBES; ++i) {
    at &= MEMSTAT_SLAB_SLOTS - 1;
    if (shared.keys[at] == key) shared.keys[at] = MEMSTAT_SLAB_FORGOTTEN;
    ++at;
  }
  return 0;
}

SEC("raw_tp/kmem_cache_free")
int on_kmem_cache_free(struct raw_arguments* arguments) {
  const __u64 object = arguments->values[1];
  const __u64 cache = arguments->values[2];
  if (object == 0) return 0;
  if (cache == shared.cache_of_caches) forget(object);
  const __u64 weight = weight_now();
  if (weight == 0) return 0;
  struct memstat_slab_cpu* cpu = this_cpu();
  if (!cpu) return 0;
  struct memstat_slab_row* row = row_of(cpu, cache);
  if (row) row->cache_frees += weight;
  return 0;
}

#ifdef MEMSTAT_OWNER_OF_OBJECT
// The cache of an object as a number, converted by a store and a load as the verifier demands. 0: none, or the object
// is whole pages (above two pages). The two callers have scratch memory of their own.
static __always_inline __u64 cache_of(__u64 object, volatile __u64* scratch) {
  struct kmem_cache* cache = get_kmem_cache(object);
  if (!cache) return 0;
  *(struct kmem_cache* volatile*)scratch = cache;
  return *scratch;
}
#endif

// The key of a kmalloc() whose cache is not reported.
static __always_inline __u64 key_of_size(__u64 allocated, __u64 flags) {
  __u64 kind = 0;
  if (flags & gfp.account) kind = 2;
  if (flags & gfp.reclaimable) kind = 1;
  if (flags & gfp.dma) kind = 3;
  return (__u32)(allocated * MEMSTAT_SLAB_KINDS + kind);
}

static __always_inline void count_class(struct memstat_slab_totals* totals, struct raw_arguments* arguments, __u64 weight) {
  if (!gfp.classes.is_wanted) return;
  memstat_gfp_count(&totals->kmalloc_by_gfp, arguments->values[4], &gfp.classes, weight, arguments->values[1] == 0);
}

static __always_inline void count_size(struct memstat_slab_totals* totals, __u64 size, __u64 weight) {
  if (gfp.has_sizes) totals->kmalloc_sizes[memstat_size_bucket(size)] += weight;
}

// Some kernels (6.12) report a large kmalloc() twice: from inside the allocator, and with its caller.
static __always_inline void count_large(struct memstat_slab_totals* totals, struct raw_arguments* arguments, __u64 weight) {
  const __u64 site = arguments->values[0];
  const __u64 object = arguments->values[1];
  if (object == 0) {
    count_class(totals, arguments, weight);
    ++totals->large_failures;
    return;
  }
  const int is_again = object == totals->last_large && site != totals->last_site;
  totals->last_large = is_again ? 0 : object;
  totals->last_site = site;
  if (is_again) return;
  count_class(totals, arguments, weight);
  totals->large_requested += weight * arguments->values[2];
  count_size(totals, arguments->values[2], weight);
  __u32 at = 0;
  while (at < MEMSTAT_SLAB_LARGE_SIZES - 1 && (2ULL * MEMSTAT_SLAB_LARGEST << at) < arguments->values[3]) ++at;
  totals->large_allocations[at] += weight;
}

SEC("raw_tp/kmalloc")
int on_kmalloc(struct raw_arguments* arguments) {
  struct kmalloc_event event;
  if (!take_kmalloc(arguments, &event)) return 0;
  struct memstat_slab_cpu* cpu = this_cpu();
  if (!cpu) return 0;
  if (event.allocated > MEMSTAT_SLAB_LARGEST) {
    count_large(&cpu->totals, arguments, event.weight);
    return 0;
  }
  __u64 key = 0;
#ifdef MEMSTAT_OWNER_OF_OBJECT
  if (event.object != 0) {
    key = cache_of(event.object, &cpu->rows[0].scratch);
    if (key == 0) return 0;
  }
#endif
  if (key == 0) key = key_of_size(event.allocated, arguments->values[4]);
  struct memstat_slab_row* row = row_of(cpu, key);
  if (!row) return 0;
  count_class(&cpu->totals, arguments, event.weight);
  if (event.object == 0) {
    ++row->kmalloc_failures;
    return 0;
  }
  row->kmalloc_allocations += event.weight;
  if ((__s32)arguments->values[5] != kNoNode) cpu->totals.kmalloc_on_node += event.weight;
  row->kmalloc_requested += event.weight * arguments->values[2];
  count_size(&cpu->totals, arguments->values[2], event.weight);
  return 0;
}

#ifdef MEMSTAT_OWNER_OF_OBJECT
SEC("raw_tp/kfree")
int on_kfree(struct raw_arguments* arguments) {
  const __u64 object = arguments->values[1];
  if (object <= 16) return 0;  // kfree(NULL) and kfree(ZERO_SIZE_PTR) are common no-ops
  const __u64 weight = weight_now();
  if (weight == 0) return 0;
  struct memstat_slab_cpu* cpu = this_cpu();
  if (!cpu) return 0;
  const __u64 key = cache_of(object, &cpu->rows[1].scratch);
  if (key == 0) {
    if (cpu->totals.last_large == object) cpu->totals.last_large = 0;
    cpu->totals.large_frees += weight;
    return 0;
  }
  struct memstat_slab_row* row = row_of(cpu, key);
  if (row) row->kmalloc_frees += weight;
  return 0;
}
#endif

char terms[] SEC("license") = "Dual BSD/GPL";
