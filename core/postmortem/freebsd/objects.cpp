// SPDX-License-Identifier: BSD-2-Clause
// sys/vm/uma_int.h and uma_core.c of FreeBSD 13 to 15: slab_item() computes an item's address.
#include "core/postmortem/freebsd/objects.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

#include "core/base/arithmetic.h"
#include "core/base/text.h"
#include "core/postmortem/freebsd/list.h"
#include "core/postmortem/kernel/struct_reader.h"

namespace memstat::postmortem {
namespace {

constexpr std::uint64_t kSlabIsOffPage = 0x0020'0000;  // UMA_ZFLAG_OFFPAGE: struct uma_slab is outside the slab's pages
constexpr std::size_t kMaxUmaNotes = 20;
constexpr std::uint64_t kMaxUmaSlabs = 1U << 26U;     // in a list
constexpr std::uint64_t kMaxItemsOfSlab = 1U << 16U;  // uk_ipers has 16 bits
constexpr std::uint64_t kMaxInBucket = 4096;          // the kernel's largest bucket has 256 or 1024
constexpr std::uint64_t kMaxBuckets = 1U << 16U;      // in a domain
constexpr std::size_t kMaxCached = 1U << 22U;         // items in buckets of all zones of a keg
constexpr std::uint64_t kBitsOfWord = 64;

/// Detects the end of a list that may be circular and of any length, without remembering all entries.
class LongList {
 public:
  explicit LongList(std::uint64_t most) : most_(most) {}

  /// Whether there is an entry at this address.
  bool goes_on(std::uint64_t address) {
    if (address == 0) return false;
    if (address == mark_ || count_ == most_) {
      damage_ = address == mark_ ? "the list is circular" : "it has no end";
      return false;
    }
    if (std::has_single_bit(++count_)) mark_ = address;  // a circle returns to it before the count has doubled twice
    return true;
  }
  [[nodiscard]] const std::string& damage() const { return damage_; }

 private:
  std::uint64_t most_;
  std::uint64_t count_ = 0;
  std::uint64_t mark_ = 0;
  std::string damage_;
};

class ItemReader {
 public:
  ItemReader(FreeBsdKernel& kernel, const FreeBsdMachine& machine, const UmaZone& zone, std::uint64_t most)
      : kernel_(kernel), machine_(machine), zone_(zone), most_(most) {}

  Result<SlabObjects> run() {
    if (!has_types()) return missing_type(kernel_, "uma_slab");
    if (auto loaded = keg_.load(zone_.keg); !loaded) return loaded.error();
    items_per_slab_ = std::min(keg_.get(keg_items_), kMaxItemsOfSlab);
    item_bytes_ = keg_.get(keg_footprint_);
    is_off_page_ = (keg_.get(keg_flags_) & kSlabIsOffPage) != 0;
    for (const std::uint64_t zone : zone_.zones_of_keg) collect_cached(zone);
    std::sort(cached_.begin(), cached_.end());
    for (std::uint32_t domain = 0; domain < machine_.domains; ++domain) read_domain(domain);
    found_.counted = expected_ - std::min(expected_, free_in_slabs_ + cached_count_);
    if (found_.count != found_.counted) {
      note(std::to_string(found_.count) + " allocated objects were found; by its counters there are " +
           std::to_string(found_.counted));
    }
    read_words_of_found();
    return std::move(found_);
  }

 private:
  [[nodiscard]] bool has_types() const {
    return keg_items_ && keg_footprint_ && keg_header_at_ && domains_at_ && domain_.size() != 0 && partial_ && full_ &&
           slab_next_ && slab_free_count_ && bits_at_ && hash_data_ && slab_in_hash_at_ && cpus_at_ && cache_.size() != 0 &&
           zone_domain_.size() != 0 && domain_buckets_ && bucket_count_ && bucket_next_ && items_at_;
  }

  void note(std::string what) {
    if (found_.notes.size() < kMaxUmaNotes) found_.notes.push_back(std::move(what));
  }

