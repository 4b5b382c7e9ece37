// SPDX-License-Identifier: BSD-2-Clause
// What a fake FreeBSD kernel would have returned, and the kernels that tests begin with.
#include <algorithm>

#include "tests/support/fake_freebsd_dump.h"

namespace memstat {

void FakeFreeBsdDump::count_slabs(FakeKeg& keg) const {
  if (keg.slabs.empty()) return;
  keg.domains.assign(options_.domains, {});
  FakeZone& zone = keg.zones.front();
  zone.domain_items.assign(options_.domains, 0);
  for (const FakeUmaSlab& slab : keg.slabs) {
    const auto count = [&slab](char letter) {
      return static_cast<std::uint32_t>(std::count(slab.items.begin(), slab.items.end(), letter));
    };
    keg.domains[slab.domain].pages += keg.pages_per_slab;
    keg.domains[slab.domain].free += count('.');
    zone.caches[options_.cpus.front()].cache_free += count('c');
    zone.domain_items[slab.domain] += count('d');
  }
}

std::string FakeFreeBsdDump::malloc_stream() const {
  MallocStream stream(slots());
  for (const FakeMallocType& type : options_.types) stream.add(type.name.substr(0, 31), type.cpus);
  return stream.bytes();
}

std::string FakeFreeBsdDump::zone_stream() const {
  UmaStream stream(slots());
  std::vector<std::pair<std::size_t, std::uint32_t>> most_pages;  // unknown to the builder
  std::size_t count = 0;
  const auto add = [&](const FakeZone& zone, UmaZone record) {
    record.name = zone.name;
    for (const auto& [cpu, values] : zone.counters) {
      record.allocs += values[0];
      record.frees += values[1];
      record.fails += values[2];
      record.xdomain += values[3];
    }
    record.sleeps = zone.sleeps;
    for (const std::int64_t items : zone.domain_items) record.zone_free += static_cast<std::uint32_t>(items);
    stream.add(record);
    ++count;
  };
  for (const FakeKeg& keg : options_.kegs) {
    for (const FakeZone& zone : keg.zones) {
      UmaZone record{.name = {}, .size = keg.size, .rsize = keg.footprint};
      record.limit = static_cast<std::uint32_t>(zone.limit);
      for (const FakeKegDomain& domain : keg.domains) {
        record.pages += domain.pages;
        record.keg_free += domain.free;
      }
      if (zone.limit != 0) {
        record.pages = static_cast<std::uint32_t>((zone.items & 0xfff'ffff'ffffU) / keg.items_per_slab * keg.pages_per_slab);
        most_pages.emplace_back(count, static_cast<std::uint32_t>(zone.limit / keg.items_per_slab * keg.pages_per_slab));
      }
      record.flags = &zone == &keg.zones.front() ? 0 : 1;
      if (!keg.is_internal) record.blocks = zone.caches;
      add(zone, record);
    }
  }
  const std::size_t kegless = count;
  for (const FakeZone& zone : options_.cache_zones) {
    UmaZone record{.name = {}, .size = 40};
    record.blocks = zone.caches;
    add(zone, record);
  }
  std::string bytes = stream.bytes();
  const auto record_at = [this](std::size_t index) { return 16 + index * (120 + 64 * std::size_t{slots()}); };
  for (const auto& [index, pages] : most_pages) bytes.replace(record_at(index) + 44, 4, raw_bytes(pages));
  for (std::size_t i = kegless; i < count; ++i) bytes.replace(record_at(i) + 32, 4, raw_bytes(std::uint32_t{0}));
  return bytes;
}

FakeFreeBsdOptions small_freebsd() {
  FakeFreeBsdOptions options;
  options.cpus = {0, 1, 3};
  options.domains = 2;
  options.types = {{.name = "temp", .cpus = {{0, {4096, 1024, 10, 4, 3}}, {3, {100, 2000, 2, 7, 4}}}},
                   {.name = "a name of a type that has more than 31 bytes", .cpus = {{1, {64, 0, 1, 0, 1}}}},
                   {.name = "devbuf"}};
  const FakeZone mbuf{
      .name = "mbuf",
      .limit = 4000,
      .items = (std::uint64_t{3} << 44U) | 900,
      .sleeps = 12,
      .counters = {{0, {500, 300, 2, 9}}, {3, {70, 10, 1, 0}}},
      .caches = {{0, {.allocs = 1000, .frees = 900, .cache_free = 33}}, {3, {.allocs = 5, .frees = 0, .cache_free = 1}}},
      .domain_items = {64, 128}};
  const FakeZone packet{
      .name = "mbuf_packet", .counters = {{1, {7, 7, 0, 0}}}, .caches = {{1, {10, 4, 254}}}, .domain_items = {0, 5}};
  const FakeZone inner{.name = "UMA Kegs", .counters = {{0, {100, 1, 0, 0}}}, .caches = {{0, {99, 99, 99}}}};
  const FakeZone small{.name = "malloc-64", .counters = {{0, {8, 2, 0, 0}}}, .domain_items = {1, 2}};
  options.kegs = {{.size = 256,
                   .footprint = 256,
                   .pages_per_slab = 1,
                   .items_per_slab = 16,
                   .domains = {{30, 7}, {40, 8}},
                   .zones = {mbuf, packet}},
                  {.size = 384,
                   .footprint = 384,
                   .items_per_slab = 10,
                   .is_internal = true,
                   .domains = {{3, 1}, {0, 0}},
                   .zones = {inner}},
                  {.size = 64, .footprint = 64, .items_per_slab = 64, .domains = {{11, 12}, {13, 14}}, .zones = {small}}};
  options.cache_zones = {
      {.name = "vm pgcache", .counters = {{1, {20, 3, 0, 0}}}, .caches = {{1, {6, 2, 30}}}, .domain_items = {17, 18}}};
  return options;
}

FakeFreeBsdOptions freebsd_with_slabs() {
  FakeFreeBsdOptions options = small_freebsd();
  options.kegs.push_back({.size = 200,
                          .footprint = 256,
                          .items_per_slab = 8,
                          .zones = {{.name = "tidhash"}},
                          .slabs = {{.domain = 0, .items = "xx.xc.d."},
                                    {.domain = 0, .items = "xxxxxxxx"},
                                    {.domain = 1, .items = "........"},
                                    {.domain = 1, .items = "ocdxx..."}}});
  std::string many(80, 'x');
  many.replace(60, 10, "..cccdd...");
  options.kegs.push_back({.size = 96,
                          .footprint = 100,
                          .pages_per_slab = 2,
                          .items_per_slab = 80,
                          .zones = {{.name = "ucred"}},
                          .is_off_page = true,
                          .slabs = {{.domain = 1, .items = many}}});
  options.kegs.push_back({.size = 16,
                          .footprint = 16,
                          .items_per_slab = 4,
                          .zones = {{.name = "shared"}, {.name = "shared again"}},
                          .slabs = {{.domain = 0, .items = "x.cx"}}});
  return options;
}

}  // namespace memstat
