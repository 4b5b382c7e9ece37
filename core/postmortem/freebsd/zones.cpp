// SPDX-License-Identifier: BSD-2-Clause
// The zones of a FreeBSD kernel's uma(9): the list uma_kegs of kegs with their zones, and uma_cachezones of zones
// without a keg (sys/vm/uma_int.h, uma_core.c), in FreeBSD 13 to 15. Counts like the kernel's sysctl: a zone's items by
// CPU are those in the three buckets (uma_cache); zone_free are those in buckets of its domains; a keg's free items are
// those in slabs of its domains; a zone that is not the keg's first shares the keg.
#include <optional>
#include <utility>

#include "core/base/arithmetic.h"
#include "core/parse/uma_record.h"
#include "core/postmortem/freebsd/list.h"
#include "core/postmortem/freebsd/objects.h"
#include "core/postmortem/freebsd/streams.h"
#include "core/postmortem/kernel/struct_reader.h"

namespace memstat::postmortem {
namespace {

constexpr std::uint64_t kInternal = 0x2000'0000;                    // UMA_ZFLAG_INTERNAL: its per-CPU caches are not counted
constexpr std::uint64_t kItemsMask = (std::uint64_t{1} << 44) - 1;  // in uz_items; the other bits are sleepers

// Offsets in a CPU's block.
constexpr std::size_t kCpuAllocsAt = 0;
constexpr std::size_t kCpuFreesAt = 8;
constexpr std::size_t kCpuFreeAt = 16;

std::uint32_t narrow(std::uint64_t number) { return static_cast<std::uint32_t>(number); }  // as the kernel does

/// Keeps the first problem.
auto first_in(std::string& damage) {
  return [&damage](const std::string& subject, const std::string& why) {
    if (damage.empty()) damage = subject + ": " + why;
  };
}

class ZoneReader {
 public:
  ZoneReader(FreeBsdKernel& kernel, const FreeBsdMachine& machine)
      : kernel_(kernel), machine_(machine), stream_(machine.cpu_slots, UmaRecord::kSize) {}

  [[nodiscard]] bool has_types() const {
    return uma_.has_arrays() && uma_.keg_size && uma_.zone_allocs && uma_.cache_allocs;
  }

  Result<FreeBsdStream> read() {
    auto walk = walk_uma_zones(kernel_);
    if (!walk) return walk.error();
    result_.damage = std::move(walk->damage);
    Keg keg;
    for (const UmaZone& zone : walk->zones) {
      if (zone.keg == 0) keg = {};
      if (zone.keg != 0 && zone.is_first) keg = read_keg(zone.keg);
      std::string damage = keg.damage;
      if (!stream_.add(zone.name)) {
        add_damage(result_.damage, "zones", "there are too many");
        break;
      }
      if (auto loaded = uma_.zone.load(zone.address); loaded) {
        put_keg(keg, zone.is_first);
        put_counters(damage);
        if (!keg.exists || (uma_.keg.get(uma_.keg_flags) & kInternal) == 0) put_cpus(zone.address, damage);
        put_domains(zone.address, damage);
      } else {
        damage = to_string(loaded.error());
      }
      add_damage(result_.damage, "zone " + zone.name, damage);
    }
    result_.count = stream_.count();
    result_.bytes = stream_.take();
    return std::move(result_);
  }

 private:
  /// Figures of a keg that are not in its struct, which stays loaded for its zones.
  struct Keg {
    bool exists = false;
    std::uint64_t pages = 0;
    std::uint64_t free = 0;
    std::string damage = {};
  };

  Keg read_keg(std::uint64_t at) {
    if (auto loaded = uma_.keg.load(at); !loaded) return {.damage = "its keg: " + to_string(loaded.error())};
    Keg keg{.exists = true};
    const auto take = [&](std::uint32_t /*domain*/) {
      keg.pages += uma_.keg_domain.get(uma_.domain_pages);
      keg.free += uma_.keg_domain.get(uma_.domain_free);
    };
    load_each(uma_.keg_domain, at + *uma_.domains_at, machine_.domains, "its keg's domain ", take, first_in(keg.damage));
    return keg;
  }