  /// Collects the items that a zone caches.
  void collect_cached(std::uint64_t zone) {
    for (const std::uint32_t cpu : machine_.cpus) {
      if (auto loaded = cache_.load(zone + *cpus_at_ + cpu * cache_.size()); !loaded) {
        note("CPU " + std::to_string(cpu) + ": " + to_string(loaded.error()));
        continue;
      }
      // The count in a CPU's bucket is outdated: it dates from when the CPU took the bucket.
      for (const auto& [bucket, count] : cpu_buckets_) take_bucket(cache_.get(bucket), cache_.get(count));
    }
    const std::uint64_t begin = zone + *cpus_at_ + machine_.cpu_slots * cache_.size();
    for (std::uint32_t domain = 0; domain < machine_.domains; ++domain) {
      if (auto loaded = zone_domain_.load(begin + domain * zone_domain_.size()); !loaded) {
        note("domain " + std::to_string(domain) + " of the zone: " + to_string(loaded.error()));
        continue;
      }
      const std::uint64_t first = zone_domain_.get(domain_buckets_);
      const std::uint64_t cross = domain_cross_ ? zone_domain_.get(domain_cross_) : 0;
      LongList list(kMaxBuckets);
      for (std::uint64_t at = first; list.goes_on(at); at = bucket_.get(bucket_next_)) {
        if (!take_own_bucket(at)) break;
      }
      if (!list.damage().empty()) note("buckets of domain " + std::to_string(domain) + ": " + list.damage());
      if (cross != 0) take_own_bucket(cross);
    }
  }

  /// Loads a bucket with a valid count of its own. Returns false if it is unreadable.
  bool take_own_bucket(std::uint64_t address) {
    if (auto loaded = bucket_.load(address); !loaded) {
      note("a bucket: " + to_string(loaded.error()));
      return false;
    }
    take_bucket(address, bucket_.get(bucket_count_));
    return true;
  }

  void take_bucket(std::uint64_t address, std::uint64_t count) {
    if (address == 0 || count == 0) return;
    if (count > kMaxInBucket) return note("the bucket at " + hex(address) + " has more items than any can");
    if (cached_.size() > kMaxCached) return note("its buckets have more items than are examined");
    const std::size_t before = cached_.size();
    cached_.resize(before + static_cast<std::size_t>(count));
    auto read = kernel_.read(address + *items_at_, reinterpret_cast<char*>(cached_.data() + before),
                             static_cast<std::size_t>(count) * sizeof(std::uint64_t));
    cached_count_ += count;
    if (read) return;
    cached_.resize(before);
    note("the bucket at " + hex(address) + ": " + to_string(read.error()));
  }

  void read_domain(std::uint32_t domain) {
    const std::string subject = "domain " + std::to_string(domain);
    if (auto loaded = domain_.load(zone_.keg + *domains_at_ + domain * domain_.size()); !loaded) {
      return note(subject + ": " + to_string(loaded.error()));
    }
    const std::uint64_t pages_per_slab = std::max<std::uint64_t>(1, keg_.get(keg_pages_));
    expected_ = saturating_sum(expected_, saturating_product(domain_.get(domain_pages_) / pages_per_slab, items_per_slab_));
    free_in_slabs_ = saturating_sum(free_in_slabs_, domain_.get(domain_free_));
    // The third list has only completely free slabs.
    for (const StructField head : {partial_, full_}) read_slabs(subject, domain_.get(head));
  }

  void read_slabs(const std::string& subject, std::uint64_t first) {
    LongList list(kMaxUmaSlabs);
    for (std::uint64_t at = first; list.goes_on(at);) {
      if (auto loaded = slab_.load(at); !loaded) return note("a slab of " + subject + ": " + to_string(loaded.error()));
      const std::uint64_t next = slab_.get(slab_next_);
      read_uma_slab(at);
      at = next;
    }
    if (!list.damage().empty()) note("the slabs of " + subject + ": " + list.damage());
  }

  /// Reads the loaded slab.
  void read_uma_slab(std::uint64_t slab) {
    std::uint64_t begin = slab - keg_.get(keg_header_at_);
    if (is_off_page_) {
      if (auto loaded = hash_slab_.load(slab - *slab_in_hash_at_); !loaded) {
        return note("the slab at " + hex(slab) + ": " + to_string(loaded.error()));
      }
      begin = hash_slab_.get(hash_data_);
    }
    free_bits_.resize(static_cast<std::size_t>((items_per_slab_ + kBitsOfWord - 1) / kBitsOfWord));
    if (auto read = kernel_.read(slab + *bits_at_, reinterpret_cast<char*>(free_bits_.data()),
                                 free_bits_.size() * sizeof(std::uint64_t));
        !read) {
      return note("the slab at " + hex(slab) + ": " + to_string(read.error()));
    }
    std::uint64_t free = 0;
    for (std::uint64_t item = 0; item < items_per_slab_; ++item) {
      if ((free_bits_[static_cast<std::size_t>(item / kBitsOfWord)] >> item % kBitsOfWord & 1U) != 0) {
        ++free;
      } else {
        take_item(begin + item * item_bytes_);
      }
    }
    if (free != slab_.get(slab_free_count_)) {
      note("the slab at " + hex(slab) + ": " + std::to_string(free) + " of " + std::to_string(slab_.get(slab_free_count_)) +
           " free items have their bit");
    }
  }

