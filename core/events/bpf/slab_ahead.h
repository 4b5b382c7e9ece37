/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Part of slab_caches.bpf.c: reads in advance what the pass is about to read. A poll finds cold caches, and a pass waits for
 * memory 2000 times, one address leading to the next. Here the processor waits for 32 CPUs' parts of caches at the same
 * time. Walks over the free objects of a CPU's slab are finished, and their results are in known_lists. Everything
 * else only warms the caches, so it may be wrong or missing: the pass reads it again. */
#pragma once

enum { kAheadParts = 32, kAheadCursors = 2 * kAheadParts, kAheadRounds = 64 };

/* What a CPU has of a cache. */
struct ahead_part {
  __u64 cache; /* 0: nothing to read */
  __u64 own;   /* the CPU's struct kmem_cache_cpu; 0: not read */
  __u64 node;  /* with the first CPU of a cache also the first node and the name */
  __u64 name;
  __u32 cpu;
  __u32 list; /* index in known_lists */
};
/* A walk over the free objects of a CPU's slab. */
struct ahead_walk {
  __u64 at, first, slab_bytes, offset, random, free, own, tid, list;
};
/* A walk over slabs, as long as they are the cache's. */
struct ahead_cursor {
  __u64 at, cache;
  __u32 offset; /* of the address of the next one */
  __u32 target; /* offset of what that is the address of */
};

enum { kHasNoSlabs = 1 }; /* bit of an address in `caches` */
struct {
  __u64 end;                               /* parts before this one were read */
  __u64 caches[MEMSTAT_CACHE_KNOWN_LISTS]; /* in the pass before */
  volatile __u64 cache, number;            /* of the next part */
  volatile __u32 cpu;
  __u64 touched; /* keeps the compiler from removing a read */
  __u32 walk_count, cursor_count;
  struct ahead_part parts[kAheadParts];
  struct ahead_walk walks[kAheadParts];
  struct ahead_cursor cursors[kAheadCursors];
} ahead;

static __always_inline void note_for_next_pass(__u64 number, int has_slabs) {
  if (number >= MEMSTAT_CACHE_KNOWN_LISTS) return;
  ahead.caches[at_most(number, MEMSTAT_CACHE_KNOWN_LISTS - 1)] = has_slabs ? now.cache : now.cache | kHasNoSlabs;
}

/* The cache after this one if it is where the pass before found it, else 0: one that was destroyed has no pointers to
 * follow. */
static __always_inline __u64 known_after(__u64 cache, __u64 number) {
  if (cache == 0 || number >= MEMSTAT_CACHE_KNOWN_LISTS) return 0;
  const __u64 known = ahead.caches[at_most(number, MEMSTAT_CACHE_KNOWN_LISTS - 1)];
  const __u64 list = bpf_core_field_offset(struct kmem_cache, list);
  return word_at((cache & ~kHasNoSlabs) + list) == (known & ~kHasNoSlabs) + list ? known : 0;
}

static __always_inline void read_cache(struct ahead_part* part) {
  const __u64 cache = part->cache & ~(__u64)kHasNoSlabs;
  part->own = part->node = 0;
  if (cache == 0) return;
  if (part->cpu == 0) {
    part->node = word_at(cache + places.node);
    part->name = number_of(AT(kmem_cache, cache)->name);
  }
  __u32 cpu = part->cpu;
  const __u64* offset = bpf_map_lookup_elem(&offset_of_cpu, &cpu);
  if (HAS(kmem_cache, cpu_slab) && offset && (part->cache & kHasNoSlabs) == 0) {
    part->own = word_at(cache + places.cpu_slab) + *offset;
  }
}

static __always_inline void add_cursor(__u64 cache, __u64 first, __u32 offset, __u32 target) {
  const __u32 count = ahead.cursor_count;
  if (first == 0 || count >= kAheadCursors) return;
  ahead.cursors[count] = (struct ahead_cursor){.at = first - target, .cache = cache, .offset = offset, .target = target};
  ahead.cursor_count = count + 1;
}

static __always_inline void read_node(struct ahead_part* part) {
  struct kmem_cache_node* node = AT(kmem_cache_node, part->node);
  const __u64 slabs = node->nr_partial;
  ahead.touched += word_at(part->name);
  if (slabs == 0 || slabs >= MEMSTAT_CACHE_SHORT_LIST) return;
  const __u32 link = bpf_core_field_offset(struct slab, slab_list);
  const __u64 cache = part->cache & ~(__u64)kHasNoSlabs;
  add_cursor(cache, number_of(node->partial.next), link + bpf_core_field_offset(struct list_head, next), link);
  add_cursor(cache, number_of(node->partial.prev), link + bpf_core_field_offset(struct list_head, prev), link);
}

