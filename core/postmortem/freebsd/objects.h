// SPDX-License-Identifier: BSD-2-Clause
// The allocated objects of a uma(9) zone in a crashed FreeBSD kernel, 13 to 15.
//
// A keg's slabs are on three lists per domain: free, partly and fully allocated. A slab has a bit for each free item. The
// slabs count as allocated what zones cache in buckets of CPUs and domains. The zones of a keg share its slabs, which do not
// record whose an item is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/postmortem/freebsd/image.h"
#include "core/postmortem/freebsd/machine.h"
#include "core/postmortem/kernel/slab_objects.h"
#include "core/postmortem/kernel/struct_reader.h"

namespace memstat::postmortem {

/// A uma zone.
struct UmaZone {
  std::string name;
  std::uint64_t address = 0;
  bool is_first = true;                      ///< In its keg.
  std::uint64_t object_size = 0;             ///< B usable by the caller.
  std::uint64_t keg = 0;                     ///< Address of its keg; 0: it has none, and caches items of another allocator.
  std::vector<std::uint64_t> zones_of_keg;   ///< Addresses of all zones that share the keg, including this one.
  std::vector<std::string> names_in_common;  ///< Names of the other zones.
};

struct UmaWalk {
  std::vector<UmaZone> zones;
  std::vector<std::string> damage;  ///< One line each, for display; usually none.
};

/// The kernel's structs of uma(9) with the fields that are read (sys/vm/uma_int.h).
struct UmaTypes {
  explicit UmaTypes(FreeBsdKernel& kernel)
      : keg(kernel, "uma_keg"),
        keg_domain(kernel, "uma_domain"),
        zone(kernel, "uma_zone"),
        cache(kernel, "uma_cache"),
        zone_domain(kernel, "uma_zone_domain") {}

  [[nodiscard]] std::uint64_t cpus_of(std::uint64_t zone_at) const { return zone_at + *cpus_at; }
  /// The domains of a zone follow the cache of its last CPU.
  [[nodiscard]] std::uint64_t domains_of(std::uint64_t zone_at, const FreeBsdMachine& machine) const {
    return cpus_of(zone_at) + machine.cpu_slots * cache.size();
  }
  [[nodiscard]] bool has_arrays() const {
    return cpus_at && domains_at && cache.size() != 0 && zone_domain.size() != 0 && keg_domain.size() != 0;
  }

  StructReader keg, keg_domain, zone, cache, zone_domain;
  StructField keg_next = keg.field("uk_link.le_next"), keg_zones = keg.field("uk_zones.lh_first"),
              keg_align = keg.field("uk_align"), keg_size = keg.field("uk_size"), keg_footprint = keg.field("uk_rsize"),
              keg_pages = keg.field("uk_ppera"), keg_items = keg.field("uk_ipers"), keg_flags = keg.field("uk_flags"),
              keg_header_at = keg.field("uk_pgoff");
  StructField partial = keg_domain.field("ud_part_slab.lh_first"), full = keg_domain.field("ud_full_slab.lh_first"),
              domain_pages = keg_domain.field("ud_pages"), domain_free = keg_domain.field("ud_free_items");
  StructField zone_next = zone.field("uz_link.le_next"), zone_name = zone.field("uz_name"),
              zone_size = zone.field("uz_size"), zone_max_items = zone.field("uz_max_items"),
              zone_items = zone.field("uz_items"), zone_sleeps = zone.field("uz_sleeps"),
              zone_cross_domain = zone.field("uz_xdomain"), zone_allocs = zone.field("uz_allocs"),
              zone_frees = zone.field("uz_frees"), zone_fails = zone.field("uz_fails");
  std::pair<StructField, StructField> cpu_buckets[3] = {
      {cache.field("uc_freebucket.ucb_bucket"), cache.field("uc_freebucket.ucb_cnt")},
      {cache.field("uc_allocbucket.ucb_bucket"), cache.field("uc_allocbucket.ucb_cnt")},
      {cache.field("uc_crossbucket.ucb_bucket"), cache.field("uc_crossbucket.ucb_cnt")}};
  StructField cache_allocs = cache.field("uc_allocs"), cache_frees = cache.field("uc_frees");
  StructField zone_buckets = zone_domain.field("uzd_buckets.stqh_first"), zone_cross = zone_domain.field("uzd_cross"),
              cached_items = zone_domain.field("uzd_nitems");
  std::optional<std::uint64_t> domains_at = keg.offset_of("uk_domain"), cpus_at = zone.offset_of("uz_cpu");
};

/// Loads each numbered element of an array of structs and calls `take(number)`; `fail(subject, why)` if it is unreadable.
template <typename Take, typename Fail>
void load_each(StructReader& type, std::uint64_t array, const std::vector<std::uint32_t>& numbers, const char* subject,
               Take take, Fail fail) {
  for (const std::uint32_t number : numbers) {
    if (auto loaded = type.load(array + number * type.size()); loaded) {
      take(number);
    } else {
      fail(subject + std::to_string(number), to_string(loaded.error()));
    }
  }
}

/// Walks all zones, by keg, then those without one. Errors: kKvmNoSymbol if the kernel file lacks the list or a type;
/// those of read() if the head is unreadable. Ends at torn, poisoned or circular entries.
Result<UmaWalk> walk_uma_zones(FreeBsdKernel& kernel);

/// Finds the allocated objects of a zone, and lists at most `most`; zones that share a keg have the objects of all. Who
/// allocated them is unknown. Errors: kNotPresent for a zone without a keg; kKvmNoSymbol if a type is missing; those of
/// read() if the keg is unreadable. Problems with a single slab or bucket become notes.
Result<SlabObjects> read_uma_objects(FreeBsdKernel& kernel, const FreeBsdMachine& machine, const UmaZone& zone,
                                     std::uint64_t most);

}  // namespace memstat::postmortem
