// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
// Visits every slab cache of the kernel in one pass of its iterator over them (Linux commit 4971266e1595 ("bpf: Add
// kmem_cache iterator") (v6.13)): slabs and objects of each node, and the free objects on lists of partial slabs, in slabs
// and sheaves that CPUs hold, and in the nodes' barns of full sheaves. Which of these this kernel has follows from its types
// (CO-RE), never from its version.
//
// It takes no lock, so no allocation waits for it. Memory may be freed while it is read, so every address from a slab is
// checked before it is followed: a slab must still belong to the cache, and a free object must lie in its slab. Reads that
// fault return 0. Each counter is exact, but their sum is not that of any one moment.
#include "core/events/bpf/kernel_types.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "core/events/bpf/kernel_calls.h"
#include "core/events/bpf/slab_caches_layout.h"

#define KERNEL_TYPE __attribute__((preserve_access_index))

struct seq_file;
struct bpf_iter_meta {
  struct seq_file* seq;
  __u64 seq_num;
} KERNEL_TYPE;

struct list_head {
  struct list_head *next, *prev;
} KERNEL_TYPE;
struct rb_node {
  unsigned long __rb_parent_color;
} KERNEL_TYPE;
typedef struct {
  __s64 counter;
} atomic64_t;

struct kmem_cache;
struct slab {
  struct kmem_cache* slab_cache;
  struct list_head slab_list;
  struct slab* next;
  void* freelist;
  unsigned int inuse : 16;
  unsigned int objects : 15;
} KERNEL_TYPE;

struct node_barn {
  unsigned int nr_full;
} KERNEL_TYPE;
struct kmem_cache_node {
  unsigned long nr_partial;
  struct list_head partial;
  atomic64_t nr_slabs;
  atomic64_t total_objects;
  struct node_barn* barn;  // before 6.19
} KERNEL_TYPE;
struct kmem_cache_per_node_ptrs {
  struct node_barn* barn;
  struct kmem_cache_node* node;
} KERNEL_TYPE;

struct kmem_cache_cpu {
  void* freelist;
  unsigned long tid;  // changes whenever the free objects of the CPU's slab change
  struct slab* slab;
  struct slab* partial;
} KERNEL_TYPE;
struct slab_sheaf {
  unsigned int size;
} KERNEL_TYPE;
struct slub_percpu_sheaves {
  struct slab_sheaf* main;
  struct slab_sheaf* spare;
  struct slab_sheaf* rcu_free;
} KERNEL_TYPE;

struct kmem_cache_order_objects {
  unsigned int x;
} KERNEL_TYPE;
struct kmem_cache {
  struct kmem_cache_cpu* cpu_slab;          // before 6.19
  struct slub_percpu_sheaves* cpu_sheaves;  // 6.18 and later
  unsigned int size;
  unsigned int object_size;
  unsigned int offset;
  unsigned int sheaf_capacity;
  struct kmem_cache_order_objects oo;
  const char* name;
  struct list_head list;
  unsigned long random;             // with CONFIG_SLAB_FREELIST_HARDENED
  struct kmem_cache_node* node[1];  // before 6.19
  struct kmem_cache_per_node_ptrs per_node[1];
} KERNEL_TYPE;

struct bpf_iter__kmem_cache {
  struct bpf_iter_meta* meta;
  struct kmem_cache* s;
} KERNEL_TYPE;

struct bpf_array {
  void* pptrs[1];
} KERNEL_TYPE;

// Not under its own name, which a header of libbpf 1.5 and later declares.
static void* (*const read_only_cast)(const void* address, __u32 type) = (void*)kReadOnlyCast;

const volatile struct memstat_cache_limits limits = {.node_count = 1, .cpu_count = 1, .page_size = 4096};

enum { kMaxBytes = 24576 };  // maximum size of a record; the kernel's buffer has 32 KiB

// State of the current pass. There is one at a time: memstatd makes passes one after the other, and no other process
// can. A record is written to the kernel in one call.
struct {
  struct memstat_cache cache;
  char rows[kMaxBytes];
} record;
struct {
  __u64 cache;     // address of the struct kmem_cache
  __u64 number;    // index of the cache in this pass
  __u64 cpu_slab;  // the cache's per-CPU pointer; a CPU's offset is added to it
  __u64 cpu_sheaves;
  __u64 capacity;  // objects in a full sheaf
  __u64 offset;    // of the link in a free object
  __u64 slab_bytes;
  __u64 at;        // current position in a list or chain
  __u64 back;      // position in a list from its end
  __u64 list;      // head of the list
  __u64 first;     // first object of a free list
  __u64 steps;     // taken so far
  __u64 free;      // free objects found so far
  __u64 is_whole;  // 1 once the walks from both ends of a list met
  __u64 size;      // size of the record so far
  __u64 scratch;
} now;

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);  // set to the number of possible CPUs before loading
  __type(key, __u32);
  __type(value, __u64);
} offset_of_cpu SEC(".maps");