static __always_inline void read_own(struct ahead_part* part) {
  const __u64 tid = word_at(part->own + places.tid);
  const __u64 first = word_at(part->own + places.freelist);
  ahead.touched += word_at(word_at(part->own + places.slab) + places.next);
  if (HAS(kmem_cache_cpu, partial)) {
    add_cursor(part->cache, word_at(part->own + places.partial), places.next, 0);
  }
  __u32 key = part->list;
  const struct known_list* list = bpf_map_lookup_elem(&known_lists, &key);
  const __u32 count = ahead.walk_count;
  if (!list || (list->freelist == first && list->tid == tid) || first == 0 || count >= kAheadParts) return;
  struct kmem_cache* s = AT(kmem_cache, part->cache);
  ahead.walks[count] = (struct ahead_walk){
      .at = first,
      .first = first,
      .slab_bytes = slab_bytes_of(s),
      .offset = s->offset,
      .random = HAS(kmem_cache, random) ? word_at(part->cache + places.random) : 0,
      .own = part->own,
      .tid = tid,
      .list = key,
  };
  ahead.walk_count = count + 1;
}

static __always_inline int is_at_end(const struct ahead_walk* walk) {
  return walk->at == 0 || (walk->at ^ walk->first) >= walk->slab_bytes;
}

static __always_inline void end_walk(struct ahead_walk* walk) {
  __u32 key = (__u32)walk->list;
  struct known_list* list = bpf_map_lookup_elem(&known_lists, &key);
  if (list && word_at(walk->own + places.tid) == walk->tid) {
    *list = (struct known_list){.freelist = walk->first, .tid = walk->tid, .free = walk->free};
  }
  const __u32 last = ahead.walk_count - 1;
  if (last < kAheadParts) *walk = ahead.walks[last];
  ahead.walk_count = last;
}

/* One step of each walk. */
static long step_ahead(__u64 index, void* unused) {
#pragma nounroll
  for (__u32 i = 0; i < kAheadParts && i < ahead.walk_count; ++i) {
    struct ahead_walk* walk = &ahead.walks[i];
    if (is_at_end(walk)) {
      end_walk(walk);
      continue;
    }
    ++walk->free;
    walk->at = after_free_object(walk->at, walk->offset, walk->random);
  }
#pragma nounroll
  for (__u32 i = 0; i < kAheadCursors && i < ahead.cursor_count; ++i) {
    struct ahead_cursor* cursor = &ahead.cursors[i];
    if ((__u64)AT(slab, cursor->at)->slab_cache == cursor->cache) {
      cursor->at = word_at(cursor->at + cursor->offset) - cursor->target;
      continue;
    }
    const __u32 last = ahead.cursor_count - 1;
    if (last < kAheadCursors) *cursor = ahead.cursors[last];
    ahead.cursor_count = last;
  }
  return ahead.walk_count == 0 && ahead.cursor_count == 0;
}

enum { kPartsAtOnce = 4 };

/* Each of these loops waits for memory once. The results of the first are in memory, because the verifier tracks each value
 * in a register. */
static long read_caches(__u64 index, void* unused) {
#pragma nounroll
  for (int i = 0; i < kPartsAtOnce; ++i) {
    struct ahead_part* part = &ahead.parts[(index * kPartsAtOnce + i) % kAheadParts];
    part->cache = ahead.cache;
    part->cpu = ahead.cpu;
    part->list = ahead.cpu * MEMSTAT_CACHE_KNOWN_LISTS + (__u32)ahead.number;
    read_cache(part);
    ++ahead.cpu;
    if (ahead.cpu < limits.cpu_count) continue;
    ahead.cpu = 0;
    ++ahead.number;
    ahead.cache = known_after(ahead.cache, ahead.number);
  }
  return 0;
}

static long read_lists(__u64 index, void* unused) {
#pragma nounroll
  for (int i = 0; i < kPartsAtOnce; ++i) {
    struct ahead_part* part = &ahead.parts[(index * kPartsAtOnce + i) % kAheadParts];
    if (part->node != 0) read_node(part);
    if (HAS(kmem_cache, cpu_slab) && part->own != 0) read_own(part);
  }
  return 0;
}

/* Reads in advance from this CPU's part of the current cache on. */
static __noinline int look_ahead(__u32 cpu) {
  ahead.end = now.number * limits.cpu_count + cpu + kAheadParts;
  ahead.cache = now.cache;
  ahead.number = now.number;
  ahead.cpu = cpu;
  ahead.walk_count = ahead.cursor_count = 0;
  bpf_loop(kAheadParts / kPartsAtOnce, read_caches, 0, 0);
  bpf_loop(kAheadParts / kPartsAtOnce, read_lists, 0, 0);
  bpf_loop(kAheadRounds, step_ahead, 0, 0);
  return 0;
}
