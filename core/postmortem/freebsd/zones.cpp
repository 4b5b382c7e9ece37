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

class ZoneReader {
 public:
  ZoneReader(FreeBsdKernel& kernel, const FreeBsdMachine& machine)
      : kernel_(kernel), machine_(machine), stream_(machine.cpu_slots, UmaRecord::kSize) {}

  [[nodiscard]] bool has_types() const {
    return keg_size_ && zone_allocs_ && cpus_at_ && domains_at_ && cache_allocs_ && cache_.size() != 0 &&
           zone_domain_.size() != 0 && keg_domain_.size() != 0;
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
      if (auto loaded = zone_.load(zone.address); loaded) {
        put_keg(keg, zone.is_first);
        put_counters(damage);
        if (!keg.exists || (keg_.get(keg_flags_) & kInternal) == 0) put_cpus(zone.address, damage);
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
    if (auto loaded = keg_.load(at); !loaded) return {.damage = "its keg: " + to_string(loaded.error())};
    Keg keg{.exists = true};
    for (std::uint32_t domain = 0; domain < machine_.domains; ++domain) {
      if (auto loaded = keg_domain_.load(at + *domains_at_ + domain * keg_domain_.size()); !loaded) {
        keg.damage = "its keg's domain " + std::to_string(domain) + ": " + to_string(loaded.error());
        break;
      }
      keg.pages += keg_domain_.get(domain_pages_);
      keg.free += keg_domain_.get(domain_free_);
    }
    return keg;
  }

  void put_keg(const Keg& keg, bool is_first) {
    if (!keg.exists) {
      stream_.put(UmaRecord::kSizeAt, narrow(zone_.get(zone_size_)));
      return;
    }
    const std::uint64_t limit = zone_.get(zone_max_items_);
    const auto pages_of = [this](std::uint64_t items) {
      const std::uint64_t per_slab = keg_.get(keg_items_);
      return per_slab == 0 ? 0 : saturating_product(items / per_slab, keg_.get(keg_pages_));
    };
    stream_.put(UmaRecord::kAlignAt, narrow(keg_.get(keg_align_)));
    stream_.put(UmaRecord::kSizeAt, narrow(keg_.get(keg_size_)));
    stream_.put(UmaRecord::kRSizeAt, narrow(keg_.get(keg_footprint_)));
    stream_.put(UmaRecord::kMaxPagesAt, narrow(pages_of(limit)));
    stream_.put(UmaRecord::kLimitAt, narrow(limit));
    stream_.put(UmaRecord::kPagesAt, narrow(limit == 0 ? keg.pages : pages_of(zone_.get(zone_items_) & kItemsMask)));
    stream_.put(UmaRecord::kKegFreeAt, narrow(keg.free));
    stream_.put(UmaRecord::kFlagsAt, is_first ? 0U : UmaRecord::kSecondaryFlag);
  }

  void put_counters(std::string& damage) {
    std::size_t at = UmaRecord::kAllocsAt;
    for (const StructField counter : {zone_allocs_, zone_frees_, zone_fails_}) {
      put_counter(at, counter, damage);
      at += 8;
    }
    put_counter(UmaRecord::kXDomainAt, zone_cross_domain_, damage);
    stream_.put(UmaRecord::kSleepsAt, zone_.get(zone_sleeps_));
  }

  void put_counter(std::size_t at, StructField counter, std::string& damage) {
    const auto value = read_counter(kernel_, machine_, zone_.get(counter));
    if (value) stream_.put(at, *value);
    if (!value && damage.empty()) damage = "a counter: " + to_string(value.error());
  }

  void put_cpus(std::uint64_t zone, std::string& damage) {
    for (const std::uint32_t cpu : machine_.cpus) {
      if (auto loaded = cache_.load(zone + *cpus_at_ + cpu * cache_.size()); !loaded) {
        if (damage.empty()) damage = "of CPU " + std::to_string(cpu) + ": " + to_string(loaded.error());
        continue;
      }
      std::uint64_t free = 0;
      for (const StructField bucket : cache_buckets_) free += cache_.get(bucket);
      stream_.put(cpu, kCpuAllocsAt, cache_.get(cache_allocs_));
      stream_.put(cpu, kCpuFreesAt, cache_.get(cache_frees_));
      stream_.put(cpu, kCpuFreeAt, free);
    }
  }

  /// The domains of a zone follow the cache of its last CPU.
  void put_domains(std::uint64_t zone, std::string& damage) {
    const std::uint64_t begin = zone + *cpus_at_ + machine_.cpu_slots * cache_.size();
    std::uint64_t items = 0;
    for (std::uint32_t domain = 0; domain < machine_.domains; ++domain) {
      if (auto loaded = zone_domain_.load(begin + domain * zone_domain_.size()); !loaded) {
        if (damage.empty()) damage = "its domain " + std::to_string(domain) + ": " + to_string(loaded.error());
        break;
      }
      items += zone_domain_.get(domain_items_);
    }
    stream_.put(UmaRecord::kZoneFreeAt, narrow(items));
  }

  FreeBsdKernel& kernel_;
  const FreeBsdMachine& machine_;
  StructReader keg_{kernel_, "uma_keg"};
  const StructField keg_align_ = keg_.field("uk_align");
  const StructField keg_size_ = keg_.field("uk_size");
  const StructField keg_footprint_ = keg_.field("uk_rsize");
  const StructField keg_pages_ = keg_.field("uk_ppera");
  const StructField keg_items_ = keg_.field("uk_ipers");
  const StructField keg_flags_ = keg_.field("uk_flags");
  const std::optional<std::uint64_t> domains_at_ = keg_.offset_of("uk_domain");
  StructReader keg_domain_{kernel_, "uma_domain"};
  const StructField domain_pages_ = keg_domain_.field("ud_pages");
  const StructField domain_free_ = keg_domain_.field("ud_free_items");
  StructReader zone_{kernel_, "uma_zone"};
  const StructField zone_size_ = zone_.field("uz_size");
  const StructField zone_max_items_ = zone_.field("uz_max_items");
  const StructField zone_items_ = zone_.field("uz_items");
  const StructField zone_sleeps_ = zone_.field("uz_sleeps");
  const StructField zone_cross_domain_ = zone_.field("uz_xdomain");
  const StructField zone_allocs_ = zone_.field("uz_allocs");
  const StructField zone_frees_ = zone_.field("uz_frees");
  const StructField zone_fails_ = zone_.field("uz_fails");
  const std::optional<std::uint64_t> cpus_at_ = zone_.offset_of("uz_cpu");
  StructReader cache_{kernel_, "uma_cache"};
  const StructField cache_buckets_[3] = {cache_.field("uc_freebucket.ucb_cnt"), cache_.field("uc_allocbucket.ucb_cnt"),
                                         cache_.field("uc_crossbucket.ucb_cnt")};
  const StructField cache_allocs_ = cache_.field("uc_allocs");
  const StructField cache_frees_ = cache_.field("uc_frees");
  StructReader zone_domain_{kernel_, "uma_zone_domain"};
  const StructField domain_items_ = zone_domain_.field("uzd_nitems");

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