// No counter has the number of free objects in the slab that a CPU allocates from. Counting takes a walk over the free
// list. Most caches are idle on most CPUs between two passes, and then the previous number holds.
struct known_list {
  __u64 freelist;
  __u64 tid;
  __u64 free;
};
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);  // set before loading to the number of CPUs, if CPUs hold slabs
  __type(key, __u32);
  __type(value, struct known_list);
} known_lists SEC(".maps");

// A walk over a long list of partial slabs is the most expensive part of a pass: each slab is a cache miss. Its free
// objects are counted at every MEMSTAT_CACHE_LIST_PASSES-th pass, less often where it is so long that this would be more
// than MEMSTAT_CACHE_LONG_LIST slabs a pass, and when its length has changed by a sixteenth. In between, the previous
// average per slab is used.
struct walked_list {
  __u64 node;    // address of the struct kmem_cache_node; 0: unused
  __u64 slabs;   // number of slabs then
  __u64 free;    // free objects in these
  __u64 passes;  // passes since
};
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, MEMSTAT_CACHE_WALKED_LISTS);
  __type(key, __u32);
  __type(value, struct walked_list);
} walked_lists SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, __u64);
} a_place SEC(".maps");

#define AT(type, address) ((struct type*)read_only_cast((const void*)(address), limits.numbers.type))

// Converts an address to a number by a store and a load. The verifier does not let a program convert a pointer
// directly.
static __always_inline __u64 number_of(const volatile void* pointer) {
  *(const volatile void* volatile*)&now.scratch = pointer;
  return *(volatile __u64*)&now.scratch;
}

// Any struct will do that begins with a number.
static __always_inline __u64 word_at(__u64 address) { return AT(rb_node, address)->__rb_parent_color; }

// The minimum of both, in a form that the verifier follows. The compiler must not read `number` from memory a second
// time.
static __always_inline __u64 at_most(__u64 number, __u64 most) {
  asm volatile("" : "+r"(number));
  return number < most ? number : most;
}

// The place for a row of this size: the end of the record so far. All sizes are multiples of 8, for machines that need
// aligned addresses.
static __always_inline void* next_row(__u64 size) {
  char* row = (char*)&record + (at_most(now.size, kMaxBytes - 8) & ~7ULL);
  now.size += size;
  return row;
}

// ---- slabs ---------------------------------------------------------------------------------------------------------------

static __always_inline __u64 free_of(struct slab* slab) {
  const __u64 objects = BPF_CORE_READ_BITFIELD(slab, objects);
  const __u64 inuse = BPF_CORE_READ_BITFIELD(slab, inuse);
  return inuse < objects ? objects - inuse : 0;
}

// Offsets of what only some kernels have, noted at the beginning of a pass. Each return from a function costs 8 ns where
// the kernel guards returns (AMD), and stops the processor from reading ahead. So nearly everything is inline. But code that
// is inlined cannot name a missing member, not even behind bpf_core_field_exists(): clang may move its offset out of the
// condition, and then libbpf rejects the program.
struct {
  __u64 cpu_slab, cpu_sheaves, random, capacity;  // in struct kmem_cache
  __u64 node, node_stride, barn;                  // in struct kmem_cache, but before 6.19 the barn is in the node
  __u64 freelist, tid, slab, partial;             // in struct kmem_cache_cpu, before 6.19
  __u64 next;                                     // in struct slab, of the partial slabs of a CPU
} places;

#define HAS(type, member) bpf_core_field_exists(struct type, member)
#define PLACE(function, type, member) \
  static __noinline __u64 function(void) { return bpf_core_field_offset(struct type, member); }