  void take_item(std::uint64_t address) {
    if (std::binary_search(cached_.begin(), cached_.end(), address)) return;
    ++found_.count;
    // A heap of the lowest addresses, with the highest of them at the top.
    if (lowest_.size() < most_) {
      lowest_.push_back(address);
      std::push_heap(lowest_.begin(), lowest_.end());
    } else if (!lowest_.empty() && address < lowest_.front()) {
      std::pop_heap(lowest_.begin(), lowest_.end());
      lowest_.back() = address;
      std::push_heap(lowest_.begin(), lowest_.end());
    }
  }

  void read_words_of_found() {
    std::sort_heap(lowest_.begin(), lowest_.end());
    const std::size_t words =
        static_cast<std::size_t>(std::min<std::uint64_t>(SlabObjects::kWords, zone_.object_size / sizeof(std::uint64_t)));
    for (const std::uint64_t address : lowest_) {
      SlabObject& object = found_.objects.emplace_back();
      object.address = address;
      object.words.resize(words);
      if (!kernel_.read(address, reinterpret_cast<char*>(object.words.data()), words * sizeof(std::uint64_t))) {
        object.words.clear();
      }
    }
  }

  FreeBsdKernel& kernel_;
  const FreeBsdMachine& machine_;
  const UmaZone& zone_;
  std::uint64_t most_;

  StructReader keg_{kernel_, "uma_keg"};
  StructField keg_items_ = keg_.field("uk_ipers");
  StructField keg_footprint_ = keg_.field("uk_rsize");
  StructField keg_pages_ = keg_.field("uk_ppera");
  StructField keg_flags_ = keg_.field("uk_flags");
  StructField keg_header_at_ = keg_.field("uk_pgoff");
  std::optional<std::uint64_t> domains_at_ = keg_.offset_of("uk_domain");
  StructReader domain_{kernel_, "uma_domain"};
  StructField partial_ = domain_.field("ud_part_slab.lh_first");
  StructField full_ = domain_.field("ud_full_slab.lh_first");
  StructField domain_pages_ = domain_.field("ud_pages");
  StructField domain_free_ = domain_.field("ud_free_items");
  StructReader slab_{kernel_, "uma_slab"};
  StructField slab_next_ = slab_.field("us_link.le_next");
  StructField slab_free_count_ = slab_.field("us_freecount");
  std::optional<std::uint64_t> bits_at_ = slab_.offset_of("us_free");
  StructReader hash_slab_{kernel_, "uma_hash_slab"};
  StructField hash_data_ = hash_slab_.field("uhs_data");
  std::optional<std::uint64_t> slab_in_hash_at_ = hash_slab_.offset_of("uhs_slab");
  std::optional<std::uint64_t> cpus_at_ = StructReader(kernel_, "uma_zone").offset_of("uz_cpu");
  StructReader cache_{kernel_, "uma_cache"};
  std::pair<StructField, StructField> cpu_buckets_[3] = {
      {cache_.field("uc_freebucket.ucb_bucket"), cache_.field("uc_freebucket.ucb_cnt")},
      {cache_.field("uc_allocbucket.ucb_bucket"), cache_.field("uc_allocbucket.ucb_cnt")},
      {cache_.field("uc_crossbucket.ucb_bucket"), cache_.field("uc_crossbucket.ucb_cnt")}};
  StructReader zone_domain_{kernel_, "uma_zone_domain"};
  StructField domain_buckets_ = zone_domain_.field("uzd_buckets.stqh_first");
  StructField domain_cross_ = zone_domain_.field("uzd_cross");
  StructReader bucket_{kernel_, "uma_bucket"};
  StructField bucket_next_ = bucket_.field("ub_link.stqe_next");
  StructField bucket_count_ = bucket_.field("ub_cnt");
  std::optional<std::uint64_t> items_at_ = bucket_.offset_of("ub_bucket");

