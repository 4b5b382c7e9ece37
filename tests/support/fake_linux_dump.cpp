// SPDX-License-Identifier: BSD-2-Clause
#include "tests/support/fake_linux_dump.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/support/fixtures.h"

namespace memstat {
namespace {

using postmortem::Machine;
using postmortem::SymbolAddresses;

constexpr std::uint64_t kPhysical = 0x1000000;              // where memory begins
constexpr std::uint64_t kMemoryBytes = 2U << 20U;           // so that it is mapped by one large page, and by 512 small ones
constexpr std::uint64_t kX86Image = 0xffff'ffff'9100'0000;  // with KASLR: the kernel was linked for ...81000000
constexpr std::uint64_t kX86ImageMap = 0xffff'ffff'8000'0000;
constexpr std::uint64_t kX86Direct = 0xffff'8880'0000'0000;
constexpr std::uint64_t kX86DirectFive = 0xff11'0000'0000'0000;
constexpr std::uint64_t kArmImage = 0xffff'8000'0800'0000;
constexpr std::uint64_t kArmDirect = 0xffff'0000'0000'0000;
constexpr std::uint64_t kRandom = 0x0123'4567'89ab'cdef;  // of every cache, for its lists of free objects
constexpr unsigned kNodesShift = 10;

// Where members lie. Close to the real ones, but not the same: nothing may rely on those.
constexpr std::uint64_t kCacheCpuSlab = 0, kCacheSheaves = 8, kCacheSize = 24, kCacheObjectSize = 28, kCacheOffset = 40,
                        kCacheCapacity = 44, kCacheOrder = 56, kCacheName = 96, kCacheList = 112, kCacheRandom = 184,
                        kCacheNodes = 224;
constexpr std::uint64_t kNodePartialCount = 8, kNodePartial = 16, kNodeSlabs = 32, kNodeObjects = 40;
constexpr std::uint64_t kSlabFlags = 0, kSlabList = 8, kSlabCache = 24, kSlabUsed = 40, kSlabBytes = 64;
constexpr std::uint64_t kBarnFull = 12, kSheafSize = 24;

std::string hex_of(std::uint64_t number) {
  char text[32];
  std::snprintf(text, sizeof text, "%llx", static_cast<unsigned long long>(number));
  return text;
}

}  // namespace

FakeLinuxDump::FakeLinuxDump(FakeKernelOptions options) : options_(std::move(options)) {
  memory_.assign(kMemoryBytes, '\0');
  memory_.resize(0x1000);  // so that no offset of what is allocated is 0
  make_page_tables();
  make_types();
  make_variables();
  make_caches();
  if (options_.has_memory) make_memory();
  make_symbols();
  make_info();
  memory_.resize(kMemoryBytes);
}

std::uint64_t FakeLinuxDump::allocate(std::uint64_t size, std::uint64_t alignment) {
  const std::uint64_t at = (memory_.size() + alignment - 1) / alignment * alignment;
  if (at + size > kMemoryBytes) {
    std::fprintf(stderr, "the fake kernel does not fit its memory\n");
    std::abort();
  }
  memory_.resize(static_cast<std::size_t>(at + size));
  return at;
}

std::uint64_t FakeLinuxDump::add_table(const std::string& name, std::string_view bytes) {
  const std::uint64_t at = allocate(bytes.size());
  memory_.replace(static_cast<std::size_t>(at), bytes.size(), bytes);
  tables_[name] = {.offset = at, .size = bytes.size()};
  return at;
}

std::uint64_t FakeLinuxDump::direct(std::uint64_t offset) const {
  const std::uint64_t base = options_.machine == Machine::kArm64 ? kArmDirect
                             : options_.has_five_levels          ? kX86DirectFive
                                                                 : kX86Direct;
  return base + kPhysical + offset;
}

std::uint64_t FakeLinuxDump::image(std::uint64_t offset) const {
  return (options_.machine == Machine::kArm64 ? kArmImage : kX86Image) + offset;
}

std::uint64_t FakeLinuxDump::add_variable(const std::string& name, std::string_view bytes) {
  const std::uint64_t at = allocate(bytes.size());
  memory_.replace(static_cast<std::size_t>(at), bytes.size(), bytes);
  return symbols_[name] = image(at);
}

void FakeLinuxDump::map_page(std::uint64_t address, std::uint64_t physical, unsigned level) {
  const bool is_arm64 = options_.machine == Machine::kArm64;
  std::uint64_t table = root_;
  for (unsigned at = options_.has_five_levels ? 5 : 4; at > level; --at) {
    const std::uint64_t entry = table + (address >> (12 + 9 * (at - 1)) & 511U) * 8;
    std::uint64_t next = 0;
    std::memcpy(&next, memory_.data() + entry, sizeof next);
    if (next == 0) {
      const std::uint64_t made = allocate(4096, 4096);
      next = kPhysical + made + 3;  // x86: present and writable; arm64: a table
      put(entry, next);
    }
    table = (next & ~std::uint64_t{0xfff}) - kPhysical;
  }
  const std::uint64_t kind = is_arm64 ? (level == 1 ? 3U : 1U) : (level == 1 ? 0x63U : 0xe3U);
  const std::uint64_t no_execute = is_arm64 ? std::uint64_t{1} << 54U : std::uint64_t{1} << 63U;
  put(table + (address >> (12 + 9 * (level - 1)) & 511U) * 8, physical | kind | no_execute);
}

void FakeLinuxDump::make_page_tables() {
  root_ = allocate(4096, 4096);
  map_page(direct(0) - kPhysical, 0, 3);  // a page of 1 GiB
  for (std::uint64_t offset = 0; offset < kMemoryBytes; offset += 4096) map_page(image(offset), kPhysical + offset, 1);
  map_page(image(kMemoryBytes), kPhysical, 2);  // the same memory again, by a page of 2 MiB
}

void FakeLinuxDump::make_types() {
  BtfBuilder types;
  const auto bits = [](std::uint64_t offset) { return static_cast<std::uint32_t>(offset * 8); };
  const std::uint32_t u32 = types.add_integer("unsigned int", 4);
  const std::uint32_t u64 = types.add_typedef("ulong", types.add_integer("unsigned long", 8));
  const std::uint32_t pointer = types.add_pointer(0);
  const std::uint32_t counter = types.add_struct("", 8, {{"counter", u64, 0}});
  const std::uint32_t list = types.add_struct("list_head", 16, {{"next", pointer, 0}, {"prev", pointer, 64}});
  const std::uint32_t order = types.add_struct("kmem_cache_order_objects", 4, {{"x", u32, 0}});
  std::vector<BtfBuilder::Member> cache = {{"size", u32, bits(kCacheSize)},     {"object_size", u32, bits(kCacheObjectSize)},
                                           {"offset", u32, bits(kCacheOffset)}, {"oo", order, bits(kCacheOrder)},
                                           {"name", pointer, bits(kCacheName)}, {"list", list, bits(kCacheList)},
                                           {"random", u64, bits(kCacheRandom)}};
  const bool has_sheaves = options_.slabs == SlabKernel::kSheaves;
  if (has_sheaves) {
    const std::uint32_t node =
        types.add_struct("kmem_cache_per_node_ptrs", 16, {{"barn", pointer, 0}, {"node", pointer, 64}});
    cache.push_back({"per_node", types.add_array(node, 1U << kNodesShift), bits(kCacheNodes)});
    cache.push_back({"cpu_sheaves", pointer, bits(kCacheSheaves)});
    cache.push_back({"sheaf_capacity", u32, bits(kCacheCapacity)});
    types.add_struct("slub_percpu_sheaves", 32,
                     {{"main", pointer, 64}, {"spare", pointer, 128}, {"rcu_free", pointer, 192}});
    types.add_struct("slab_sheaf", 32, {{"size", u32, bits(kSheafSize)}});
    types.add_struct("node_barn", 48, {{"nr_full", u32, bits(kBarnFull)}});
  } else {
    cache.push_back({"node", types.add_array(pointer, 1U << kNodesShift), bits(kCacheNodes)});
    cache.push_back({"cpu_slab", pointer, bits(kCacheCpuSlab)});
    types.add_struct("kmem_cache_cpu", 32,
                     {{"freelist", pointer, 0},
                      {options_.slabs == SlabKernel::kPages ? "page" : "slab", pointer, 128},
                      {"partial", pointer, 192}});
  }
  types.add_struct("kmem_cache", 8416, cache);
  types.add_struct("kmem_cache_node", 64,
                   {{"nr_partial", u64, bits(kNodePartialCount)},
                    {"partial", list, bits(kNodePartial)},
                    {"nr_slabs", counter, bits(kNodeSlabs)},
                    {"total_objects", counter, bits(kNodeObjects)}});
  // As in the kernel: in unions and structs without names.
  const std::uint32_t used =
      types.add_struct("", 4, {{"inuse", u32, 0, 16}, {"objects", u32, 16, 15}, {"frozen", u32, 31, 1}});
  const std::uint32_t counters = types.add_union("", 8, {{"counters", u64, 0}, {"", used, 0}});
  const std::uint32_t single = types.add_struct("", 16, {{"next", pointer, 0}, {"slabs", u32, 64}});
  const std::uint32_t lists = types.add_union("", 16, {{"slab_list", list, 0}, {"", single, 0}});
  const std::vector<BtfBuilder::Member> slab = {
      {options_.slabs == SlabKernel::kSlabs ? "__page_flags" : "flags", u64, bits(kSlabFlags)},
      {"", lists, bits(kSlabList)},
      {"slab_cache", pointer, bits(kSlabCache)},
      {"", counters, bits(kSlabUsed)}};
  types.add_struct(options_.slabs == SlabKernel::kPages ? "page" : "slab", kSlabBytes, slab);
  if (options_.has_memory) make_memory_types(types);
  types.add_enum("zone_stat_item", {{"NR_FREE_PAGES", 0}, {"NR_MLOCK", 7}});
  const std::string bytes = types.bytes();
  const std::uint64_t at = add_table("btf", bytes);
  symbols_["__start_BTF"] = image(at);
  symbols_["__stop_BTF"] = image(at + bytes.size());
}

void FakeLinuxDump::make_variables() {
  symbols_["_stext"] = image(0x1000);
  add_variable("nr_node_ids", raw_bytes(options_.nodes));
  add_variable("nr_cpu_ids", raw_bytes(options_.cpus.back() + 1));
  std::string present(8, '\0');
  std::string offsets((options_.cpus.back() + 1) * 8, '\0');
  for (const std::uint32_t cpu : options_.cpus) {
    present[cpu / 8] = static_cast<char>(present[cpu / 8] | 1 << cpu % 8);
    // A per-CPU variable has a small address, to which this is added.
    const std::string offset = raw_bytes(direct(allocate(8192, 4096)) - per_cpu_base());
    offsets.replace(cpu * 8, 8, offset);
  }
  add_variable("__cpu_present_mask", present);
  add_variable("__per_cpu_offset", offsets);
  add_variable("slab_caches", std::string(16, '\0'));
}

std::uint64_t FakeLinuxDump::make_slab(std::uint64_t cache, const FakeSlab& slab, std::uint32_t node) {
  const std::uint64_t at = allocate(kSlabBytes);
  put(at + kSlabFlags, std::uint64_t{node} << (64 - kNodesShift) | 0x200U);
  put(at + kSlabCache, direct(cache));
  put(at + kSlabUsed, slab.used | slab.objects << 16U);
  return at;
}

void FakeLinuxDump::make_node(const FakeCache& cache, std::uint64_t cache_offset, std::uint32_t number) {
  const FakeCacheNode& node = cache.nodes[number];
  const std::uint64_t at = allocate(64);
  addresses_["node " + cache.name + " " + std::to_string(number)] = direct(at);
  put(at + kNodeSlabs, node.slabs);
  put(at + kNodeObjects, node.objects);
  put(at + kNodePartialCount, std::uint64_t{node.partial.size()});
  std::uint64_t before = at + kNodePartial;
  for (std::size_t i = 0; i < node.partial.size(); ++i) {
    const std::uint64_t slab = make_slab(cache_offset, node.partial[i], number);
    addresses_["slab " + cache.name + " " + std::to_string(number) + " " + std::to_string(i)] = direct(slab);
    put(before, direct(slab + kSlabList));
    put(slab + kSlabList + 8, direct(before));
    before = slab + kSlabList;
  }
  put(before, direct(at + kNodePartial));
  put(at + kNodePartial + 8, direct(before));
  if (options_.slabs != SlabKernel::kSheaves) {
    put(cache_offset + kCacheNodes + number * 8, direct(at));
    return;
  }
  const std::uint64_t barn = allocate(48);
  put(barn + kBarnFull, node.full_sheaves);
  put(cache_offset + kCacheNodes + number * 16, direct(barn));
  put(cache_offset + kCacheNodes + number * 16 + 8, direct(at));
}

void FakeLinuxDump::make_cpu(const FakeCache& cache, std::uint64_t cache_offset, std::uint64_t per_cpu, std::size_t index) {
  const FakeCacheCpu& cpu = cache.cpus[index];
  const std::uint64_t at = per_cpu_area(index) + per_cpu;
  if (options_.slabs == SlabKernel::kSheaves) {
    for (std::size_t i = 0; i < cpu.sheaves.size(); ++i) {
      const std::uint64_t sheaf = allocate(32);
      put(sheaf + kSheafSize, cpu.sheaves[i]);
      put(at + 8 + i * 8, direct(sheaf));
    }
    return;
  }
  std::uint64_t before = at + 24;  // partial
  for (std::size_t i = 0; i < cpu.slabs.size(); ++i) {
    const std::uint64_t slab = make_slab(cache_offset, cpu.slabs[i], 0);
    if (i == 0) {
      put(at + 16, direct(slab));
    } else {
      put(before, direct(slab));
      before = slab + kSlabList;
    }
  }
  std::uint64_t place = at;  // where the address of the next free object is written
  std::uint64_t mask = 0;
  for (std::uint32_t i = 0; i < cpu.free_list; ++i) {
    const std::uint64_t object = allocate(cache.size);
    put(place, direct(object) ^ mask);
    place = object + cache.object_size / 2 / 8 * 8;
    mask = kRandom ^ __builtin_bswap64(direct(place));
  }
  if (cpu.free_list != 0) put(place, mask);
}

void FakeLinuxDump::make_caches() {
  std::uint64_t before = symbols_["slab_caches"];
  const auto write = [&](std::uint64_t address, std::uint64_t value) { poke(address, value); };
  std::uint64_t per_cpu = 64;
  for (const FakeCache& cache : options_.caches) {
    const std::uint64_t at = allocate(kCacheNodes + options_.nodes * 16);
    addresses_["cache " + cache.name] = direct(at);
    put(at + kCacheSize, cache.size);
    put(at + kCacheObjectSize, cache.object_size);
    put(at + kCacheOffset, cache.object_size / 2 / 8 * 8);
    put(at + kCacheOrder, cache.order << 16U | cache.per_slab);
    put(at + kCacheRandom, kRandom);
    put(at + kCacheCapacity, std::uint32_t{32});
    const std::uint64_t name = allocate(cache.name.size() + 1, 1);
    memory_.replace(static_cast<std::size_t>(name), cache.name.size(), cache.name);
    put(at + kCacheName, direct(name));
    for (std::uint32_t node = 0; node < cache.nodes.size(); ++node) make_node(cache, at, node);
    if (!cache.cpus.empty()) {
      put(at + (options_.slabs == SlabKernel::kSheaves ? kCacheSheaves : kCacheCpuSlab), per_cpu_base() + per_cpu);
      for (std::size_t cpu = 0; cpu < cache.cpus.size(); ++cpu) make_cpu(cache, at, per_cpu, cpu);
      per_cpu += 64;
    }
    const std::uint64_t entry = direct(at + kCacheList);
    write(before, entry);
    write(entry + 8, before);
    before = entry;
  }
  write(before, symbols_["slab_caches"]);
  write(symbols_["slab_caches"] + 8, before);
}

void FakeLinuxDump::make_symbols() {
  // A token for each letter, and two that stand for more, as real tables have them.
  std::string tokens;
  std::string index;
  for (unsigned token = 0; token < 256; ++token) {
    index += raw_bytes(static_cast<std::uint16_t>(tokens.size()));
    if (token == 1) tokens += "slab_";
    if (token == 2) tokens += "__";
    if (token > 32 && token < 127) tokens += static_cast<char>(token);
    tokens += '\0';
  }
  std::vector<std::pair<std::string, std::uint64_t>> symbols(symbols_.begin(), symbols_.end());
  symbols.emplace_back(std::string(200, 'x'), image(0x2000));  // longer than one byte of length says
  std::sort(symbols.begin(), symbols.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  std::string names;
  for (const auto& [name, address] : symbols) {
    std::string coded = "D";
    for (std::size_t i = 0; i < name.size();) {
      const std::string_view rest = std::string_view(name).substr(i);
      const bool is_slab = rest.starts_with("slab_");
      const bool is_double = rest.starts_with("__");
      coded += is_slab ? '\1' : is_double ? '\2' : name[i];
      i += is_slab ? 5 : is_double ? 2 : 1;
    }
    if (coded.size() >= 128) names += static_cast<char>(0x80U | (coded.size() & 0x7fU));
    names += static_cast<char>(coded.size() >= 128 ? coded.size() >> 7U : coded.size());
    names += coded;
  }
  // Published names of tables are those of VMCOREINFO.
  add_table("kallsyms_names", names);
  add_table("kallsyms_num_syms", raw_bytes(static_cast<std::uint32_t>(symbols.size())));
  add_table("kallsyms_token_table", tokens);
  add_table("kallsyms_token_index", index);
  add_table("kallsyms_relative_base", raw_bytes(image(0)));
  const std::uint64_t offsets = add_table("kallsyms_offsets", std::string(symbols.size() * 4, '\0'));
  for (std::size_t i = 0; i < symbols.size(); ++i) {
    const std::uint64_t address = symbols[i].second;
    const std::uint64_t place = offsets + i * 4;
    std::uint64_t number = address - image(0);
    if (options_.addresses == SymbolAddresses::kPerCpuAbsolute) {
      number = address < kPhysical ? address : image(0) - 1 - address;  // a variable of each CPU is small
    }
    if (options_.addresses == SymbolAddresses::kPlace) number = address - image(place);
    put(place, static_cast<std::uint32_t>(number));
  }
  if (options_.hides_symbols) hide_symbols();
}

void FakeLinuxDump::hide_symbols() {
  const auto padded = [](std::string bytes) { return bytes.append((8 - bytes.size() % 8) % 8, '\0'); };
  const std::string names = table("kallsyms_names");
  std::string markers;
  std::uint32_t symbol = 0;
  for (std::size_t at = 0; at < names.size(); ++symbol) {
    if (symbol % 256 == 0) markers += raw_bytes(static_cast<std::uint32_t>(at));
    std::size_t length = static_cast<unsigned char>(names[at++]);
    if ((length & 0x80U) != 0) length = (length & 0x7fU) | std::size_t{static_cast<unsigned char>(names[at++])} << 7U;
    at += length;
  }
  std::string bytes;
  for (const std::string& part : {table("kallsyms_offsets"), table("kallsyms_relative_base"), table("kallsyms_num_syms"),
                                  names, markers, table("kallsyms_token_table"), table("kallsyms_token_index")}) {
    bytes += padded(part);
  }
  for (const char* hidden : {"kallsyms_names", "kallsyms_num_syms", "kallsyms_token_table", "kallsyms_token_index",
                             "kallsyms_offsets", "kallsyms_relative_base"}) {
    const Range& range = tables_.at(hidden);
    memory_.replace(static_cast<std::size_t>(range.offset), static_cast<std::size_t>(range.size),
                    std::string(static_cast<std::size_t>(range.size), '\0'));
  }
  add_table("kallsyms", bytes);
}

void FakeLinuxDump::make_info() {
  std::vector<std::string> lines = {"OSRELEASE=6.1.0-fake", "PAGESIZE=4096", "SYMBOL(_stext)=" + hex_of(symbols_["_stext"])};
  for (const char* table : {"kallsyms_names", "kallsyms_num_syms", "kallsyms_token_table", "kallsyms_token_index",
                            "kallsyms_offsets", "kallsyms_relative_base"}) {
    if (options_.hides_symbols) break;
    if (options_.addresses == SymbolAddresses::kPlace && table == std::string_view("kallsyms_relative_base")) continue;
    lines.push_back("SYMBOL(" + std::string(table) + ")=" + hex_of(image(tables_[table].offset)));
  }
  lines.push_back("SYMBOL(swapper_pg_dir)=" + hex_of(image(root_)));
  if (options_.machine == Machine::kArm64) {
    lines.push_back("NUMBER(kimage_voffset)=0x" + hex_of(image(0) - kPhysical));
    lines.push_back("NUMBER(VA_BITS)=48");
    lines.push_back("NUMBER(TCR_EL1_T1SZ)=0x10");
  } else {
    const auto base = static_cast<std::int64_t>(kPhysical - (kX86Image - kX86ImageMap));
    lines.push_back("NUMBER(phys_base)=" + std::to_string(base));
    lines.push_back("NUMBER(pgtable_l5_enabled)=" + std::to_string(options_.has_five_levels ? 1 : 0));
  }
  lines.push_back("CRASHTIME=1763650800");
  for (const std::string& line : lines) {
    if (options_.without.empty() || line.find(options_.without) == std::string::npos) info_ += line + "\n";
  }
  info_ += options_.extra_info;
}

std::string FakeLinuxDump::headers(std::uint64_t empty_bytes) const {
  const auto padded = [](std::string text) { return text.append((4 - text.size() % 4) % 4, '\0'); };
  std::string notes = raw_bytes(std::uint32_t{5}) + raw_bytes(std::uint32_t{4}) + raw_bytes(std::uint32_t{1}) +
                      padded(std::string("CORE\0", 5)) + "regs";
  notes += raw_bytes(std::uint32_t{11}) + raw_bytes(static_cast<std::uint32_t>(info_.size())) + raw_bytes(std::uint32_t{0});
  notes += padded(std::string("VMCOREINFO\0", 11)) + padded(info_);
  const std::uint64_t load_offset = 0x4000;
  if (notes.size() > load_offset - 0x1000) std::abort();
  const std::uint16_t count = empty_bytes == 0 ? 2 : 3;
  std::string file("\177ELF\2\1\1", 7);
  file.resize(16);
  file += raw_bytes(std::uint16_t{4}) + raw_bytes(std::uint16_t(options_.machine == Machine::kX86 ? 62 : 183)) +
          raw_bytes(std::uint32_t{1});
  file += raw_bytes(std::uint64_t{0}) + raw_bytes(std::uint64_t{64}) + raw_bytes(std::uint64_t{0}) +
          raw_bytes(std::uint32_t{0}) + raw_bytes(std::uint16_t{64});
  file += raw_bytes(std::uint16_t{56}) + raw_bytes(count) + raw_bytes(std::uint16_t{64}) + raw_bytes(std::uint16_t{0}) +
          raw_bytes(std::uint16_t{0});
  const auto program = [&](std::uint32_t type, std::uint64_t offset, std::uint64_t address, std::uint64_t size) {
    file += raw_bytes(type) + raw_bytes(std::uint32_t{7}) + raw_bytes(offset) + raw_bytes(std::uint64_t{0}) +
            raw_bytes(address) + raw_bytes(size) + raw_bytes(size);
    file += raw_bytes(std::uint64_t{0});
  };
  program(4, 0x1000, 0, notes.size());
  if (empty_bytes != 0) program(1, load_offset + memory_.size(), kPhysical + (std::uint64_t{1} << 30U), empty_bytes);
  program(1, load_offset, kPhysical, memory_.size());
  file.resize(0x1000);
  file += notes;
  file.resize(load_offset);
  return file;
}

std::string FakeLinuxDump::elf() const { return headers(0) + memory_; }

void FakeLinuxDump::write_sparse(const std::string& path, std::uint64_t empty_bytes) const {
  write_text(path, headers(empty_bytes) + memory_);
  if (::truncate(path.c_str(), static_cast<off_t>(0x4000 + memory_.size() + empty_bytes)) != 0) {
    std::perror(path.c_str());
    std::abort();
  }
}

std::string FakeLinuxDump::table(const std::string& name) const {
  const Range& range = tables_.at(name);
  return memory_.substr(static_cast<std::size_t>(range.offset), static_cast<std::size_t>(range.size));
}

std::uint64_t FakeLinuxDump::address(const std::string& what) const {
  const auto found = addresses_.find(what);
  return found != addresses_.end() ? found->second : symbols_.at(what);
}

void FakeLinuxDump::poke(std::uint64_t address, std::uint64_t value) {
  const bool is_image = address >= image(0) && address - image(0) < kMemoryBytes;
  put(address - (is_image ? image(0) : direct(0)), value);
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

}  // namespace memstat