PLACE(place_of_cpu_slab, kmem_cache, cpu_slab)
PLACE(place_of_cpu_sheaves, kmem_cache, cpu_sheaves)
PLACE(place_of_random, kmem_cache, random)
PLACE(place_of_capacity, kmem_cache, sheaf_capacity)
PLACE(place_of_node, kmem_cache, node)
PLACE(place_of_barn, kmem_cache_node, barn)
PLACE(place_of_freelist, kmem_cache_cpu, freelist)
PLACE(place_of_tid, kmem_cache_cpu, tid)
PLACE(place_of_slab, kmem_cache_cpu, slab)
PLACE(place_of_partial, kmem_cache_cpu, partial)
PLACE(place_of_next, slab, next)
static __noinline void note_pairs(void) {
  const __u64 pairs = bpf_core_field_offset(struct kmem_cache, per_node);
  places.node = pairs + bpf_core_field_offset(struct kmem_cache_per_node_ptrs, node);
  places.barn = pairs + bpf_core_field_offset(struct kmem_cache_per_node_ptrs, barn);
  places.node_stride = bpf_core_type_size(struct kmem_cache_per_node_ptrs);
}

static __always_inline void note_places(void) {
  if (HAS(kmem_cache, cpu_slab)) {
    places.cpu_slab = place_of_cpu_slab();
    places.freelist = place_of_freelist();
    places.tid = place_of_tid();
    places.slab = place_of_slab();
  }
  if (HAS(kmem_cache, cpu_sheaves)) places.cpu_sheaves = place_of_cpu_sheaves();
  if (HAS(kmem_cache, random)) places.random = place_of_random();
  if (HAS(kmem_cache, sheaf_capacity)) places.capacity = place_of_capacity();
  if (HAS(kmem_cache_cpu, partial)) places.partial = place_of_partial();
  if (HAS(slab, next)) places.next = place_of_next();
  if (HAS(kmem_cache_node, barn)) places.barn = place_of_barn();
  if (HAS(kmem_cache, per_node)) {
    note_pairs();
  } else {
    places.node = place_of_node();
    places.node_stride = 8;
  }
}

static __always_inline int is_of_cache(struct slab* slab) { return (__u64)slab->slab_cache == now.cache; }

enum { kAtOnce = 8 };  // pairs of slabs or objects per callback; a call costs more than a pair

#define SLAB_OF(list) AT(slab, (const char*)(list)-bpf_core_field_offset(struct slab, slab_list))

// Walks a list from both ends. The cost is waiting for uncached memory, and this way two reads wait at the same time.
static __always_inline long walk_on(void) {
  const struct list_head* const head = AT(list_head, now.list);
  const struct list_head* front = AT(list_head, now.at);
  const struct list_head* back = AT(list_head, now.back);
  __u64 free = 0;
  __u64 steps = 0;
  int i = 0;
  for (; i < kAtOnce; ++i) {
    if (front == head || back == head) break;  // the walks missed each other: the list changed
    struct slab* first = SLAB_OF(front);
    struct slab* last = SLAB_OF(back);
    if (!is_of_cache(first) || !is_of_cache(last)) break;
    free += free_of(first);
    ++steps;
    now.is_whole = front == back;
    if (front == back) break;
    free += free_of(last);
    ++steps;
    front = first->slab_list.next;
    now.is_whole = front == back;
    if (front == back) break;
    back = last->slab_list.prev;
  }
  now.at = number_of(front);
  now.back = number_of(back);
  now.free += free;
  now.steps += steps;
  return i < kAtOnce;
}

static long next_on_list(__u64 index, void* unused) { return walk_on(); }

// For a list longer than a walk, looks at both ends: slabs with recent frees are at one of them.
static __noinline __u64 walk_list(struct kmem_cache_node* node, __u64 slabs) {
  now.list = number_of(node) + bpf_core_field_offset(struct kmem_cache_node, partial);
  now.at = number_of(node->partial.next);
  now.back = number_of(node->partial.prev);
  now.steps = 0;
  now.free = 0;
  now.is_whole = now.at == now.list;
  const __u64 most = slabs > MEMSTAT_CACHE_LONGEST_LIST ? MEMSTAT_CACHE_LONGEST_LIST : slabs + 64;
  if (!walk_on()) bpf_loop((__u32)most / (2 * kAtOnce) + 1, next_on_list, 0, 0);
  if (now.is_whole) return now.free;
  ++record.cache.estimated;
  return now.steps == 0 ? 0 : now.free * slabs / now.steps;
}

static __always_inline int is_about(__u64 slabs, __u64 before) {
  return (slabs > before ? slabs - before : before - slabs) <= before / 16;
}

