// SPDX-License-Identifier: BSD-2-Clause
// The pages, slab caches and objects of a made-up kernel.
#include <algorithm>

#include "tests/support/fake_linux_dump.h"

namespace memstat {
namespace {

using postmortem::Machine;

constexpr std::uint64_t kRandom = 0x0123'4567'89ab'cdef;  // random value of every cache, for its lists of free objects
constexpr unsigned kNodesShift = 10;
constexpr std::uint64_t kPageBytes = 4096;
constexpr std::uint64_t kPageCount = kFakeMemoryBytes / kPageBytes;
constexpr std::uint64_t kSectionBytes = 16;  // size of a struct mem_section

// Offsets of members. Close to the real ones, but different, so that nothing can rely on the real ones.
constexpr std::uint64_t kCacheCpuSlab = 0, kCacheSheaves = 8, kCacheFlags = 16, kCacheSize = 24, kCacheObjectSize = 28,
                        kCacheUsed = 36, kCacheOffset = 40, kCacheCapacity = 44, kCacheOrder = 56, kCacheFewest = 60,
                        kCacheName = 96, kCacheList = 112, kCacheRandom = 184, kCacheNodes = 224;
constexpr std::uint64_t kNodePartialCount = 8, kNodePartial = 16, kNodeSlabs = 32, kNodeObjects = 40;
constexpr std::uint64_t kSlabFlags = 0, kSlabList = 8, kSlabCache = 24, kSlabFree = 32, kSlabUsed = 40, kSlabType = 48,
                        kSlabBytes = 64;
constexpr std::uint64_t kBarnFull = 12, kBarnList = 16, kSheafSize = 24, kSheafObjects = 32;
constexpr std::uint32_t kSheafCapacity = 32;
constexpr std::uint64_t kFlagOfSlabs = 9, kTypeOfSlabs = 0xf5;
constexpr std::uint64_t kTrackHandle = 8, kTrackFrames = 16, kTrackCpu = 144, kTrackPid = 148, kTrackWhen = 152;
constexpr std::uint64_t kJiffies = 0x1'0000'0000, kTickNs = 4'000'000, kTicksPerMinute = 15000;
constexpr std::uint64_t kClockBytes = 192, kClockMult = 24;
constexpr std::uint32_t kClockShift = 8;
constexpr std::uint64_t kStoreUserOld = 0x10000, kStoreUserBit = 7;
constexpr std::uint32_t kRecordAt = 3;  // in units of 16 bytes
constexpr std::uint64_t kRecordSize = 4, kRecordHandle = 8, kRecordFrames = 16;

std::uint32_t bit(std::uint64_t offset) { return static_cast<std::uint32_t>(offset * 8); }

/// The handle of the depot's only record: the pool, counted from 0 until Linux 6.8, and the offset in it.
std::uint32_t handle_of(SlabKernel slabs) { return kRecordAt << 17U | (slabs == SlabKernel::kSheaves ? 1U : 0U); }

}  // namespace

void FakeLinuxDump::make_slab_types(BtfBuilder& types) {
  const bool is_page = options_.slabs == SlabKernel::kPages;
  const std::uint32_t u32 = types.add_integer("unsigned int", 4);
  const std::uint32_t u64 = types.add_typedef("ulong", types.add_integer("unsigned long", 8));
  const std::uint32_t pointer = types.add_pointer(0);
  const std::uint32_t counter = types.add_struct("", 8, {{"counter", u64, 0}});
  const std::uint32_t list = types.add_struct("list_head", 16, {{"next", pointer, 0}, {"prev", pointer, 64}});
  const std::uint32_t order = types.add_struct("kmem_cache_order_objects", 4, {{"x", u32, 0}});
  std::vector<BtfBuilder::Member> cache = {{"size", u32, bit(kCacheSize)},     {"object_size", u32, bit(kCacheObjectSize)},
                                           {"offset", u32, bit(kCacheOffset)}, {"oo", order, bit(kCacheOrder)},
                                           {"name", pointer, bit(kCacheName)}, {"list", list, bit(kCacheList)},
                                           {"random", u64, bit(kCacheRandom)}, {"flags", u32, bit(kCacheFlags)},
                                           {"inuse", u32, bit(kCacheUsed)},    {"min", order, bit(kCacheFewest)}};
  const bool has_sheaves = options_.slabs == SlabKernel::kSheaves;
  if (has_sheaves) {
    const std::uint32_t node =
        types.add_struct("kmem_cache_per_node_ptrs", 16, {{"barn", pointer, 0}, {"node", pointer, 64}});
    cache.push_back({"per_node", types.add_array(node, 1U << kNodesShift), bit(kCacheNodes)});
    cache.push_back({"cpu_sheaves", pointer, bit(kCacheSheaves)});
    cache.push_back({"sheaf_capacity", u32, bit(kCacheCapacity)});
    types.add_struct("slub_percpu_sheaves", 32,
                     {{"main", pointer, 64}, {"spare", pointer, 128}, {"rcu_free", pointer, 192}});
    types.add_struct("slab_sheaf", 32,
                     {{"barn_list", list, 0},
                      {"size", u32, bit(kSheafSize)},
                      {"objects", types.add_array(pointer, 0), bit(kSheafObjects)}});
    types.add_struct("node_barn", 48, {{"nr_full", u32, bit(kBarnFull)}, {"sheaves_full", list, bit(kBarnList)}});
    types.add_enum("pagetype", {{"PGTY_slab", kTypeOfSlabs}});
    types.add_enum("_slab_flag_bits", {{"_SLAB_STORE_USER", kStoreUserBit}});
  } else {
    cache.push_back({"node", types.add_array(pointer, 1U << kNodesShift), bit(kCacheNodes)});
    cache.push_back({"cpu_slab", pointer, bit(kCacheCpuSlab)});
    types.add_struct("kmem_cache_cpu", 32,
                     {{"freelist", pointer, 0}, {is_page ? "page" : "slab", pointer, 128}, {"partial", pointer, 192}});
    types.add_enum("pageflags", {{"PG_slab", kFlagOfSlabs}});
  }
  types.add_struct("kmem_cache", 8416, cache);
  types.add_struct("kmem_cache_node", 64,
                   {{"nr_partial", u64, bit(kNodePartialCount)},
                    {"partial", list, bit(kNodePartial)},
                    {"nr_slabs", counter, bit(kNodeSlabs)},
                    {"total_objects", counter, bit(kNodeObjects)}});
  // As in the kernel: in anonymous unions and structs.
  const std::uint32_t used =
      types.add_struct("", 4, {{"inuse", u32, 0, 16}, {"objects", u32, 16, 15}, {"frozen", u32, 31, 1}});
  const std::uint32_t counters = types.add_union("", 8, {{"counters", u64, 0}, {"", used, 0}});
  const std::uint32_t single = types.add_struct("", 16, {{"next", pointer, 0}, {"slabs", u32, 64}});
  const std::uint32_t lists = types.add_union("", 16, {{"slab_list", list, 0}, {"", single, 0}});
  const std::vector<BtfBuilder::Member> slab = {
      {options_.slabs == SlabKernel::kSlabs ? "__page_flags" : "flags", u64, bit(kSlabFlags)},
      {"", lists, bit(kSlabList)},
      {"slab_cache", pointer, bit(kSlabCache)},
      {"freelist", pointer, bit(kSlabFree)},
      {"", counters, bit(kSlabUsed)}};
  types.add_struct(is_page ? "page" : "slab", kSlabBytes, slab);
  if (!is_page) {
    types.add_struct("page", kSlabBytes, {{"flags", u64, bit(kSlabFlags)}, {"page_type", u32, bit(kSlabType)}});
  }
  types.add_struct("mem_section", kSectionBytes, {{"section_mem_map", u64, 0}});
  make_owner_types(types);
}

void FakeLinuxDump::make_owner_types(BtfBuilder& types) {
  const std::uint32_t u32 = types.add_integer("int", 4);
  const std::uint32_t u64 = types.add_integer("long", 8);
  std::vector<BtfBuilder::Member> track = {
      {"addr", u64, 0}, {"cpu", u32, bit(kTrackCpu)}, {"pid", u32, bit(kTrackPid)}, {"when", u64, bit(kTrackWhen)}};
  if (options_.slabs == SlabKernel::kPages) {
    track.push_back({"addrs", types.add_array(u64, 16), bit(kTrackFrames)});
  } else {
    track.push_back({"handle", u32, bit(kTrackHandle)});
  }
  types.add_struct("track", 160, track);
  types.add_struct("clocksource", kClockBytes, {{"mult", u32, bit(kClockMult)}, {"shift", u32, bit(kClockMult + 4)}});
  const std::uint32_t parts =
      types.add_struct("", 4,
                       {{options_.slabs == SlabKernel::kSheaves ? "pool_index_plus_1" : "pool_index", u32, 0, 17},
                        {"offset", u32, 17, 10},
                        {"extra", u32, 27, 5}});
  const std::uint32_t handle = types.add_union("handle_parts", 4, {{"handle", u32, 0}, {"", parts, 0}});
  types.add_struct("stack_record", kRecordFrames,
                   {{"size", u32, bit(kRecordSize)},
                    {"handle", handle, bit(kRecordHandle)},
                    {"entries", types.add_array(u64, 0), bit(kRecordFrames)}});
}

/// One section, which is all of memory. Pages outside of it have no struct page.
void FakeLinuxDump::make_page_map() {
  page_map_ = allocate(kPageCount * kSlabBytes, kPageBytes);
  const std::uint64_t roots = allocate(8);
  const std::uint64_t root = allocate(kPageBytes, kPageBytes);
  constexpr std::uint64_t kSectionFlags = 7;  // marked present, has pages, is online
  put(roots, direct(root));
  put(root + kFakePhysical / kFakeMemoryBytes * kSectionBytes,
      (direct(page_map_) - kFakePhysical / kPageBytes * kSlabBytes) | kSectionFlags);
  addresses_["mem_section"] = direct(roots);
}

void FakeLinuxDump::make_depot() {
  add_variable("jiffies", raw_bytes(kJiffies));
  std::string clock(kClockBytes, '\0');
  clock.replace(kClockMult, 4, raw_bytes(static_cast<std::uint32_t>(kTickNs << kClockShift)));
  clock.replace(kClockMult + 4, 4, raw_bytes(kClockShift));
  addresses_["multiplier of jiffies"] = add_variable("clocksource_jiffies", clock) + kClockMult;
  const std::uint64_t pool = allocate(256, 16);
  const std::uint64_t record = pool + std::uint64_t{kRecordAt} * 16;
  put(record + kRecordSize, std::uint32_t{2});
  put(record + kRecordHandle, handle_of(options_.slabs));
  put(record + kRecordFrames, image(0x1808));
  put(record + kRecordFrames + 8, image(0x1810));
  addresses_["stack record"] = direct(record);
  const std::uint64_t table = allocate(16);
  put(table, direct(pool));
  // A variable that points to the table, as the newest kernels have it, or the table itself.
  if (options_.slabs == SlabKernel::kSheaves) {
    add_variable("stack_pools", raw_bytes(direct(table)));
  } else {
    add_variable("stack_pools", raw_bytes(direct(pool)));
  }
}

std::uint64_t FakeLinuxDump::make_slab(const FakeCache& cache, std::uint64_t cache_offset, const FakeSlab& slab,
                                       std::uint32_t node) {
  const std::uint64_t memory = allocate(kPageBytes << cache.order, kPageBytes);
  const std::uint64_t at = page_map_ + memory / kPageBytes * kSlabBytes;
  put(at + kSlabFlags, std::uint64_t{node} << (64 - kNodesShift) | std::uint64_t{1} << kFlagOfSlabs);
  put(at + kSlabCache, direct(cache_offset));
  put(at + kSlabUsed, slab.used | slab.objects << 16U);
  if (options_.slabs == SlabKernel::kSheaves) put(at + kSlabType, static_cast<std::uint32_t>(kTypeOfSlabs << 24U));
  std::vector<std::uint64_t> free;
  for (std::uint32_t i = 0; i < slab.objects; ++i) {
    const std::uint64_t object = memory + std::uint64_t{i} * cache.size;
    if (object + cache.size > memory + (kPageBytes << cache.order)) break;
    put(object, std::uint64_t{i});
    put(object + 8, direct(object));
    if (cache.has_owners) make_owner(cache, object, i);
    if (i >= slab.used) free.insert(free.begin(), object);
  }
  link_free(cache, at + kSlabFree, free);
  return at;
}

void FakeLinuxDump::make_owner(const FakeCache& cache, std::uint64_t object, std::uint32_t number) {
  const std::uint64_t track = object + cache.object_size;
  put(track, image(0x1808));
  put(track + kTrackCpu, number % 2);
  put(track + kTrackPid, 100 + number);
  put(track + kTrackWhen, kJiffies - number * kTicksPerMinute);
  if (options_.slabs == SlabKernel::kPages) {
    put(track + kTrackFrames, image(0x1808));
    put(track + kTrackFrames + 8, image(0x1810));
  } else {
    put(track + kTrackHandle, handle_of(options_.slabs));
  }
}

void FakeLinuxDump::link_free(const FakeCache& cache, std::uint64_t head, const std::vector<std::uint64_t>& objects) {
  std::uint64_t place = head;
  std::uint64_t mask = 0;  // the head is unchanged
  for (const std::uint64_t object : objects) {
    put(place, direct(object) ^ mask);
    place = object + cache.object_size / 2 / 8 * 8;
    mask = kRandom ^ __builtin_bswap64(direct(place));
  }
  put(place, mask);
}

std::uint64_t FakeLinuxDump::make_sheaf(std::uint32_t size) {
  const std::uint64_t sheaf = allocate(kSheafObjects + std::uint64_t{size} * 8);
  put(sheaf + kSheafSize, size);
  for (std::uint32_t i = 0; i < size && !full_objects_.empty(); ++i) {
    put(sheaf + kSheafObjects + i * 8, direct(full_objects_.back()));
    full_objects_.pop_back();
  }
  return sheaf;
}

void FakeLinuxDump::make_node(const FakeCache& cache, std::uint64_t cache_offset, std::uint32_t number) {
  const FakeCacheNode& node = cache.nodes[number];
  const bool has_sheaves = options_.slabs == SlabKernel::kSheaves;
  const std::uint64_t at = allocate(64);
  addresses_["node " + cache.name + " " + std::to_string(number)] = direct(at);
  put(at + kNodeSlabs, node.slabs);
  put(at + kNodeObjects, node.objects);
  put(at + kNodePartialCount, std::uint64_t{node.partial.size()});
  std::vector<std::uint64_t> partial;
  for (std::size_t i = 0; i < node.partial.size(); ++i) {
    const std::uint64_t slab = make_slab(cache, cache_offset, node.partial[i], number);
    addresses_["slab " + cache.name + " " + std::to_string(number) + " " + std::to_string(i)] = direct(slab);
    partial.push_back(direct(slab + kSlabList));
  }
  add_list(direct(at + kNodePartial), partial);
  std::uint64_t listed = node.partial.size();
  for (const FakeCacheCpu& cpu : cache.cpus) listed += number == 0 && !has_sheaves ? cpu.slabs.size() : 0;
  for (std::uint64_t i = listed; i < node.slabs; ++i) {
    const std::uint64_t slab = make_slab(cache, cache_offset, {cache.per_slab, cache.per_slab}, number);
    addresses_["full slab " + cache.name + " " + std::to_string(i - listed)] = direct(slab);
    const std::uint64_t memory = (slab - page_map_) / kSlabBytes * kPageBytes;
    for (std::uint32_t j = 0; j < cache.per_slab; ++j) full_objects_.push_back(memory + std::uint64_t{j} * cache.size);
  }
  if (!has_sheaves) {
    put(cache_offset + kCacheNodes + number * 8, direct(at));
    return;
  }
  const std::uint64_t barn = allocate(48);
  put(barn + kBarnFull, node.full_sheaves);
  std::vector<std::uint64_t> full;
  for (std::uint32_t i = 0; i < node.full_sheaves; ++i) full.push_back(direct(make_sheaf(kSheafCapacity)));
  add_list(direct(barn + kBarnList), full);
  addresses_["barn " + cache.name] = direct(barn);
  put(cache_offset + kCacheNodes + number * 16, direct(barn));
  put(cache_offset + kCacheNodes + number * 16 + 8, direct(at));
}

void FakeLinuxDump::make_cpu(const FakeCache& cache, std::uint64_t cache_offset, std::uint64_t per_cpu, std::size_t index) {
  const FakeCacheCpu& cpu = cache.cpus[index];
  const std::uint64_t at = per_cpu_area(index) + per_cpu;
  if (options_.slabs == SlabKernel::kSheaves) {
    for (std::size_t i = 0; i < cpu.sheaves.size(); ++i) put(at + 8 + i * 8, direct(make_sheaf(cpu.sheaves[i])));
    return;
  }
  std::uint64_t before = at + 24;  // partial
  std::vector<std::uint64_t> free;
  for (std::size_t i = 0; i < cpu.slabs.size(); ++i) {
    const std::uint64_t slab = make_slab(cache, cache_offset, cpu.slabs[i], 0);
    addresses_["CPU slab " + cache.name + " " + std::to_string(index) + " " + std::to_string(i)] = direct(slab);
    if (i != 0) {
      put(before, direct(slab));
      before = slab + kSlabList;
      continue;
    }
    put(at + 16, direct(slab));
    for (std::uint32_t j = 0; j < cpu.free_list; ++j) {
      free.push_back((slab - page_map_) / kSlabBytes * kPageBytes + std::uint64_t{j} * 2 * cache.size);
    }
  }
  link_free(cache, at, free);
}

void FakeLinuxDump::make_caches() {
  std::vector<std::uint64_t> caches;
  std::uint64_t per_cpu = 64;
  const bool has_sheaves = options_.slabs == SlabKernel::kSheaves;
  for (const FakeCache& cache : options_.caches) {
    const std::uint64_t at = allocate(kCacheNodes + options_.nodes * 16);
    addresses_["cache " + cache.name] = direct(at);
    put(at + kCacheSize, cache.size);
    put(at + kCacheObjectSize, cache.object_size);
    put(at + kCacheUsed, cache.object_size);
    put(at + kCacheOffset, cache.object_size / 2 / 8 * 8);
    put(at + kCacheOrder, cache.order << 16U | cache.per_slab);
    put(at + kCacheRandom, kRandom);
    put(at + kCacheCapacity, kSheafCapacity);
    const std::uint64_t owners = has_sheaves ? std::uint64_t{1} << kStoreUserBit : kStoreUserOld;
    put(at + kCacheFlags, static_cast<std::uint32_t>(cache.has_owners ? owners : 0));
    const std::uint64_t name = allocate(cache.name.size() + 1, 1);
    memory_.replace(static_cast<std::size_t>(name), cache.name.size(), cache.name);
    put(at + kCacheName, direct(name));
    full_objects_.clear();
    for (std::uint32_t node = 0; node < cache.nodes.size(); ++node) make_node(cache, at, node);
    if (!cache.cpus.empty()) {
      put(at + (has_sheaves ? kCacheSheaves : kCacheCpuSlab), per_cpu_base() + per_cpu);
      for (std::size_t cpu = 0; cpu < cache.cpus.size(); ++cpu) make_cpu(cache, at, per_cpu, cpu);
      per_cpu += 64;
    }
    caches.push_back(direct(at + kCacheList));
  }
  add_list(symbols_["slab_caches"], caches);
}

FakeKernelOptions small_kernel(SlabKernel slabs) {
  FakeKernelOptions options;
  options.slabs = slabs;
  FakeCache dentry{.name = "dentry", .object_size = 192, .size = 200, .per_slab = 20, .order = 0};
  dentry.nodes = {{.slabs = 10, .objects = 200, .partial = {{20, 5}, {20, 19}, {20, 1}}, .full_sheaves = 3}};
  FakeCache kmalloc{.name = "kmalloc-64", .object_size = 64, .size = 64, .per_slab = 64, .order = 0};
  kmalloc.nodes = {{.slabs = 4, .objects = 256, .partial = {}}};
  FakeCache empty{.name = "empty", .object_size = 1024, .size = 1152, .per_slab = 28, .order = 3};
  empty.nodes = {{}};
  if (slabs == SlabKernel::kSheaves) {
    dentry.cpus = {{.sheaves = {7, 32, 3}}, {.sheaves = {1, 0}}};
  } else {
    kmalloc.cpus = {{.slabs = {{64, 64}, {64, 60}, {64, 0}}, .free_list = 9}, {.slabs = {{64, 62}}, .free_list = 0}};
  }
  options.caches = {dentry, kmalloc, empty};
  return options;
}

FakeCache tracked_cache() {
  FakeCache cache{.name = "tracked", .object_size = 64, .size = 512, .per_slab = 8, .order = 0};
  cache.nodes = {{.slabs = 2, .objects = 16, .partial = {{8, 3}}}};
  cache.has_owners = true;
  return cache;
}

}  // namespace memstat
