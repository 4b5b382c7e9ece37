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
struct llist_node {
  struct llist_node* next;
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

extern void* bpf_rdonly_cast(const void* address, __u32 type) __ksym;

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
  __u64 random, offset;
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

#define AT(type, address) ((struct type*)bpf_rdonly_cast((const void*)(address), bpf_core_type_id_kernel(struct type)))

// Converts an address to a number by a store and a load. The verifier does not let a program convert a pointer
// directly.
static __always_inline __u64 number_of(const volatile void* pointer) {
  *(const volatile void* volatile*)&now.scratch = pointer;
  return *(volatile __u64*)&now.scratch;
}

static __always_inline __u64 word_at(__u64 address) { return number_of(AT(llist_node, address)->next); }

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

static __always_inline int is_of_cache(struct slab* slab) { return (__u64)slab->slab_cache == now.cache; }

enum { kAtOnce = 8 };  // pairs of slabs or objects per callback; a call costs more than a pair

#define SLAB_OF(list) AT(slab, (const char*)(list)-bpf_core_field_offset(struct slab, slab_list))

// Walks a list from both ends. The cost is waiting for uncached memory, and this way two reads wait at the same time.
static long next_on_list(__u64 index, void* unused) {
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

// For a list longer than a walk, looks at both ends: slabs with recent frees are at one of them.
static __noinline __u64 walk_list(struct kmem_cache_node* node, __u64 slabs) {
  now.list = number_of(node) + bpf_core_field_offset(struct kmem_cache_node, partial);
  now.at = number_of(node->partial.next);
  now.back = number_of(node->partial.prev);
  now.steps = 0;
  now.free = 0;
  now.is_whole = now.at == now.list;
  const __u64 most = slabs > MEMSTAT_CACHE_LONGEST_LIST ? MEMSTAT_CACHE_LONGEST_LIST : slabs + 64;
  bpf_loop((__u32)most / (2 * kAtOnce) + 1, next_on_list, 0, 0);
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

// Free objects in a node's list of partial slabs.
static __noinline __u64 free_on_list(struct kmem_cache_node* node, __u64 slabs) {
  if (slabs < MEMSTAT_CACHE_SHORT_LIST) return walk_list(node, slabs);
  const __u64 address = number_of(node);
  const __u32 key = (__u32)(address * 0x9E3779B97F4A7C15ULL >> 32) % MEMSTAT_CACHE_WALKED_LISTS;
  struct walked_list* list = bpf_map_lookup_elem(&walked_lists, &key);
  if (!list) return walk_list(node, slabs);
  const int is_known = list->node == address;
  if (is_known && is_about(slabs, list->slabs) && list->passes + 1 < passes_of(slabs)) {
    ++list->passes;
    ++record.cache.estimated;
    return list->free * slabs / list->slabs;
  }
  const __u64 free = walk_list(node, slabs);
  // Spread the long lists over the passes.
  const __u64 passes = is_known ? 0 : key % passes_of(slabs);
  *list = (struct walked_list){.node = address, .slabs = slabs, .free = free, .passes = passes};
  return free;
}

// ---- nodes ---------------------------------------------------------------------------------------------------------------

static __noinline __u64 node_in_array(__u64 i) {
  return word_at(now.cache + bpf_core_field_offset(struct kmem_cache, node) + 8 * i);
}
static __noinline __u64 node_in_pairs(__u64 i, int is_barn) {
  const __u64 offset = is_barn ? bpf_core_field_offset(struct kmem_cache_per_node_ptrs, barn)
                               : bpf_core_field_offset(struct kmem_cache_per_node_ptrs, node);
  return word_at(now.cache + bpf_core_field_offset(struct kmem_cache, per_node) +
                 i * bpf_core_type_size(struct kmem_cache_per_node_ptrs) + offset);
}
static __noinline __u64 barn_of_node(struct kmem_cache_node* node) { return number_of(node->barn); }

static __noinline __u64 capacity_of_sheaf(struct kmem_cache* s) { return s->sheaf_capacity; }

static __always_inline __u64 barn_of(struct kmem_cache_node* node, __u64 i) {
  if (bpf_core_field_exists(struct kmem_cache, per_node)) return node_in_pairs(i, 1);
  if (bpf_core_field_exists(struct kmem_cache_node, barn)) return barn_of_node(node);
  return 0;
}

static long look_at_node(__u64 i, void* unused) {
  const __u64 address = bpf_core_field_exists(struct kmem_cache, per_node) ? node_in_pairs(i, 0) : node_in_array(i);
  if (address == 0) return 0;
  struct kmem_cache_node* node = AT(kmem_cache_node, address);
  const __u64 slabs = (__u64)node->nr_slabs.counter;
  if (slabs == 0) return 0;
  const __u64 objects = (__u64)node->total_objects.counter;
  const __u64 partial_slabs = node->nr_partial;
  const __u64 free = partial_slabs == 0 ? 0 : free_on_list(node, partial_slabs);
  const __u64 barn = barn_of(node, i);
  __u64 in_barn = 0;
  if (barn != 0 && bpf_core_field_exists(struct kmem_cache, sheaf_capacity)) {
    in_barn = (__u64)AT(node_barn, barn)->nr_full * capacity_of_sheaf(AT(kmem_cache, now.cache));
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

static __noinline __u64 random_of(struct kmem_cache* s) { return s->random; }

// mm/slub.c, freelist_ptr_decode(): the free objects of a slab are linked. With CONFIG_SLAB_FREELIST_HARDENED each
// pointer is obfuscated.
static long next_free_object(__u64 index, void* unused) {
  __u64 at = now.at;
  __u64 free = 0;
  for (int i = 0; i < kAtOnce; ++i) {
    if (at == 0 || (at ^ now.first) >= now.slab_bytes) break;
    ++free;
    const __u64 place = at + now.offset;
    at = word_at(place);
    if (bpf_core_field_exists(struct kmem_cache, random)) at ^= now.random ^ __builtin_bswap64(place);
  }
  now.at = at;
  now.free += free;
  return free < kAtOnce;
}

static long next_of_cpu(__u64 index, void* unused) {
  if (now.at == 0) return 1;
  struct slab* slab = AT(slab, now.at);
  if (!is_of_cache(slab)) return 1;
  now.free += free_of(slab);
  ++now.steps;
  now.at = number_of(slab->next);
  return 0;
}

enum { kMaxSlabsOfCpu = 1024 };

// Free objects in the slab that a CPU allocates from. The slab itself counts them as used.
static __always_inline __u64 free_of_cpu(struct kmem_cache_cpu* own, __u64 objects, __u32 cpu) {
  const __u64 tid = own->tid;
  const __u64 freelist = number_of(own->freelist);
  __u32 key = cpu * MEMSTAT_CACHE_KNOWN_LISTS + (__u32)now.number;
  if (now.number >= MEMSTAT_CACHE_KNOWN_LISTS) key = ~0U;
  struct known_list* list = bpf_map_lookup_elem(&known_lists, &key);
  if (list && list->freelist == freelist && list->tid == tid) return list->free;
  const __u64 before = now.free;
  now.at = now.first = freelist;
  bpf_loop((__u32)objects / kAtOnce + 1, next_free_object, 0, 0);
  const __u64 free = now.free - before;
  now.free = before;
  if (list && own->tid == tid) *list = (struct known_list){.freelist = freelist, .tid = tid, .free = free};
  return free;
}

static __noinline void look_at_store(struct kmem_cache_cpu* own) {
  now.at = number_of(own->partial);
  bpf_loop(kMaxSlabsOfCpu, next_of_cpu, 0, 0);
}

// The slabs that a CPU holds: the one that it allocates from, and its partial slabs.
static __noinline void look_at_slabs(struct memstat_cache_cpu* cpu, __u64 offset) {
  struct kmem_cache_cpu* own = AT(kmem_cache_cpu, now.cpu_slab + offset);
  now.free = 0;
  now.steps = 0;
  now.at = number_of(own->slab);
  if (now.at != 0) {
    struct slab* slab = AT(slab, now.at);
    const __u64 objects = BPF_CORE_READ_BITFIELD(slab, objects);
    if (is_of_cache(slab)) {
      now.free = free_of(slab) + free_of_cpu(own, objects, cpu->cpu);
      ++now.steps;
    }
  }
  if (bpf_core_field_exists(struct kmem_cache_cpu, partial)) look_at_store(own);
  cpu->slabs = (__u32)now.steps;
  cpu->free = (__u32)now.free;
}

static __always_inline __u32 size_of(struct slab_sheaf* sheaf) { return number_of(sheaf) != 0 ? sheaf->size : 0; }

static __noinline void look_at_sheaves(struct memstat_cache_cpu* cpu, __u64 offset) {
  struct slub_percpu_sheaves* own = AT(slub_percpu_sheaves, now.cpu_sheaves + offset);
  cpu->in_sheaves = size_of(own->main) + size_of(own->spare) + size_of(own->rcu_free);
}

static long look_at_cpu(__u64 i, void* unused) {
  const __u32 key = (__u32)i;
  const __u64* offset = bpf_map_lookup_elem(&offset_of_cpu, &key);
  if (!offset) return 1;
  struct memstat_cache_cpu row = {.cpu = key};
  // Whether this kernel has a feature must be a constant here, so that the verifier removes the code that reads a missing
  // one.
  if (bpf_core_field_exists(struct kmem_cache, cpu_slab) && now.cpu_slab != 0) look_at_slabs(&row, *offset);
  if (bpf_core_field_exists(struct kmem_cache, cpu_sheaves) && now.cpu_sheaves != 0) look_at_sheaves(&row, *offset);
  if (row.slabs == 0 && row.in_sheaves == 0) return 0;
  record.cache.free.in_slabs += row.free;
  record.cache.free.in_sheaves += row.in_sheaves;
  const __u32 at = record.cache.cpu_count;
  if (at >= MEMSTAT_CACHE_CPUS) return 0;
  *(struct memstat_cache_cpu*)next_row(sizeof row) = row;
  record.cache.cpu_count = at + 1;
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

static __noinline __u64 slabs_of_cpus(struct kmem_cache* s) { return number_of(s->cpu_slab); }
static __noinline __u64 sheaves_of_cpus(struct kmem_cache* s) { return number_of(s->cpu_sheaves); }

enum { kSmallestPage = 4096 };
enum { kMaxWords = 8 };  // words; copying a name by words takes a third of the kernel's byte-by-byte time

static __always_inline int has_zero_byte(__u64 word) {
  return ((word - 0x0101010101010101) & ~word & 0x8080808080808080) != 0;
}

// Returns the name's size, rounded up to a word. No read may cross into the next page, which may be unmapped.
static __noinline __u32 copy_name(const char* name) {
  const __u64 address = number_of(name);
  if (address % kSmallestPage <= kSmallestPage - kMaxWords * 8) {
    for (__u32 i = 0; i < kMaxWords; ++i) {
      const __u64 word = word_at(address + 8 * i);
      ((__u64*)record.cache.name)[i] = word;
      if (has_zero_byte(word)) return 8 * (i + 1);
    }
  }
  const long length = bpf_probe_read_kernel_str(record.cache.name, sizeof record.cache.name, name);
  return length > 0 ? ((__u32)length + 7) & ~7U : 0;
}

enum { kOrderShift = 16 };  // mm/slub.c, OO_SHIFT

SEC("iter/kmem_cache")
int look_at_cache(struct bpf_iter__kmem_cache* context) {
  struct kmem_cache* s = context->s;
  if (!s) return 0;
  if (context->meta->seq_num == 0) bpf_loop(limits.cpu_count, note_offset, 0, 0);
  now.cache = number_of(s);
  now.number = context->meta->seq_num;
  now.offset = s->offset;
  now.cpu_slab = bpf_core_field_exists(struct kmem_cache, cpu_slab) ? slabs_of_cpus(s) : 0;
  now.cpu_sheaves = bpf_core_field_exists(struct kmem_cache, cpu_sheaves) ? sheaves_of_cpus(s) : 0;
  now.random = bpf_core_field_exists(struct kmem_cache, random) ? random_of(s) : 0;
  __builtin_memset(&record.cache, 0, __builtin_offsetof(struct memstat_cache, name));
  record.cache.size = s->size;
  record.cache.object_size = s->object_size;
  record.cache.order = s->oo.x >> kOrderShift;
  now.slab_bytes = (__u64)limits.page_size << (record.cache.order & 31);
  record.cache.name_size = copy_name(s->name);
  now.size = __builtin_offsetof(struct memstat_cache, name) + record.cache.name_size;
  bpf_loop(limits.node_count, look_at_node, 0, 0);
  if (record.cache.slabs != 0) bpf_loop(limits.cpu_count, look_at_cpu, 0, 0);
  // If the kernel's buffer is full, it calls the program again for this cache.
  bpf_seq_write(context->meta->seq, &record, (__u32)at_most(now.size, kMaxBytes));
  return 0;
}

char terms[] SEC("license") = "Dual BSD/GPL";