static __always_inline __u64 passes_of(__u64 slabs) {
  const __u64 passes = at_most(slabs / MEMSTAT_CACHE_LONG_LIST, MEMSTAT_CACHE_MOST_PASSES);
  return passes < MEMSTAT_CACHE_LIST_PASSES ? MEMSTAT_CACHE_LIST_PASSES : passes;
}

// Where a list is remembered: one of a few places, so that two lists whose addresses meet do not forget each other at each
// pass. Without a free place it takes the first of them.
static __noinline struct walked_list* place_of_list(__u64 address) {
  const __u32 first = (__u32)(address * 0x9E3779B97F4A7C15ULL >> 32);
  struct walked_list* chosen = 0;
  for (__u32 i = 0; i < MEMSTAT_CACHE_LIST_PLACES; ++i) {
    const __u32 key = (first + i) % MEMSTAT_CACHE_WALKED_LISTS;
    struct walked_list* list = bpf_map_lookup_elem(&walked_lists, &key);
    if (!list) return 0;
    if (list->node == address) return list;
    if (!chosen || (chosen->node != 0 && list->node == 0)) chosen = list;
  }
  return chosen;
}

// Free objects in a node's list of partial slabs.
static __noinline __u64 free_on_list(struct kmem_cache_node* node, __u64 slabs) {
  if (slabs < MEMSTAT_CACHE_SHORT_LIST) return walk_list(node, slabs);
  const __u64 address = number_of(node);
  struct walked_list* list = place_of_list(address);
  if (!list) return walk_list(node, slabs);
  const int is_known = list->node == address;
  if (is_known && is_about(slabs, list->slabs) && list->passes + 1 < passes_of(slabs)) {
    ++list->passes;
    ++record.cache.estimated;
    return list->free * slabs / list->slabs;
  }
  const __u64 free = walk_list(node, slabs);
  // Spread the long lists over the passes.
  const __u64 passes = is_known ? 0 : (address >> 6) % passes_of(slabs);
  *list = (struct walked_list){.node = address, .slabs = slabs, .free = free, .passes = passes};
  return free;
}

// ---- nodes ---------------------------------------------------------------------------------------------------------------

static __noinline __u64 full_sheaves_in(__u64 barn) { return AT(node_barn, barn)->nr_full; }

static long look_at_node(__u64 i, void* unused) {
  const __u64 pair = now.cache + i * places.node_stride;
  const __u64 address = word_at(pair + places.node);
  if (address == 0) return 0;
  struct kmem_cache_node* node = AT(kmem_cache_node, address);
  const __u64 slabs = (__u64)node->nr_slabs.counter;
  if (slabs == 0) return 0;
  const __u64 objects = (__u64)node->total_objects.counter;
  const __u64 partial_slabs = node->nr_partial;
  const __u64 free = partial_slabs == 0 ? 0 : free_on_list(node, partial_slabs);
  __u64 in_barn = 0;
  if (now.capacity != 0) {
    const __u64 barn = word_at((HAS(kmem_cache, per_node) ? pair : address) + places.barn);
    if (barn != 0) in_barn = full_sheaves_in(barn) * now.capacity;
  }
  record.cache.slabs += slabs;
  record.cache.objects += objects;
  record.cache.free.on_lists += free;
  record.cache.free.in_barns += in_barn;
  const __u32 at = record.cache.node_count;
  if (at >= MEMSTAT_CACHE_NODES) return 0;
  struct memstat_cache_node* row = next_row(sizeof *row);
  row->node = (__u32)i;
  row->padding = 0;
  row->slabs = slabs;
  row->objects = objects;
  row->partial_slabs = partial_slabs;
  row->free = free;
  row->in_barn = in_barn;
  record.cache.node_count = at + 1;
  return 0;
}

// ---- CPUs ----------------------------------------------------------------------------------------------------------------

// mm/slub.c, freelist_ptr_decode(): the free objects of a slab are linked. With CONFIG_SLAB_FREELIST_HARDENED each
// pointer is obfuscated.
static __always_inline __u64 after_free_object(__u64 object, __u64 offset, __u64 random) {
  const __u64 place = object + offset;
  const __u64 next = word_at(place);
  return HAS(kmem_cache, random) ? next ^ random ^ __builtin_bswap64(place) : next;
}

