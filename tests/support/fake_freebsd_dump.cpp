// SPDX-License-Identifier: BSD-2-Clause
#include "tests/support/fake_freebsd_dump.h"

#include <algorithm>
#include <stdexcept>

namespace memstat {

/// Offsets of members of structs.
struct FakeFreeBsdDump::Layout {
  std::uint64_t type_bytes, type_next, type_name, type_stats;
  std::uint64_t keg_bytes, keg_link, keg_domain, keg_domain_bytes, keg_domain_pages, keg_domain_free, keg_domain_slabs;
  std::uint64_t zone_cpu, cache_bytes, zone_domain_bytes, zone_domain_items;
  std::uint64_t domain_bytes, domain_queues, queue_bytes;
  bool has_list_first;  // of struct uma_zone: uz_link before all else
};

namespace {

using postmortem::Machine;

constexpr std::uint64_t kFakePage = 4096;
constexpr std::uint64_t kX86KernelBase = 0xffff'ffff'8000'0000;
constexpr std::uint64_t kX86DirectBase = 0xffff'f800'0000'0000;
constexpr std::uint64_t kX86FarDirectBase = 0xff01'0000'0000'0000;  // with a fifth level, which alone reaches it
constexpr std::uint64_t kArmKernelBase = 0xffff'0000'0000'0000;
constexpr std::uint64_t kArmDirectBase = 0xffff'a000'0000'0000;
constexpr std::uint64_t kArmDirectBegins = 0x10'0000;
constexpr std::uint64_t kMessageBytes = 5000;
constexpr std::uint32_t kInternalFlag = 0x2000'0000;
constexpr std::uint32_t kOffPageFlag = 0x0020'0000;
constexpr std::uint64_t kSlabHeader = 128;
constexpr std::uint64_t kDummyCounter = 168;  // in struct pcpu
constexpr std::uint32_t kSizeClasses[] = {16, 32, 64, 128, 256, 384, 512, 0};

void pad_to(std::string& bytes, std::uint64_t boundary) {
  bytes.append(static_cast<std::size_t>((boundary - bytes.size() % boundary) % boundary), '\0');
}

}  // namespace

const FakeFreeBsdDump::Layout& FakeFreeBsdDump::layout() const {
  static const Layout kAmd64{112, 0, 16, 40, 320, 128, 192, 128, 88, 92, 64, 384, 128, 128, 24, 2048, 0, 256, false};
  static const Layout kNewAmd64{128, 0, 16, 40, 320, 128, 192, 128, 88, 92, 64, 384, 128, 192, 24, 4096, 64, 192, false};
  static const Layout kArm64{112, 0, 16, 40, 384, 128, 256, 256, 152, 156, 128, 384, 128, 128, 24, 4096, 0, 256, false};
  static const Layout kOther{176, 24, 40, 72, 512, 8, 384, 64, 8, 20, 32, 512, 64, 64, 8, 8192, 128, 96, true};
  if (options_.release == 99) return kOther;
  if (options_.machine == Machine::kArm64) return kArm64;
  return options_.release >= 15 ? kNewAmd64 : kAmd64;
}

FakeFreeBsdDump::FakeFreeBsdDump(FakeFreeBsdOptions options) : options_(std::move(options)) {
  for (FakeKeg& keg : options_.kegs) count_slabs(keg);
  allocate(options_.page_bytes);  // the first page is empty
  make_variables();
  make_malloc();
  make_zones();
  make_pages();
  make_types();
  make_page_tables();
  allocate(8 * options_.page_bytes, options_.page_bytes);  // unused memory, which may be missing
}

std::uint64_t FakeFreeBsdDump::kernel_base() const {
  return options_.machine == Machine::kX86 ? kX86KernelBase : kArmKernelBase;
}
std::uint64_t FakeFreeBsdDump::direct_base() const {
  if (options_.machine != Machine::kX86) return kArmDirectBase;
  return options_.has_fifth_level ? kX86FarDirectBase : kX86DirectBase;
}
std::uint64_t FakeFreeBsdDump::direct(std::uint64_t offset) const {
  return direct_base() + physical(offset) - (options_.machine == Machine::kX86 ? 0 : kArmDirectBegins);
}

std::uint64_t FakeFreeBsdDump::allocate(std::uint64_t size, std::uint64_t alignment) {
  pad_to(memory_, alignment);
  const std::uint64_t offset = memory_.size();
  memory_.append(static_cast<std::size_t>(size), '\0');
  return offset;
}

std::uint64_t FakeFreeBsdDump::add_text(std::string_view text) {
  const std::uint64_t offset = allocate(text.size() + 1, 8);
  memory_.replace(static_cast<std::size_t>(offset), text.size(), text);
  return direct(offset);
}

std::uint64_t FakeFreeBsdDump::add_variable(const std::string& name, std::string_view bytes) {
  const std::uint64_t offset = allocate(bytes.size());
  memory_.replace(static_cast<std::size_t>(offset), bytes.size(), bytes);
  symbols_[name] = {image(offset), bytes.size()};
  return offset;
}

std::pair<std::uint64_t, std::uint64_t> FakeFreeBsdDump::add_per_cpu(std::uint64_t size) {
  if (per_cpu_ == 0 || per_cpu_used_ + size > options_.page_bytes) {
    per_cpu_ = allocate(options_.page_bytes * slots(), options_.page_bytes);
    per_cpu_used_ = 0;
  }
  const std::uint64_t offset = per_cpu_ + per_cpu_used_;
  per_cpu_used_ += size;
  const bool is_relative = options_.machine == Machine::kX86;
  return {direct(offset) - (is_relative ? direct(pcpu_) : 0), offset};
}

std::uint64_t FakeFreeBsdDump::add_counter(const FakeZone& zone, std::size_t which) {
  const auto [pointer, offset] = add_per_cpu(8);
  for (const auto& [cpu, values] : zone.counters) put(offset + cpu * options_.page_bytes, values[which]);
  return pointer;
}

void FakeFreeBsdDump::make_variables() {
  pcpu_ = allocate(options_.page_bytes * slots(), options_.page_bytes);
  const std::string release = std::to_string(options_.release) + ".0-RELEASE";
  add_variable("version", "FreeBSD " + release + " #0: Mon Nov 24 00:00:00 UTC 2025\n    root@builder:GENERIC\n" + '\0');
  add_variable("osrelease", release + std::string(32 - release.size(), '\0'));
  add_variable("time_second", raw_bytes(std::int64_t{1763650800}));
  if (options_.machine == Machine::kX86) {
    add_variable("__pcpu", raw_bytes(direct(pcpu_)));
  } else {
    symbols_["pcpu0"] = {direct(pcpu_), 4096};
  }
  add_variable("mp_maxid", raw_bytes(slots() - 1));
  add_variable("vm_ndomains", raw_bytes(options_.domains));
  std::string set(128, '\0');
  for (const std::uint32_t cpu : options_.cpus) set[cpu / 8] = static_cast<char>(set[cpu / 8] | 1 << cpu % 8);
  add_variable("all_cpus", set);
  add_variable("vm_malloc_zone_count", raw_bytes(static_cast<std::uint32_t>(std::size(kSizeClasses))));
  std::string classes;
  for (const std::uint32_t size : kSizeClasses) classes += raw_bytes(std::uint64_t{size}) + std::string(16, '\0');
  add_variable("kmemzones", classes);
  add_variable("uma_kmem_total", raw_bytes(std::uint64_t{123456789}));
  add_variable("vm_user_wire_count", raw_bytes(std::uint64_t{77}));
}

void FakeFreeBsdDump::make_malloc() {
  const Layout& at = layout();
  std::uint64_t next = 0;
  for (auto type = options_.types.rbegin(); type != options_.types.rend(); ++type) {
    const auto [pointer, stats] = add_per_cpu(64);
    for (const auto& [cpu, block] : type->cpus) {
      std::uint64_t to = stats + cpu * options_.page_bytes;
      for (const std::uint64_t value :
           {block.memalloced, block.memfreed, block.numallocs, block.numfrees, block.size_mask}) {
        put(to, value);
        to += 8;
      }
    }
    const std::uint64_t name = add_text(type->name);
    const std::uint64_t offset = allocate(at.type_bytes);
    put(offset + at.type_next, next);
    put(offset + at.type_name, name);
    put(offset + at.type_stats, pointer);
    next = direct(offset);
    addresses_["type " + type->name] = next;
    addresses_["name " + type->name] = direct(offset + at.type_name);
    addresses_["next " + type->name] = direct(offset + at.type_next);
  }
  add_variable("kmemstatistics", raw_bytes(next));
}

std::uint64_t FakeFreeBsdDump::make_zone(const FakeZone& zone, std::uint64_t keg, std::uint64_t next) {
  const Layout& at = layout();
  const std::uint64_t begin = at.has_list_first ? 16 : 0;
  std::array<std::uint64_t, 4> counters{};
  for (std::size_t i = 0; i < counters.size(); ++i) counters[i] = add_counter(zone, i);
  const std::uint64_t name = add_text(zone.name);
  const std::uint64_t domains = at.zone_cpu + at.cache_bytes * slots();
  const std::uint64_t offset = allocate(domains + at.zone_domain_bytes * options_.domains, 128);
  put(offset + begin + 4, keg == 0 ? 40U : 0U);
  put(offset + begin + 32, zone.limit);
  put(offset + begin + 56, counters[3]);
  put(offset + begin + 64, keg);
  put(offset + begin + 112, zone.items);
  put(offset + begin + 120, zone.sleeps);
  put(offset + (at.has_list_first ? 0 : 128), next);
  for (std::size_t i = 0; i < 3; ++i) put(offset + begin + 144 + 8 * i, counters[i]);
  put(offset + begin + 168, name);
  for (const auto& [cpu, cache] : zone.caches) {
    const std::uint64_t to = offset + at.zone_cpu + at.cache_bytes * cpu;
    put(to + 8, static_cast<std::int16_t>(cache.cache_free - cache.cache_free / 2));
    put(to + 24, static_cast<std::int16_t>(cache.cache_free / 2));
    put(to + 48, cache.allocs);
    put(to + 56, cache.frees);
  }
  for (std::size_t i = 0; i < zone.domain_items.size(); ++i) {
    put(offset + domains + at.zone_domain_bytes * i + at.zone_domain_items, zone.domain_items[i]);
  }
  addresses_["zone " + zone.name] = direct(offset);
  addresses_["next zone " + zone.name] = direct(offset + (at.has_list_first ? 0 : 128));
  addresses_["allocs " + zone.name] = direct(offset + begin + 144);
  return direct(offset);
}

std::uint64_t FakeFreeBsdDump::make_bucket(const std::vector<std::uint64_t>& items, bool counts, std::uint64_t next) {
  const std::uint64_t offset = allocate(16 + 8 * items.size());
  put(offset, next);
  put(offset + 8, static_cast<std::int16_t>(counts ? items.size() : 0));
  for (std::size_t i = 0; i < items.size(); ++i) put(offset + 16 + 8 * i, items[i]);
  return direct(offset);
}

void FakeFreeBsdDump::make_slabs(const FakeKeg& keg, std::uint64_t keg_offset) {
  const Layout& at = layout();
  const std::uint64_t shift = at.has_list_first ? 8 : 0;
  const std::uint64_t slab_bytes = options_.page_bytes * keg.pages_per_slab;
  const std::uint64_t header_at = slab_bytes - kSlabHeader;
  put(keg_offset + 116, static_cast<std::uint32_t>(keg.is_off_page ? 0 : header_at));
  std::vector<std::uint64_t> of_cpu;
  std::vector<std::vector<std::uint64_t>> of_domain(options_.domains);
  std::vector<std::vector<std::uint64_t>> others(options_.domains);
  for (auto slab = keg.slabs.rbegin(); slab != keg.slabs.rend(); ++slab) {
    const std::uint64_t pages = allocate(slab_bytes, options_.page_bytes);
    const std::uint64_t hash = keg.is_off_page ? allocate(kSlabHeader) : 0;
    const std::uint64_t header = keg.is_off_page ? hash + 24 : pages + header_at;
    if (keg.is_off_page) put(hash + 16, direct(pages));
    std::uint16_t free = 0;
    for (std::size_t i = 0; i < slab->items.size(); ++i) {
      const std::uint64_t item = pages + keg.footprint * i;
      put(item, std::uint64_t{i});
      put(item + 8, direct(item));
      const char letter = slab->items[i];
      if (letter == 'c') of_cpu.push_back(direct(item));
      if (letter == 'd') of_domain[slab->domain].push_back(direct(item));
      if (letter == 'o') others[slab->domain].push_back(direct(item));
      if (letter != '.') continue;
      ++free;
      const std::uint64_t word = header + 24 + shift + i / 64 * 8;
      std::uint64_t bits = 0;
      memory_.copy(reinterpret_cast<char*>(&bits), sizeof bits, static_cast<std::size_t>(word));
      put(word, bits | std::uint64_t{1} << i % 64);
    }
    put(header + 16 + shift, free);
    // The lists of a domain: partly allocated, free and full slabs.
    const std::uint64_t list = free == slab->items.size() ? 1 : free == 0 ? 2 : 0;
    const std::uint64_t head =
        keg_offset + at.keg_domain + at.keg_domain_bytes * slab->domain + at.keg_domain_slabs + 8 * list;
    std::uint64_t next = 0;
    memory_.copy(reinterpret_cast<char*>(&next), sizeof next, static_cast<std::size_t>(head));
    put(header + shift, next);
    put(head, direct(header));
    addresses_["slab " + keg.zones.front().name + " " + std::to_string(slab.base() - keg.slabs.begin() - 1)] =
        direct(header);
  }
  const std::uint64_t zone = addresses_.at("zone " + keg.zones.front().name);
  const std::uint64_t cache = zone + at.zone_cpu + at.cache_bytes * options_.cpus.front();
  const auto half = of_cpu.begin() + static_cast<std::ptrdiff_t>(of_cpu.size() - of_cpu.size() / 2);
  poke(cache, make_bucket({of_cpu.begin(), half}, false, 0));
  poke(cache + 16, make_bucket({half, of_cpu.end()}, false, 0));
  for (std::uint32_t domain = 0; domain < options_.domains; ++domain) {
    const std::uint64_t to = zone + at.zone_cpu + at.cache_bytes * slots() + at.zone_domain_bytes * domain;
    const std::uint64_t first = make_bucket(of_domain[domain], true, 0);
    poke(to + (at.has_list_first ? 16 : 0), make_bucket({}, true, first));
    if (!others[domain].empty()) poke(to + (at.has_list_first ? 32 : 16), make_bucket(others[domain], true, 0));
    addresses_["bucket " + keg.zones.front().name + " " + std::to_string(domain)] = first;
  }
}

void FakeFreeBsdDump::make_zones() {
  const Layout& at = layout();
  std::uint64_t next_keg = 0;
  for (std::size_t number = options_.kegs.size(); number-- > 0;) {
    const FakeKeg& keg = options_.kegs[number];
    const std::uint64_t offset = allocate(at.keg_domain + at.keg_domain_bytes * options_.domains, 128);
    std::uint64_t next_zone = 0;
    for (auto zone = keg.zones.rbegin(); zone != keg.zones.rend(); ++zone) {
      next_zone = make_zone(*zone, direct(offset), next_zone);
    }
    put(offset + 16, next_zone);
    put(offset + 40, std::uint32_t{7});
    put(offset + 48, keg.size);
    put(offset + 52, keg.footprint);
    put(offset + 108, keg.pages_per_slab);
    put(offset + 110, keg.items_per_slab);
    put(offset + 112, (keg.is_internal ? kInternalFlag : 0U) | (keg.is_off_page ? kOffPageFlag : 0U));
    put(offset + at.keg_link, next_keg);
    for (std::size_t i = 0; i < keg.domains.size(); ++i) {
      put(offset + at.keg_domain + at.keg_domain_bytes * i + at.keg_domain_pages, keg.domains[i].pages);
      put(offset + at.keg_domain + at.keg_domain_bytes * i + at.keg_domain_free, keg.domains[i].free);
    }
    next_keg = direct(offset);
    addresses_["keg " + std::to_string(number)] = next_keg;
    addresses_["next keg " + std::to_string(number)] = direct(offset + at.keg_link);
    if (!keg.slabs.empty()) make_slabs(keg, offset);
  }
  add_variable("uma_kegs", raw_bytes(next_keg));
  std::uint64_t next_zone = 0;
  for (auto zone = options_.cache_zones.rbegin(); zone != options_.cache_zones.rend(); ++zone) {
    next_zone = make_zone(*zone, 0, next_zone);
  }
  add_variable("uma_cachezones", raw_bytes(next_zone));
}

void FakeFreeBsdDump::make_pages() {
  const Layout& at = layout();
  FakeZone wired;
  wired.counters = {{0, {3000, 0, 0, 0}}, {1, {500, 0, 0, 0}}};
  std::string counts = raw_bytes(add_counter(wired, 0));
  for (const std::uint32_t value : {100000U, 600U, 700U}) counts += raw_bytes(value);
  add_variable("vm_cnt", counts);
  std::string domains(static_cast<std::size_t>(at.domain_bytes * options_.domains), '\0');
  const auto put_at = [&domains](std::uint64_t offset, std::uint64_t value, std::size_t size) {
    domains.replace(static_cast<std::size_t>(offset), size, raw_bytes(value).substr(0, size));
  };
  for (std::uint32_t domain = 0; domain < options_.domains; ++domain) {
    const std::uint64_t begin = at.domain_bytes * domain;
    put_at(begin + at.domain_bytes - 64, 10000 * (domain + 1), 4);
    put_at(begin + at.domain_bytes - 60, 300 + domain, 4);
    for (std::uint32_t queue = 0; queue < 4; ++queue) {
      put_at(begin + at.domain_queues + at.queue_bytes * queue + 48, 1000 * (queue + 1) + domain, 4);
      put_at(begin + at.domain_queues + at.queue_bytes * queue + 64, 5 + queue, 8);
    }
  }
  add_variable("vm_dom", domains);
}

void FakeFreeBsdDump::make_types() {
  CtfBuilder types(options_.release >= 14 ? 3 : 2);
  const Layout& at = layout();
  const std::uint32_t u64 = types.add_integer("uint64_t", 8);
  const std::uint32_t u32 = types.add_integer("uint32_t", 4);
  const std::uint32_t u16 = types.add_integer("uint16_t", 2);
  const std::uint32_t i16 = types.add_integer("int16_t", 2);
  types.add_function(3);
  types.add_enum("states", {{"kOne", 1}, {"kTwo", 2}});
  const std::uint32_t pointer = types.add_pointer(u64);
  const std::uint32_t counter = types.add_typedef("counter_u64_t", pointer);
  const std::uint32_t list_head = types.add_struct("", 8, {{"lh_first", pointer, 0}});
  const std::uint32_t list_entry = types.add_struct("", 16, {{"le_next", pointer, 0}, {"le_prev", pointer, 8}});
  const std::uint32_t internal = types.add_struct("malloc_type_internal", 88, {{"mti_stats", pointer, 16}});
  types.add_struct("malloc_type", at.type_bytes,
                   {{"ks_next", pointer, at.type_next},
                    {"ks_shortdesc", pointer, at.type_name},
                    {"ks_mti", internal, at.type_stats - 16}});
  types.add_struct("malloc_type_stats", 64,
                   {{"mts_memalloced", u64, 0},
                    {"mts_memfreed", u64, 8},
                    {"mts_numallocs", u64, 16},
                    {"mts_numfrees", u64, 24},
                    {"mts_size", u64, 32}});
  types.add_struct("", 24, {{"kz_size", u32, 0}, {"kz_name", pointer, 8}});
  const std::uint32_t keg_domain = types.add_struct("uma_domain", at.keg_domain_bytes,
                                                    {{"ud_part_slab", list_head, at.keg_domain_slabs},
                                                     {"ud_free_slab", list_head, at.keg_domain_slabs + 8},
                                                     {"ud_full_slab", list_head, at.keg_domain_slabs + 16},
                                                     {"ud_pages", u32, at.keg_domain_pages},
                                                     {"ud_free_items", u32, at.keg_domain_free}});
  types.add_struct("uma_keg", at.keg_bytes,
                   {{"uk_zones", list_head, 16},
                    {"uk_align", u32, 40},
                    {"uk_size", u32, 48},
                    {"uk_rsize", u32, 52},
                    {"uk_ppera", u16, 108},
                    {"uk_ipers", u16, 110},
                    {"uk_flags", u32, 112},
                    {"uk_pgoff", u32, 116},
                    {"uk_link", list_entry, at.keg_link},
                    {"uk_domain", types.add_array(keg_domain, 0), at.keg_domain}});
  const std::uint32_t bucket = types.add_struct("uma_cache_bucket", 16, {{"ucb_bucket", pointer, 0}, {"ucb_cnt", i16, 8}});
  const std::uint32_t cache = types.add_struct("uma_cache", at.cache_bytes,
                                               {{"uc_freebucket", bucket, 0},
                                                {"uc_allocbucket", bucket, 16},
                                                {"uc_crossbucket", bucket, 32},
                                                {"uc_allocs", u64, 48},
                                                {"uc_frees", u64, 56}});
  const std::uint64_t begin = at.has_list_first ? 16 : 0;
  const std::uint32_t queue_head = types.add_struct("", 16, {{"stqh_first", pointer, 0}, {"stqh_last", pointer, 8}});
  const std::uint32_t queue_entry = types.add_struct("", 8, {{"stqe_next", pointer, 0}});
  types.add_struct(
      "uma_zone_domain", at.zone_domain_bytes,
      {{"uzd_buckets", queue_head, begin}, {"uzd_cross", pointer, begin + 16}, {"uzd_nitems", u64, at.zone_domain_items}});
  types.add_struct("uma_bucket", 16,
                   {{"ub_link", queue_entry, 0}, {"ub_cnt", i16, 8}, {"ub_bucket", types.add_array(pointer, 0), 16}});
  const std::uint64_t shift = at.has_list_first ? 8 : 0;
  const std::uint32_t slab = types.add_struct(
      "uma_slab", 24 + shift,
      {{"us_link", list_entry, shift}, {"us_freecount", u16, 16 + shift}, {"us_free", types.add_array(u64, 0), 24 + shift}});
  types.add_struct("uma_hash_slab", 48 + shift,
                   {{"uhs_hlink", list_entry, 0}, {"uhs_data", pointer, 16}, {"uhs_slab", slab, 24}});
  types.add_struct("uma_zone", at.zone_cpu,
                   {{"uz_size", u32, begin + 4},
                    {"uz_max_items", u64, begin + 32},
                    {"uz_xdomain", counter, begin + 56},
                    {"uz_items", u64, begin + 112},
                    {"uz_sleeps", u64, begin + 120},
                    {"uz_link", list_entry, at.has_list_first ? 0 : 128ULL},
                    {"uz_allocs", counter, begin + 144},
                    {"uz_frees", counter, begin + 152},
                    {"uz_fails", counter, begin + 160},
                    {"uz_name", pointer, begin + 168},
                    {"uz_cpu", types.add_array(cache, 0), at.zone_cpu}});
  types.add_struct("pcpu", 4096, {{"pc_early_dummy_counter", u64, kDummyCounter}});
  types.add_struct(
      "vmmeter", 24,
      {{"v_wire_count", counter, 0}, {"v_page_count", u32, 8}, {"v_free_min", u32, 12}, {"v_free_target", u32, 16}});
  const std::uint32_t queue =
      types.add_struct("vm_pagequeue", at.queue_bytes, {{"pq_cnt", u32, 48}, {"pq_pdpages", u64, 64}});
  types.add_struct("vm_domain", at.domain_bytes,
                   {{"vmd_pagequeues", types.add_array(queue, 4), at.domain_queues},
                    {"vmd_free_count", u32, at.domain_bytes - 64},
                    {"vmd_free_min", u32, at.domain_bytes - 60}});
  types_ = types.bytes(options_.has_packed_types);
}

/// One page of four levels of tables; the root and those below it are made as they are needed.
std::uint64_t FakeFreeBsdDump::map_page(std::uint64_t address, std::uint64_t to, std::uint64_t root, unsigned top_shift) {
  std::uint64_t table = root;
  for (unsigned shift = top_shift; shift > 12; shift -= 9) {
    const std::uint64_t entry = table + (address >> shift & 511U) * 8;
    std::uint64_t next = 0;
    std::copy_n(memory_.data() + entry, sizeof next, reinterpret_cast<char*>(&next));
    if (next == 0) {
      next = (physical(allocate(kFakePage, kFakePage))) | 3U;
      put(entry, next);
    }
    table = (next & ~std::uint64_t{0xfff}) - physical(0);
  }
  put(table + (address >> 12U & 511U) * 8, to | 3U);
  return table;
}

void FakeFreeBsdDump::make_page_tables() {
  pad_to(memory_, options_.page_bytes);
  const std::uint64_t size = memory_.size() + (options_.minidump_version == 0 ? 3 * kFakePage : 0);
  if (options_.minidump_version == 0) {
    const std::uint64_t root_variable = add_variable("KPML4phys", std::string(8, '\0'));
    const std::uint64_t root = allocate(kFakePage, kFakePage);
    put(root_variable, physical(root));
    const std::uint64_t fifth_variable = add_variable("KPML5phys", std::string(8, '\0'));
    const std::uint64_t fifth = options_.has_fifth_level ? allocate(kFakePage, kFakePage) : 0;
    if (fifth != 0) {
      put(fifth_variable, physical(fifth));
      put(fifth + 511 * 8, physical(root) | 3U);
    }
    symbols_["pagetable_l0_ttbr1"] = {image(root), kFakePage};
    for (std::uint64_t at = 0; at < size; at += kFakePage) {
      map_page(image(at), physical(at), root);
      fifth == 0 ? map_page(direct(at), physical(at), root) : map_page(direct(at), physical(at), fifth, 48);
    }
    return;
  }
  const bool has_directory = options_.machine == Machine::kX86 && options_.minidump_version >= 2;
  directory_.assign(static_cast<std::size_t>(has_directory ? kFakePage : 4 * options_.page_bytes), '\0');
  const auto put_entry = [this](std::uint64_t number, std::uint64_t entry) {
    if ((number + 1) * 8 > directory_.size()) throw std::logic_error("the kernel does not fit its page tables");
    directory_.replace(static_cast<std::size_t>(number * 8), 8, raw_bytes(entry));
  };
  const std::uint64_t bits = options_.machine == Machine::kArm64 ? 0x0040'0000'0000'0703 : 0x8000'0000'0000'0103;
  if (!has_directory) {
    for (std::uint64_t at = 0; at < size; at += options_.page_bytes) {
      put_entry((kPhysical + at) / options_.page_bytes, physical(at) | bits);
    }
    return;
  }
  const std::uint64_t table = allocate(kFakePage, kFakePage);
  for (std::uint64_t at = 0; at < size; at += kFakePage) put(table + at / kFakePage * 8, physical(at) | bits);
  put_entry(kPhysical >> 21U, physical(table) | 3U);
  put_entry(8, kPhysical | 0x83U);  // the same memory once more, as one page of 2 MiB
}

std::uint64_t FakeFreeBsdDump::address(const std::string& what) const {
  if (const auto symbol = symbols_.find(what); symbol != symbols_.end()) return symbol->second.first;
  return addresses_.at(what);
}

void FakeFreeBsdDump::poke(std::uint64_t address, std::uint64_t value) {
  const std::uint64_t from = address >= kernel_base() && address - kernel_base() < (1U << 30U) ? image(0) : direct(0);
  if (address - from + 8 > memory_.size()) throw std::logic_error("nothing is there");
  put(address - from, value);
}

std::string FakeFreeBsdDump::minidump() const {
  const bool is_arm64 = options_.machine == Machine::kArm64;
  const std::uint64_t page = options_.page_bytes;
  const bool has_ranges = options_.minidump_version >= (is_arm64 ? 2U : 3U);
  // Two ranges. Some pages of the first, and the first page of the second, are not in the dump.
  const std::uint64_t first_end = 40 * page - 100;
  std::string ranges =
      raw_bytes(std::uint64_t{0}, first_end, kPhysical, kPhysical + memory_.size(), std::uint64_t{0}, std::uint64_t{0});
  pad_to(ranges, page);
  const std::uint64_t first_bit = has_ranges ? 40 : kPhysical / page;
  std::string bitmap(static_cast<std::size_t>((first_bit + pages() + 63) / 64 * 8), '\0');
  const auto set = [&bitmap](std::uint64_t bit) {
    bitmap[bit / 8] = static_cast<char>(static_cast<unsigned char>(bitmap[bit / 8]) | 1U << bit % 8);
  };
  set(3);
  for (std::uint64_t i = 1; i < pages(); ++i) set(first_bit + i);
  std::string header = std::string("minidump FreeBSD/") + (is_arm64 ? "arm64" : "amd64");
  header.resize(24, '\0');
  const auto length = [](std::uint64_t bytes) { return static_cast<std::uint32_t>(bytes); };
  header += raw_bytes(options_.minidump_version, length(kMessageBytes), length(bitmap.size()), length(directory_.size()));
  header += raw_bytes(kernel_base());
  if (is_arm64) header += raw_bytes(kArmDirectBegins);
  header += raw_bytes(direct_base()) + raw_bytes(direct_base() + (std::uint64_t{64} << 30U));
  if (has_ranges) header += raw_bytes(static_cast<std::uint32_t>(ranges.size()));
  if (is_arm64 && options_.minidump_version >= 3) header += raw_bytes(std::uint32_t{page == 16384 ? 1U : 0U});
  std::string dump = header;
  pad_to(dump, page);
  for (const std::string& part :
       {std::string(kMessageBytes, 'm'), has_ranges ? ranges : std::string(), bitmap, directory_}) {
    dump += part;
    pad_to(dump, page);
  }
  return dump + std::string(static_cast<std::size_t>(page), 'x') + memory_.substr(static_cast<std::size_t>(page));
}

std::string FakeFreeBsdDump::elf() const {
  const std::uint64_t size = memory_.size();
  std::string header = elf_header(4, options_.machine, 1, '\xff');
  header += raw_bytes(std::uint32_t{1}, std::uint32_t{6}, kFakePage, std::uint64_t{0}, physical(0), size, size, kFakePage);
  pad_to(header, kFakePage);
  return header + memory_;
}

std::string FakeFreeBsdDump::dump() const { return options_.minidump_version == 0 ? elf() : minidump(); }
std::string FakeFreeBsdDump::types() const { return types_; }

std::string FakeFreeBsdDump::kernel() const {
  std::string names(1, '\0');
  std::string symbols(24, '\0');
  const auto add_symbol = [&](const std::string& name, std::uint64_t address, std::uint64_t size, bool is_global) {
    const std::uint16_t kind = is_global ? 0x11 : 0x01;
    symbols += raw_bytes(static_cast<std::uint32_t>(names.size()), kind, std::uint16_t{1}, address, size);
    names += name + '\0';
  };
  add_symbol("unused", 1, 2, false);
  add_symbol("version", 1, 2, false);  // a driver's own
  for (const auto& [name, place] : symbols_) add_symbol(name, place.first, place.second, name == "version");
  const auto& [version_at, version_size] = symbols_.at("version");
  const std::string version =
      memory_.substr(static_cast<std::size_t>(version_at - image(0)), static_cast<std::size_t>(version_size));
  const std::string section_names("\0.data\0.symtab\0.strtab\0.shstrtab\0.SUNW_ctf\0", 43);
  struct BuiltSection {
    std::uint32_t name, type;
    std::uint64_t address;
    const std::string* bytes;
    std::uint32_t link;
  };
  std::vector<BuiltSection> sections = {{1, 1, version_at, &version, 0},
                                        {7, 2, 0, &symbols, 3},
                                        {15, 3, 0, &names, 0},
                                        {23, 3, 0, &section_names, 0},
                                        {33, 1, 0, &types_, 0}};
  std::string file = elf_header(2, options_.machine, 0, '\x09');
  std::string table(64, '\0');
  for (const BuiltSection& section : sections) {
    table += raw_bytes(section.name, section.type, std::uint64_t{0}, section.address, std::uint64_t{file.size()},
                       std::uint64_t{section.bytes->size()}, section.link) +
             std::string(20, '\0');
    file += *section.bytes;
    pad_to(file, 8);
  }
  file.replace(40, 8, raw_bytes(std::uint64_t{file.size()}));
  file.replace(58, 6, raw_bytes(std::uint16_t{64}, static_cast<std::uint16_t>(sections.size() + 1), std::uint16_t{4}));
  return file + table;
}

}  // namespace memstat