  void put_keg(const Keg& keg, bool is_first) {
    if (!keg.exists) {
      stream_.put(UmaRecord::kSizeAt, narrow(uma_.zone.get(uma_.zone_size)));
      return;
    }
    const std::uint64_t limit = uma_.zone.get(uma_.zone_max_items);
    const auto pages_of = [this](std::uint64_t items) {
      const std::uint64_t per_slab = uma_.keg.get(uma_.keg_items);
      return per_slab == 0 ? 0 : saturating_product(items / per_slab, uma_.keg.get(uma_.keg_pages));
    };
    stream_.put(UmaRecord::kAlignAt, narrow(uma_.keg.get(uma_.keg_align)));
    stream_.put(UmaRecord::kSizeAt, narrow(uma_.keg.get(uma_.keg_size)));
    stream_.put(UmaRecord::kRSizeAt, narrow(uma_.keg.get(uma_.keg_footprint)));
    stream_.put(UmaRecord::kMaxPagesAt, narrow(pages_of(limit)));
    stream_.put(UmaRecord::kLimitAt, narrow(limit));
    stream_.put(UmaRecord::kPagesAt, narrow(limit == 0 ? keg.pages : pages_of(uma_.zone.get(uma_.zone_items) & kItemsMask)));
    stream_.put(UmaRecord::kKegFreeAt, narrow(keg.free));
    stream_.put(UmaRecord::kFlagsAt, is_first ? 0U : UmaRecord::kSecondaryFlag);
  }

  void put_counters(std::string& damage) {
    std::size_t at = UmaRecord::kAllocsAt;
    for (const StructField counter : {uma_.zone_allocs, uma_.zone_frees, uma_.zone_fails}) {
      put_counter(at, counter, damage);
      at += 8;
    }
    put_counter(UmaRecord::kXDomainAt, uma_.zone_cross_domain, damage);
    stream_.put(UmaRecord::kSleepsAt, uma_.zone.get(uma_.zone_sleeps));
  }

  void put_counter(std::size_t at, StructField counter, std::string& damage) {
    const auto value = read_counter(kernel_, machine_, uma_.zone.get(counter));
    if (value) stream_.put(at, *value);
    if (!value && damage.empty()) damage = "a counter: " + to_string(value.error());
  }

  void put_cpus(std::uint64_t zone, std::string& damage) {
    const auto take = [this](std::uint32_t cpu) {
      std::uint64_t free = 0;
      for (const auto& [bucket, count] : uma_.cpu_buckets) free += uma_.cache.get(count);
      stream_.put(cpu, kCpuAllocsAt, uma_.cache.get(uma_.cache_allocs));
      stream_.put(cpu, kCpuFreesAt, uma_.cache.get(uma_.cache_frees));
      stream_.put(cpu, kCpuFreeAt, free);
    };
    load_each(uma_.cache, uma_.cpus_of(zone), machine_.cpus, "of CPU ", take, first_in(damage));
  }

  void put_domains(std::uint64_t zone, std::string& damage) {
    std::uint64_t items = 0;
    load_each(
        uma_.zone_domain, uma_.domains_of(zone, machine_), machine_.domains, "its domain ",
        [&](std::uint32_t /*domain*/) { items += uma_.zone_domain.get(uma_.cached_items); }, first_in(damage));
    stream_.put(UmaRecord::kZoneFreeAt, narrow(items));
  }

  FreeBsdKernel& kernel_;
  const FreeBsdMachine& machine_;
  UmaTypes uma_{kernel_};
  StreamBytes stream_;
  FreeBsdStream result_;
};

}  // namespace

Result<FreeBsdStream> read_zone_stream(FreeBsdKernel& kernel, const FreeBsdMachine& machine) {
  ZoneReader zones(kernel, machine);
  if (!zones.has_types()) return missing_type(kernel, "uma_zone");
  return zones.read();
}

}  // namespace memstat::postmortem