static __always_inline long count_free_objects(void) {
  const __u64 random = HAS(kmem_cache, random) ? word_at(now.cache + places.random) : 0;
  __u64 at = now.at;
  __u64 free = 0;
  for (int i = 0; i < kAtOnce; ++i) {
    if (at == 0 || (at ^ now.first) >= now.slab_bytes) break;
    ++free;
    at = after_free_object(at, now.offset, random);
  }
  now.at = at;
  now.free += free;
  return free < kAtOnce;
}
static long next_free_object(__u64 index, void* unused) { return count_free_objects(); }

static __always_inline long count_slabs_of_cpu(void) {
  __u64 at = now.at;
  __u64 free = 0;
  int i = 0;
  for (; i < kAtOnce && at != 0; ++i) {
    struct slab* slab = AT(slab, at);
    if (!is_of_cache(slab)) break;
    free += free_of(slab);
    at = word_at(at + places.next);
  }
  now.at = at;
  now.free += free;
  now.steps += i;
  return i < kAtOnce;
}
static long next_of_cpu(__u64 index, void* unused) { return count_slabs_of_cpu(); }

enum { kMaxSlabsOfCpu = 1024 };

// Free objects in the slab that a CPU allocates from. The slab itself counts them as used.
static __always_inline __u64 free_of_cpu(__u64 own, __u64 objects, __u32 cpu) {
  const __u64 tid = word_at(own + places.tid);
  const __u64 freelist = word_at(own + places.freelist);
  __u32 key = cpu * MEMSTAT_CACHE_KNOWN_LISTS + (__u32)now.number;
  if (now.number >= MEMSTAT_CACHE_KNOWN_LISTS) key = ~0U;
  struct known_list* list = bpf_map_lookup_elem(&known_lists, &key);
  if (list && list->freelist == freelist && list->tid == tid) return list->free;
  const __u64 before = now.free;
  now.at = now.first = freelist;
  if (!count_free_objects()) bpf_loop((__u32)objects / kAtOnce + 1, next_free_object, 0, 0);
  const __u64 free = now.free - before;
  now.free = before;
  if (list && word_at(own + places.tid) == tid) *list = (struct known_list){.freelist = freelist, .tid = tid, .free = free};
  return free;
}

// The slabs that a CPU holds: the one that it allocates from, and its partial slabs.
static __always_inline void look_at_slabs(struct memstat_cache_cpu* cpu, __u64 offset) {
  const __u64 own = now.cpu_slab + offset;
  now.free = 0;
  now.steps = 0;
  now.at = word_at(own + places.slab);
  if (now.at != 0) {
    struct slab* slab = AT(slab, now.at);
    const __u64 objects = BPF_CORE_READ_BITFIELD(slab, objects);
    if (is_of_cache(slab)) {
      now.free = free_of(slab) + free_of_cpu(own, objects, cpu->cpu);
      ++now.steps;
    }
  }
  if (HAS(kmem_cache_cpu, partial)) {
    now.at = word_at(own + places.partial);
    if (!count_slabs_of_cpu()) bpf_loop(kMaxSlabsOfCpu / kAtOnce, next_of_cpu, 0, 0);
  }
  cpu->slabs = (__u32)now.steps;
  cpu->free = (__u32)now.free;
}

static __always_inline __u32 size_of(struct slab_sheaf* sheaf) { return number_of(sheaf) != 0 ? sheaf->size : 0; }

static __noinline void look_at_sheaves(struct memstat_cache_cpu* cpu, __u64 offset) {
  struct slub_percpu_sheaves* own = AT(slub_percpu_sheaves, now.cpu_sheaves + offset);
  cpu->in_sheaves = size_of(own->main) + size_of(own->spare) + size_of(own->rcu_free);
}

enum { kOrderShift = 16 };  // mm/slub.c, OO_SHIFT

static __always_inline __u32 order_of(const struct kmem_cache* s) { return s->oo.x >> kOrderShift; }
static __always_inline __u64 slab_bytes_of(const struct kmem_cache* s) {
  return (__u64)limits.page_size << (order_of(s) & 31);
}

#include "core/events/bpf/slab_ahead.h"

static __always_inline long look_at_cpu(__u32 key) {
  const __u64* offset = bpf_map_lookup_elem(&offset_of_cpu, &key);
  if (!offset) return 1;
  struct memstat_cache_cpu row = {.cpu = key};
  if (now.number * limits.cpu_count + key >= ahead.end) look_ahead(key);
  // Whether this kernel has a feature must be a constant here, so that the verifier removes the code that reads a missing
  // one.
  if (HAS(kmem_cache, cpu_slab) && now.cpu_slab != 0) look_at_slabs(&row, *offset);
  if (HAS(kmem_cache, cpu_sheaves) && now.cpu_sheaves != 0) look_at_sheaves(&row, *offset);
  if (row.slabs == 0 && row.in_sheaves == 0) return 0;
  record.cache.free.in_slabs += row.free;
  record.cache.free.in_sheaves += row.in_sheaves;
  const __u32 at = record.cache.cpu_count;
  if (at >= MEMSTAT_CACHE_CPUS) return 0;
  *(struct memstat_cache_cpu*)next_row(sizeof row) = row;
  record.cache.cpu_count = at + 1;
  return 0;
}

