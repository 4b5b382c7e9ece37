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
    return keg_.next && keg_.zones && keg_.size && zone_.next && zone_.name && zone_.allocs && cpus_at_ && domains_at_ &&
           cache_.allocs && cache_.type.size() != 0 && zone_domain_.type.size() != 0 && keg_domain_.type.size() != 0;
  }

  Result<FreeBsdStream> read() {
    const auto kegs = kernel_.read_variable<std::uint64_t>("uma_kegs");
    if (!kegs) return kegs.error();
    ListWalk walk("the list of kegs");
    for (std::uint64_t at = *kegs; walk.goes_on(at); at = keg_.type.get(keg_.next)) {
      if (auto loaded = keg_.type.load(at); !loaded) {
        walk.stop(loaded.error());
        break;
      }
      read_zones(keg_.type.get(keg_.zones), "the zones of a keg", read_keg(at));
    }
    add_damage(result_.damage, "zones", walk.damage());
    // A kernel without such a list has no such zones.
    if (const auto cache_zones = kernel_.read_variable<std::uint64_t>("uma_cachezones")) {
      read_zones(*cache_zones, "the zones without a keg", {});
    }
    result_.count = stream_.count();
    result_.bytes = stream_.take();
    return std::move(result_);
  }

 private:
  struct Keg {
    bool exists = false;
    bool is_internal = false;
    std::uint64_t align = 0;
    std::uint64_t size = 0;
    std::uint64_t footprint = 0;
    std::uint64_t pages_per_slab = 0;
    std::uint64_t items_per_slab = 0;
    std::uint64_t pages = 0;
    std::uint64_t free = 0;
    std::string damage = {};
  };

  /// Reads the loaded keg.
  Keg read_keg(std::uint64_t at) {
    const auto get = [this](StructField field) { return keg_.type.get(field); };
    Keg keg{.exists = true,
            .is_internal = (get(keg_.flags) & kInternal) != 0,
            .align = get(keg_.align),
            .size = get(keg_.size),
            .footprint = get(keg_.footprint),
            .pages_per_slab = get(keg_.pages_per_slab),
            .items_per_slab = get(keg_.items_per_slab)};
    for (std::uint32_t domain = 0; domain < machine_.domains; ++domain) {
      const std::uint64_t address = at + *domains_at_ + domain * keg_domain_.type.size();
      if (auto loaded = keg_domain_.type.load(address); !loaded) {
        keg.damage = "its keg's domain " + std::to_string(domain) + ": " + to_string(loaded.error());
        break;
      }
      keg.pages += keg_domain_.type.get(keg_domain_.pages);
      keg.free += keg_domain_.type.get(keg_domain_.free);
    }
    return keg;
  }

  void read_zones(std::uint64_t first, std::string_view what, const Keg& keg) {
    ListWalk walk(what);
    for (std::uint64_t at = first; walk.goes_on(at); at = zone_.type.get(zone_.next)) {
      if (auto loaded = zone_.type.load(at); !loaded) {
        walk.stop(loaded.error());
        break;
      }
      std::string damage = keg.damage;
      const std::string name = read_name(kernel_, zone_.type.get(zone_.name), damage);
      if (!stream_.add(name)) {
        walk.stop("there are more than fit");
        break;
      }
      put_keg(keg, at == first);
      put_counters(damage);
      if (!keg.is_internal) put_cpus(at, damage);
      put_domains(at, damage);
      add_damage(result_.damage, "zone " + name, damage);
    }
    add_damage(result_.damage, "zones", walk.damage());
  }

  void put_keg(const Keg& keg, bool is_first) {
    if (!keg.exists) {
      stream_.put(UmaRecord::kSizeAt, narrow(zone_.type.get(zone_.size)));
      return;
    }
    const std::uint64_t limit = zone_.type.get(zone_.max_items);
    const auto pages_of = [&keg](std::uint64_t items) {
      return keg.items_per_slab == 0 ? 0 : saturating_product(items / keg.items_per_slab, keg.pages_per_slab);
    };
    stream_.put(UmaRecord::kAlignAt, narrow(keg.align));
    stream_.put(UmaRecord::kSizeAt, narrow(keg.size));
    stream_.put(UmaRecord::kRSizeAt, narrow(keg.footprint));
    stream_.put(UmaRecord::kMaxPagesAt, narrow(pages_of(limit)));
    stream_.put(UmaRecord::kLimitAt, narrow(limit));
    stream_.put(UmaRecord::kPagesAt, narrow(limit == 0 ? keg.pages : pages_of(zone_.type.get(zone_.items) & kItemsMask)));
    stream_.put(UmaRecord::kKegFreeAt, narrow(keg.free));
    stream_.put(UmaRecord::kFlagsAt, is_first ? 0U : UmaRecord::kSecondaryFlag);
  }

  void put_counters(std::string& damage) {
    std::size_t at = UmaRecord::kAllocsAt;
    for (const StructField counter : {zone_.allocs, zone_.frees, zone_.fails}) {
      put_counter(at, counter, damage);
      at += 8;
    }
    put_counter(UmaRecord::kXDomainAt, zone_.cross_domain, damage);
    stream_.put(UmaRecord::kSleepsAt, zone_.type.get(zone_.sleeps));
  }

  void put_counter(std::size_t at, StructField counter, std::string& damage) {
    const auto value = read_counter(kernel_, machine_, zone_.type.get(counter));
    if (value) stream_.put(at, *value);
    if (!value && damage.empty()) damage = "a counter: " + to_string(value.error());
  }

  void put_cpus(std::uint64_t zone, std::string& damage) {
    for (const std::uint32_t cpu : machine_.cpus) {
      if (auto loaded = cache_.type.load(zone + *cpus_at_ + cpu * cache_.type.size()); !loaded) {
        if (damage.empty()) damage = "of CPU " + std::to_string(cpu) + ": " + to_string(loaded.error());
        continue;
      }
      std::uint64_t free = 0;
      for (const StructField bucket : cache_.buckets) free += cache_.type.get(bucket);
      stream_.put(cpu, kCpuAllocsAt, cache_.type.get(cache_.allocs));
      stream_.put(cpu, kCpuFreesAt, cache_.type.get(cache_.frees));
      stream_.put(cpu, kCpuFreeAt, free);
    }
  }

  /// The domains of a zone follow the cache of its last CPU.
  void put_domains(std::uint64_t zone, std::string& damage) {
    const std::uint64_t begin = zone + *cpus_at_ + machine_.cpu_slots * cache_.type.size();
    std::uint64_t items = 0;
    for (std::uint32_t domain = 0; domain < machine_.domains; ++domain) {
      if (auto loaded = zone_domain_.type.load(begin + domain * zone_domain_.type.size()); !loaded) {
        if (damage.empty()) damage = "its domain " + std::to_string(domain) + ": " + to_string(loaded.error());
        break;
      }
      items += zone_domain_.type.get(zone_domain_.items);
    }
    stream_.put(UmaRecord::kZoneFreeAt, narrow(items));
  }

  struct KegFields {
    explicit KegFields(FreeBsdKernel& kernel) : type(kernel, "uma_keg") {}
    StructReader type;
    StructField next = type.field("uk_link.le_next");
    StructField zones = type.field("uk_zones.lh_first");
    StructField align = type.field("uk_align");
    StructField size = type.field("uk_size");
    StructField footprint = type.field("uk_rsize");
    StructField pages_per_slab = type.field("uk_ppera");
    StructField items_per_slab = type.field("uk_ipers");
    StructField flags = type.field("uk_flags");
  };
  struct ZoneFields {
    explicit ZoneFields(FreeBsdKernel& kernel) : type(kernel, "uma_zone") {}
    StructReader type;
    StructField next = type.field("uz_link.le_next");
    StructField name = type.field("uz_name");
    StructField size = type.field("uz_size");
    StructField max_items = type.field("uz_max_items");
    StructField items = type.field("uz_items");
    StructField sleeps = type.field("uz_sleeps");
    StructField cross_domain = type.field("uz_xdomain");
    StructField allocs = type.field("uz_allocs");
    StructField frees = type.field("uz_frees");
    StructField fails = type.field("uz_fails");
  };
  struct CacheFields {
    explicit CacheFields(FreeBsdKernel& kernel) : type(kernel, "uma_cache") {}
    StructReader type;
    StructField buckets[3] = {type.field("uc_freebucket.ucb_cnt"), type.field("uc_allocbucket.ucb_cnt"),
                              type.field("uc_crossbucket.ucb_cnt")};
    StructField allocs = type.field("uc_allocs");
    StructField frees = type.field("uc_frees");
  };
  struct KegDomainFields {
    explicit KegDomainFields(FreeBsdKernel& kernel) : type(kernel, "uma_domain") {}
    StructReader type;
    StructField pages = type.field("ud_pages");
    StructField free = type.field("ud_free_items");
  };
  struct ZoneDomainFields {
    explicit ZoneDomainFields(FreeBsdKernel& kernel) : type(kernel, "uma_zone_domain") {}
    StructReader type;
    StructField items = type.field("uzd_nitems");
  };

  FreeBsdKernel& kernel_;
  const FreeBsdMachine& machine_;
  KegFields keg_{kernel_};
  ZoneFields zone_{kernel_};
  CacheFields cache_{kernel_};
  KegDomainFields keg_domain_{kernel_};
  ZoneDomainFields zone_domain_{kernel_};
  std::optional<std::uint64_t> cpus_at_ = zone_.type.offset_of("uz_cpu");
  std::optional<std::uint64_t> domains_at_ = keg_.type.offset_of("uk_domain");
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
