// SPDX-License-Identifier: BSD-2-Clause
// sys/vm/uma_int.h and uma_core.c of FreeBSD 13 to 15: slab_item() computes an item's address.
#include "core/postmortem/freebsd/objects.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <queue>
#include <utility>

#include "core/base/arithmetic.h"
#include "core/base/text.h"
#include "core/postmortem/freebsd/list.h"

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
    if (auto loaded = uma_.keg.load(zone_.keg); !loaded) return loaded.error();
    items_per_slab_ = std::min(uma_.keg.get(uma_.keg_items), kMaxItemsOfSlab);
    for (const std::uint64_t zone : zone_.zones_of_keg) collect_cached(zone);
    std::sort(cached_.begin(), cached_.end());
    load_each(
        uma_.keg_domain, zone_.keg + *uma_.domains_at, machine_.domains, "domain ",
        [this](std::uint32_t domain) { read_domain(domain); }, noted_);
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
    return uma_.has_arrays() && uma_.keg_items && uma_.keg_footprint && uma_.keg_header_at && uma_.partial && uma_.full &&
           slab_next_ && slab_free_count_ && bits_at_ && hash_data_ && slab_in_hash_at_ && uma_.zone_buckets &&
           bucket_count_ && bucket_next_ && items_at_;
  }
  void note(std::string what) {
    if (found_.notes.size() < kMaxUmaNotes) found_.notes.push_back(std::move(what));
  }

  /// Collects the items that a zone caches.
  void collect_cached(std::uint64_t zone) {
    const auto take_cpu = [this](std::uint32_t /*cpu*/) {
      // The count in a CPU's bucket is outdated: it dates from when the CPU took the bucket.
      for (const auto& [bucket, count] : uma_.cpu_buckets) take_bucket(uma_.cache.get(bucket), uma_.cache.get(count));
    };
    load_each(uma_.cache, uma_.cpus_of(zone), machine_.cpus, "CPU ", take_cpu, noted_);
    const auto take_domain = [this](std::uint32_t domain) {
      const std::uint64_t cross = uma_.zone_domain.get(uma_.zone_cross);
      LongList list(kMaxBuckets);
      for (std::uint64_t at = uma_.zone_domain.get(uma_.zone_buckets); list.goes_on(at); at = bucket_.get(bucket_next_)) {
        if (!take_own_bucket(at)) break;
      }
      if (!list.damage().empty()) note("buckets of domain " + std::to_string(domain) + ": " + list.damage());
      if (cross != 0) take_own_bucket(cross);
    };
    load_each(uma_.zone_domain, uma_.domains_of(zone, machine_), machine_.domains, "the zone's domain ", take_domain,
              noted_);
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

  /// Reads the slabs of the loaded domain. Its third list has only completely free slabs.
  void read_domain(std::uint32_t domain) {
    const std::uint64_t slabs =
        uma_.keg_domain.get(uma_.domain_pages) / std::max<std::uint64_t>(1, uma_.keg.get(uma_.keg_pages));
    expected_ = saturating_sum(expected_, saturating_product(slabs, items_per_slab_));
    free_in_slabs_ = saturating_sum(free_in_slabs_, uma_.keg_domain.get(uma_.domain_free));
    for (const StructField head : {uma_.partial, uma_.full}) {
      read_slabs("domain " + std::to_string(domain), uma_.keg_domain.get(head));
    }
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
    std::uint64_t begin = slab - uma_.keg.get(uma_.keg_header_at);
    if ((uma_.keg.get(uma_.keg_flags) & kSlabIsOffPage) != 0) {
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
    const std::uint64_t item_bytes = uma_.keg.get(uma_.keg_footprint);
    std::uint64_t free = 0;
    for (std::uint64_t item = 0; item < items_per_slab_; ++item) {
      if ((free_bits_[static_cast<std::size_t>(item / kBitsOfWord)] >> item % kBitsOfWord & 1U) != 0) {
        ++free;
      } else {
        take_item(begin + item * item_bytes);
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
    lowest_.push(address);
    if (lowest_.size() > most_) lowest_.pop();
  }

  void read_words_of_found() {
    const std::size_t words =
        static_cast<std::size_t>(std::min<std::uint64_t>(SlabObjects::kWords, zone_.object_size / sizeof(std::uint64_t)));
    found_.objects.resize(lowest_.size());
    for (auto object = found_.objects.rbegin(); object != found_.objects.rend(); ++object, lowest_.pop()) {
      object->address = lowest_.top();
      object->words.resize(words);
      if (!kernel_.read(object->address, reinterpret_cast<char*>(object->words.data()), words * sizeof(std::uint64_t))) {
        object->words.clear();
      }
    }
  }

  FreeBsdKernel& kernel_;
  const FreeBsdMachine& machine_;
  const UmaZone& zone_;
  std::uint64_t most_;
  UmaTypes uma_{kernel_};
  StructReader slab_{kernel_, "uma_slab"}, hash_slab_{kernel_, "uma_hash_slab"}, bucket_{kernel_, "uma_bucket"};
  StructField slab_next_ = slab_.field("us_link.le_next"), slab_free_count_ = slab_.field("us_freecount"),
              hash_data_ = hash_slab_.field("uhs_data"), bucket_next_ = bucket_.field("ub_link.stqe_next"),
              bucket_count_ = bucket_.field("ub_cnt");
  std::optional<std::uint64_t> bits_at_ = slab_.offset_of("us_free"), slab_in_hash_at_ = hash_slab_.offset_of("uhs_slab"),
                               items_at_ = bucket_.offset_of("ub_bucket");
  std::function<void(const std::string&, const std::string&)> noted_ =
      [this](const std::string& subject, const std::string& why) { note(subject + ": " + why); };
  std::uint64_t items_per_slab_ = 0;
  std::vector<std::uint64_t> cached_;
  std::uint64_t cached_count_ = 0;
  std::uint64_t expected_ = 0;  // items of all slabs
  std::uint64_t free_in_slabs_ = 0;
  std::vector<std::uint64_t> free_bits_;       // free items of the current slab
  std::priority_queue<std::uint64_t> lowest_;  // of the allocated items
  SlabObjects found_;
};

/// Walks kegs and zones.
class ZoneNames {
 public:
  explicit ZoneNames(FreeBsdKernel& kernel) : kernel_(kernel) {}

  Result<UmaWalk> run() {
    if (!uma_.keg_next || !uma_.keg_zones || !uma_.zone_next || !uma_.zone_name) return missing_type(kernel_, "uma_zone");
    const auto kegs = kernel_.read_variable<std::uint64_t>("uma_kegs");
    if (!kegs) return kegs.error();
    const std::string damage = walk_list("the list of kegs", uma_.keg, *kegs, uma_.keg_next, [this](std::uint64_t at) {
      take_zones(uma_.keg.get(uma_.keg_zones), "the zones of a keg", at, uma_.keg.get(uma_.keg_size));
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
    const std::string end = walk_list(what, uma_.zone, first, uma_.zone_next, [&](std::uint64_t at) {
      std::string damage;
      UmaZone& zone = walk_.zones.emplace_back();
      zone.name = read_name(kernel_, uma_.zone.get(uma_.zone_name), damage);
      zone.address = at;
      zone.is_first = addresses.empty();
      zone.keg = keg;
      zone.object_size = keg != 0 ? object_size : uma_.zone.get(uma_.zone_size);
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
  UmaTypes uma_{kernel_};
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