enum { kCpusAtOnce = 4 };

static long look_at_cpus(__u64 index, void* unused) {
#pragma nounroll
  for (__u32 i = 0; i < kCpusAtOnce; ++i) {
    const __u32 cpu = (__u32)index * kCpusAtOnce + i;
    if (cpu >= limits.cpu_count || look_at_cpu(cpu)) return 1;
  }
  return 0;
}

static long note_offset(__u64 i, void* unused) {
  const __u32 key = (__u32)i;
  __u32 first = 0;
  __u64* place = bpf_map_lookup_percpu_elem(&a_place, &first, key);
  __u64* offset = bpf_map_lookup_elem(&offset_of_cpu, &key);
  if (!place || !offset) return 1;
  *offset = number_of(place) - word_at(number_of(&a_place) + bpf_core_field_offset(struct bpf_array, pptrs));
  return 0;
}

// ---- one cache -----------------------------------------------------------------------------------------------------------

enum { kMinPage = 4096 };
enum { kMaxWords = 8 };  // words; copying a name by words takes a third of the kernel's byte-by-byte time

static __always_inline int has_zero_byte(__u64 word) {
  return ((word - 0x0101010101010101) & ~word & 0x8080808080808080) != 0;
}

// Returns the name's size, rounded up to a word. No read may cross into the next page, which may be unmapped.
static __always_inline __u32 copy_name(const char* name) {
  const __u64 address = number_of(name);
  if (address % kMinPage <= kMinPage - kMaxWords * 8) {
    for (__u32 i = 0; i < kMaxWords; ++i) {
      const __u64 word = word_at(address + 8 * i);
      ((__u64*)record.cache.name)[i] = word;
      if (has_zero_byte(word)) return 8 * (i + 1);
    }
  }
  const long length = bpf_probe_read_kernel_str(record.cache.name, sizeof record.cache.name, name);
  return length > 0 ? ((__u32)length + 7) & ~7U : 0;
}

#include "core/events/bpf/groups.h"

SEC("iter/kmem_cache")
int look_at_cache(struct bpf_iter__kmem_cache* context) {
  struct kmem_cache* s = context->s;
  if (!s) return 0;
  if (context->meta->seq_num == 0) {
    note_places();
    ahead.end = 0;
    bpf_loop(limits.cpu_count, note_offset, 0, 0);
    if (HAS(mem_cgroup, memory)) look_at_groups();
  }
  now.cache = number_of(s);
  now.number = context->meta->seq_num;
  now.offset = s->offset;
  now.cpu_slab = HAS(kmem_cache, cpu_slab) ? word_at(now.cache + places.cpu_slab) : 0;
  now.cpu_sheaves = HAS(kmem_cache, cpu_sheaves) ? word_at(now.cache + places.cpu_sheaves) : 0;
  now.capacity = HAS(kmem_cache, sheaf_capacity) ? (__u32)word_at(now.cache + places.capacity) : 0;
  __builtin_memset(&record.cache, 0, __builtin_offsetof(struct memstat_cache, name));
  record.cache.size = s->size;
  record.cache.object_size = s->object_size;
  record.cache.order = order_of(s);
  now.slab_bytes = slab_bytes_of(s);
  record.cache.name_size = copy_name(s->name);
  now.size = __builtin_offsetof(struct memstat_cache, name) + record.cache.name_size;
  bpf_loop(limits.node_count, look_at_node, 0, 0);
  if (record.cache.slabs != 0) bpf_loop(limits.cpu_count / kCpusAtOnce + 1, look_at_cpus, 0, 0);
  note_for_next_pass(now.number, record.cache.slabs != 0);
  // If the kernel's buffer is full, it calls the program again for this cache.
  bpf_seq_write(context->meta->seq, &record, (__u32)at_most(now.size, kMaxBytes));
  return 0;
}

char terms[] SEC("license") = "Dual BSD/GPL";