  std::uint64_t items_per_slab_ = 0;
  std::uint64_t item_bytes_ = 0;  // distance between items
  bool is_off_page_ = false;
  std::vector<std::uint64_t> cached_;
  std::uint64_t cached_count_ = 0;
  std::uint64_t expected_ = 0;  // items of all slabs
  std::uint64_t free_in_slabs_ = 0;
  std::vector<std::uint64_t> free_bits_;  // free items of the current slab
  std::vector<std::uint64_t> lowest_;     // allocated items, as a heap
  SlabObjects found_;
};

/// Walks kegs and zones.
class ZoneNames {
 public:
  explicit ZoneNames(FreeBsdKernel& kernel) : kernel_(kernel) {}

  Result<UmaWalk> run() {
    if (!keg_next_ || !keg_zones_ || !zone_next_ || !zone_name_) return missing_type(kernel_, "uma_zone");
    const auto kegs = kernel_.read_variable<std::uint64_t>("uma_kegs");
    if (!kegs) return kegs.error();
    const std::string damage = walk_list("the list of kegs", keg_, *kegs, keg_next_, [this](std::uint64_t at) {
      take_zones(keg_.get(keg_zones_), "the zones of a keg", at, keg_.get(keg_size_));
      return true;
    });
    add_damage(walk_.damage, "zones", damage);
    // A kernel without such a list has no such zones.
    if (const auto cache_zones = kernel_.read_variable<std::uint64_t>("uma_cachezones")) {
      take_zones(*cache_zones, "the zones without a keg", 0, 0);
    }
    return std::move(walk_);
  }

 private:
  void take_zones(std::uint64_t first, std::string_view what, std::uint64_t keg, std::uint64_t object_size) {
    const std::size_t begin = walk_.zones.size();
    std::vector<std::uint64_t> addresses;
    const std::string end = walk_list(what, zone_, first, zone_next_, [&](std::uint64_t at) {
      std::string damage;
      UmaZone& zone = walk_.zones.emplace_back();
      zone.name = read_name(kernel_, zone_.get(zone_name_), damage);
      zone.address = at;
      zone.is_first = addresses.empty();
      zone.keg = keg;
      zone.object_size = keg != 0 ? object_size : zone_.get(zone_size_);
      addresses.push_back(at);
      add_damage(walk_.damage, "zone " + zone.name, damage);
      return true;
    });
    add_damage(walk_.damage, "zones", end);
    if (keg == 0) return;
    constexpr std::size_t kMaxShared = 64;  // a keg has two or three
    for (std::size_t i = begin; i < walk_.zones.size() && addresses.size() <= kMaxShared; ++i) {
      walk_.zones[i].zones_of_keg = addresses;
      for (std::size_t other = begin; other < walk_.zones.size(); ++other) {
        if (other != i) walk_.zones[i].names_in_common.push_back(walk_.zones[other].name);
      }
    }
  }

  FreeBsdKernel& kernel_;
  StructReader keg_{kernel_, "uma_keg"};
  StructField keg_next_ = keg_.field("uk_link.le_next");
  StructField keg_zones_ = keg_.field("uk_zones.lh_first");
  StructField keg_size_ = keg_.field("uk_size");
  StructReader zone_{kernel_, "uma_zone"};
  StructField zone_next_ = zone_.field("uz_link.le_next");
  StructField zone_name_ = zone_.field("uz_name");
  StructField zone_size_ = zone_.field("uz_size");
  UmaWalk walk_;
};

}  // namespace

Result<UmaWalk> walk_uma_zones(FreeBsdKernel& kernel) { return ZoneNames(kernel).run(); }

Result<SlabObjects> read_uma_objects(FreeBsdKernel& kernel, const FreeBsdMachine& machine, const UmaZone& zone,
                                     std::uint64_t most) {
  if (zone.keg == 0) {
    return make_error(ErrorCode::kNotPresent, kernel.name(),
                      "zone " + make_label_text(zone.name) + " has no slabs: it caches items of another allocator");
  }
  auto found = ItemReader(kernel, machine, zone, most).run();
  if (found && !zone.names_in_common.empty()) {
    std::string others;
    for (const std::string& name : zone.names_in_common) others += (others.empty() ? "" : ", ") + make_label_text(name);
    found->notes.push_back("shares its slabs with " + others + ": these are the objects of all of them");
  }
  return found;
}

}  // namespace memstat::postmortem
