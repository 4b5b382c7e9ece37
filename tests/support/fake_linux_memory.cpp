// SPDX-License-Identifier: BSD-2-Clause
// The zones, counters, areas and modules of a made-up kernel.
#include <array>
#include <cstring>
#include <string>
#include <tuple>
#include <vector>

#include "tests/support/fake_linux_dump.h"

namespace memstat {
namespace {

constexpr std::array kZoneCounters = {"nr_free_pages", "nr_bounce", "nr_zspages", "nr_free_cma"};
constexpr std::array kNumaCounters = {"numa_hit", "numa_miss"};
constexpr std::array kNodeCounters = {
    "nr_inactive_anon",    "nr_active_anon",        "nr_inactive_file", "nr_active_file",         "nr_unevictable",
    "nr_slab_reclaimable", "nr_slab_unreclaimable", "nr_anon_pages",    "nr_file_pages",          "nr_shmem",
    "nr_kernel_stack",     "nr_page_table_pages",   "nr_swapcached",    "nr_sec_page_table_pages"};
constexpr std::array<std::uint64_t, kNodeCounters.size()> kNodeValues = {100, 900,  500, 600, 5,  700, 300,
                                                                         800, 1500, 40,  640, 70, 10,  3};
constexpr std::array kOtherCounters = {"nr_dirty_threshold", "nr_memmap_pages"};
constexpr std::array kEvents = {"pgpgin",        "pgalloc_dma",   "pgalloc_normal", "pgfree",
                                "compact_stall", "pgscan_kswapd", "pgsteal_kswapd", "oom_kill"};

struct FakeZone {
  const char* name;
  std::uint64_t present;
  std::uint64_t managed;
  std::uint64_t free;
};
constexpr std::array<FakeZone, 3> kZones = {
    {{"DMA", 3900, 3000, 1000}, {"Normal", 110000, 100000, 40000}, {"Movable", 0, 0, 0}}};

// Offsets of members.
constexpr std::uint64_t kZoneBytes = 1664, kMarks = 0, kBoost = 32, kReserve = 40, kSets = 64, kStats = 72, kStart = 80,
                        kManaged = 88, kSpanned = 96, kPresent = 104, kName = 112, kFree = 128, kFreeBytes = 104,
                        kFreeCount = 96, kCounts = 1280, kNuma = 1400, kNodeCounts = kZones.size() * kZoneBytes + 64;
constexpr std::uint64_t kOrders = 11;
constexpr std::uint64_t kAreaList = 40, kAreaOf = 56, kAreaFlags = 64, kAreaBytes = 72;
constexpr std::uint64_t kInodes = 1288, kInodeMapping = 48, kInodeList = 272, kMappingPages = 88;
constexpr std::uint64_t kHugeOrder = 40, kHugePages = 64, kHugeBytes = 128;
constexpr std::uint64_t kModuleList = 8, kModuleName = 24, kModuleMemory = 320, kModuleTable = 600, kModuleBytes = 640;
// The CPU's own values, after its slabs.
constexpr std::uint64_t kCpuEvents = 4096, kCpuSets = 4608, kCpuStats = 5120;

std::uint32_t bits(std::uint64_t offset) { return static_cast<std::uint32_t>(offset * 8); }

}  // namespace

void FakeLinuxDump::make_memory_types(BtfBuilder& types) {
  const std::uint32_t u32 = types.add_integer("int", 4);
  const std::uint32_t u64 = types.add_integer("long", 8);
  const std::uint32_t pointer = types.add_pointer(0);
  const std::uint32_t counter = types.add_typedef("atomic_long_t", types.add_struct("", 8, {{"counter", u64, 0}}));
  const std::uint32_t list = types.add_struct("list_head", 16, {{"next", pointer, 0}, {"prev", pointer, 64}});
  const auto length = [](const auto& names) { return static_cast<std::uint32_t>(names.size()); };
  const std::uint32_t free = types.add_struct("free_area", kFreeBytes, {{"nr_free", u64, bits(kFreeCount)}});
  const std::uint32_t zone =
      types.add_struct("zone", kZoneBytes,
                       {{"_watermark", types.add_array(u64, 4), bits(kMarks)},
                        {"watermark_boost", u64, bits(kBoost)},
                        {"lowmem_reserve", types.add_array(u64, 3), bits(kReserve)},
                        {"per_cpu_pageset", pointer, bits(kSets)},
                        {"per_cpu_zonestats", pointer, bits(kStats)},
                        {"zone_start_pfn", u64, bits(kStart)},
                        {"managed_pages", counter, bits(kManaged)},
                        {"spanned_pages", u64, bits(kSpanned)},
                        {"present_pages", u64, bits(kPresent)},
                        {"name", pointer, bits(kName)},
                        {"free_area", types.add_array(free, kOrders), bits(kFree)},
                        {"vm_stat", types.add_array(counter, length(kZoneCounters)), bits(kCounts)},
                        {"vm_numa_event", types.add_array(counter, length(kNumaCounters)), bits(kNuma)}});
  types.add_struct("pglist_data", static_cast<std::uint32_t>(kNodeCounts + kNodeCounters.size() * 8),
                   {{"node_zones", types.add_array(zone, length(kZones)), 0},
                    {"vm_stat", types.add_array(counter, length(kNodeCounters)), bits(kNodeCounts)}});
  types.add_struct("per_cpu_pages", 64, {{"count", u32, 32}});
  types.add_struct("per_cpu_zonestat", 64, {{"vm_numa_event", types.add_array(u64, length(kNumaCounters)), 128}});
  types.add_struct("vm_event_state", kEvents.size() * 8, {{"event", types.add_array(u64, length(kEvents)), 0}});
  const std::uint32_t area = types.add_struct("vmap_area", kAreaBytes,
                                              {{"va_start", u64, 0},
                                               {"va_end", u64, 64},
                                               {"list", list, bits(kAreaList)},
                                               {"vm", pointer, bits(kAreaOf)},
                                               {"flags", u64, bits(kAreaFlags)}});
  static_cast<void>(area);
  types.add_struct("vm_struct", 64,
                   {{"size", u64, bits(16)},
                    {"flags", u64, bits(24)},
                    {"pages", pointer, bits(32)},
                    {"nr_pages", u32, bits(44)},
                    {"phys_addr", u64, bits(48)},
                    {"caller", pointer, bits(56)}});
  const std::uint32_t areas = types.add_struct("rb_list", 32, {{"root", pointer, 0}, {"head", list, 64}});
  types.add_struct("vmap_node", 128, {{"busy", areas, bits(32)}, {"lazy", areas, bits(64)}});
  types.add_struct("super_block", 1400, {{"s_inodes", list, bits(kInodes)}});
  types.add_struct("inode", 600, {{"i_mapping", pointer, bits(kInodeMapping)}, {"i_sb_list", list, bits(kInodeList)}});
  types.add_struct("address_space", 192, {{"nrpages", u64, bits(kMappingPages)}});
  types.add_struct("hstate", kHugeBytes, {{"order", u32, bits(kHugeOrder)}, {"nr_huge_pages", u64, bits(kHugePages)}});
  const std::uint32_t memory = types.add_struct("module_memory", 72, {{"base", pointer, 0}, {"size", u32, 64}});
  types.add_struct("mod_kallsyms", 32, {{"symtab", pointer, 0}, {"num_symtab", u32, 64}, {"strtab", pointer, 128}});
  types.add_struct("module", kModuleBytes,
                   {{"list", list, bits(kModuleList)},
                    {"name", types.add_array(types.add_integer("char", 1), 56), bits(kModuleName)},
                    {"mem", types.add_array(memory, 2), bits(kModuleMemory)},
                    {"kallsyms", pointer, bits(kModuleTable)}});
}

std::uint64_t FakeLinuxDump::per_cpu_base() const {
  return options_.addresses == postmortem::SymbolAddresses::kPerCpuAbsolute ? 0 : image(0x100000);
}

std::uint64_t FakeLinuxDump::per_cpu_area(std::size_t index) const {
  std::uint64_t offset = 0;
  std::memcpy(&offset, memory_.data() + (symbols_.at("__per_cpu_offset") - image(0)) + options_.cpus[index] * 8,
              sizeof offset);
  return offset + per_cpu_base() - direct(0);
}

std::uint64_t FakeLinuxDump::add_text(std::string_view text) {
  const std::uint64_t at = allocate(text.size() + 1, 8);
  memory_.replace(static_cast<std::size_t>(at), text.size(), text);
  return direct(at);
}

void FakeLinuxDump::add_list(std::uint64_t head, const std::vector<std::uint64_t>& entries) {
  std::uint64_t before = head;
  for (const std::uint64_t entry : entries) {
    poke(before, entry);
    poke(entry + 8, before);
    before = entry;
  }
  poke(before, head);
  poke(head + 8, before);
}

void FakeLinuxDump::make_memory() {
  symbols_["alloc_things"] = image(0x1800);
  symbols_["_end"] = image(0x1ff000);
  make_counters();
  make_zones();
  make_module();
  make_areas();

  add_variable("_totalram_pages", raw_bytes(std::uint64_t{103000}));
  add_variable("nr_vmalloc_pages", raw_bytes(std::uint64_t{5}));
  add_variable("pcpu_nr_units", raw_bytes(std::uint32_t{2}));
  add_variable("pcpu_nr_populated", raw_bytes(std::uint64_t{60}));
  add_variable("totalcma_pages", raw_bytes(std::uint64_t{0}));
  std::string huge(2 * kHugeBytes, '\0');
  huge.replace(kHugeOrder, 4, raw_bytes(std::uint32_t{9}));
  huge.replace(kHugePages, 8, raw_bytes(std::uint64_t{2}));
  add_variable("hstates", huge);
  add_variable("hugetlb_max_hstate", raw_bytes(std::uint32_t{1}));
  add_variable("default_hstate_idx", raw_bytes(std::uint32_t{0}));

  const std::uint64_t super = allocate(1400);
  std::vector<std::uint64_t> inodes;
  for (const std::uint64_t pages : {100, 200}) {
    const std::uint64_t inode = allocate(600);
    const std::uint64_t mapping = allocate(192);
    put(inode + kInodeMapping, direct(mapping));
    put(mapping + kMappingPages, pages);
    inodes.push_back(direct(inode + kInodeList));
  }
  addresses_["inode 1"] = inodes[1] - kInodeList;
  add_list(direct(super + kInodes), inodes);
  add_variable("blockdev_superblock", raw_bytes(direct(super)));
}

void FakeLinuxDump::make_counters() {
  std::string names;
  const auto add = [&](const auto& counters) {
    for (const char* const name : counters) names += raw_bytes(add_text(name));
  };
  add(kZoneCounters);
  add(kNumaCounters);
  add(kNodeCounters);
  add(kOtherCounters);
  add(kEvents);
  add_variable("vmstat_text", names);
  add_variable("vm_zone_stat", raw_bytes(std::uint64_t{41000}) + raw_bytes(~std::uint64_t{0}) + raw_bytes(std::uint64_t{7}) +
                                   raw_bytes(std::uint64_t{0}));
  add_variable("vm_numa_event", raw_bytes(std::uint64_t{5000}) + raw_bytes(std::uint64_t{0}));
  std::string nodes;
  for (const std::uint64_t value : kNodeValues) nodes += raw_bytes(value);
  add_variable("vm_node_stat", nodes);
  add_variable("nr_memmap_pages", raw_bytes(std::uint64_t{11}));
  symbols_["vm_event_states"] = per_cpu_base() + kCpuEvents;
  for (std::size_t cpu = 0; cpu < options_.cpus.size(); ++cpu) {
    for (std::size_t event = 0; event < kEvents.size(); ++event) {
      put(per_cpu_area(cpu) + kCpuEvents + event * 8, std::uint64_t{1000 * (event + 1) + cpu});
    }
  }
}

void FakeLinuxDump::make_zones() {
  const std::uint64_t node = allocate(kNodeCounts + kNodeCounters.size() * 8);
  for (std::size_t i = 0; i < kNodeValues.size(); ++i) put(node + kNodeCounts + i * 8, kNodeValues[i]);
  for (std::size_t i = 0; i < kZones.size(); ++i) {
    const std::uint64_t at = node + i * kZoneBytes;
    for (std::uint64_t mark = 0; mark < 4; ++mark) put(at + kMarks + mark * 8, 10 * (i + 1) + mark);
    put(at + kBoost, std::uint64_t{i == 1 ? 5U : 0U});
    put(at + kReserve + 8, std::uint64_t{400});
    put(at + kStart, std::uint64_t{1 + i * 4096});
    put(at + kManaged, kZones[i].managed);
    put(at + kSpanned, kZones[i].present + 1);
    put(at + kPresent, kZones[i].present);
    put(at + kName, add_text(kZones[i].name));
    for (std::uint64_t order = 0; order < kOrders; ++order) put(at + kFree + order * kFreeBytes + kFreeCount, order + i);
    put(at + kCounts, kZones[i].free);
    put(at + kNuma, std::uint64_t{100});
    put(at + kSets, per_cpu_base() + kCpuSets + i * 64);
    put(at + kStats, per_cpu_base() + kCpuStats + i * 64);
    for (std::size_t cpu = 0; cpu < options_.cpus.size(); ++cpu) {
      put(per_cpu_area(cpu) + kCpuSets + i * 64 + 4, static_cast<std::uint32_t>(20 + cpu));
      put(per_cpu_area(cpu) + kCpuStats + i * 64 + 16, std::uint64_t{3});
    }
  }
  addresses_["node 0"] = direct(node);
  std::string nodes = raw_bytes(direct(node));
  nodes.resize(options_.nodes * 8);
  add_variable("node_data", nodes);
}

void FakeLinuxDump::make_module() {
  constexpr std::uint64_t kCode = 0xffff'ffff'c000'0000;
  const std::uint64_t module = allocate(kModuleBytes);
  memory_.replace(static_cast<std::size_t>(module + kModuleName), 7, "fakemod");
  put(module + kModuleMemory, kCode);
  put(module + kModuleMemory + 8, std::uint32_t{0x4000});
  const std::uint64_t strings = add_text(std::string_view("\0mod_alloc\0mod_free", 19));
  const std::uint64_t symbols = allocate(3 * 24);
  for (const auto& [number, name, value] : {std::tuple{1U, 1U, kCode + 0x100}, std::tuple{2U, 11U, kCode + 0x180}}) {
    put(symbols + number * 24, std::uint32_t{name});
    put(symbols + number * 24 + 6, std::uint16_t{1});
    put(symbols + number * 24 + 8, value);
  }
  const std::uint64_t table = allocate(32);
  put(table, direct(symbols));
  put(table + 8, std::uint32_t{3});
  put(table + 16, strings);
  put(module + kModuleTable, direct(table));
  const std::uint64_t head = add_variable("modules", std::string(16, '\0'));
  add_list(head, {direct(module + kModuleList)});
}

void FakeLinuxDump::make_areas() {
  struct FakeArea {
    std::uint64_t size, flags, pages, physical, caller;
  };
  constexpr std::uint64_t kBegin = 0xffff'c900'0000'0000;
  const FakeArea areas[] = {
      {0x5000, 2, 4, 0, image(0x1840)}, {0x2000, 1, 0, 0xfed00000, image(0x1840)}, {0x2000, 2, 1, 0, 0xffff'ffff'c000'0123}};
  std::vector<std::uint64_t> busy;
  const auto add_area = [&](std::uint64_t begin, std::uint64_t size) {
    const std::uint64_t at = allocate(kAreaBytes);
    put(at, begin);
    put(at + 8, begin + size);
    return at;
  };
  std::uint64_t begin = kBegin;
  for (const FakeArea& area : areas) {
    const std::uint64_t at = add_area(begin, area.size);
    const std::uint64_t of = allocate(64);
    put(at + kAreaOf, direct(of));
    put(of + 16, area.size);
    put(of + 24, area.flags);
    put(of + 44, static_cast<std::uint32_t>(area.pages));
    put(of + 48, area.physical);
    put(of + 56, area.caller);
    addresses_["area " + std::to_string(busy.size())] = direct(at);
    busy.push_back(direct(at + kAreaList));
    begin += 0x10000;
  }
  const std::uint64_t ram = add_area(begin, 0x3000);
  put(ram + kAreaFlags, std::uint64_t{1});
  busy.push_back(direct(ram + kAreaList));
  const std::vector<std::uint64_t> lazy = {direct(add_area(begin + 0x10000, 0x4000) + kAreaList)};
  if (options_.slabs == SlabKernel::kSheaves) {
    const std::uint64_t nodes = allocate(128);
    add_list(direct(nodes + 32 + 8), busy);
    add_list(direct(nodes + 64 + 8), lazy);
    add_variable("vmap_nodes", raw_bytes(direct(nodes)));
    add_variable("nr_vmap_nodes", raw_bytes(std::uint32_t{1}));
    return;
  }
  add_list(add_variable("vmap_area_list", std::string(16, '\0')), busy);
  add_list(add_variable("purge_vmap_area_list", std::string(16, '\0')), lazy);
}

}  // namespace memstat
