// SPDX-License-Identifier: BSD-2-Clause
// The allocated objects of a slab cache in a crashed Linux kernel.
//
// Full slabs are on no list, so all pages are searched for those whose struct page names the cache. The free objects of a
// slab are on its own list, on the list of the CPU that holds it, or in a sheaf.
#include "core/postmortem/linux/slab.h"

#include <algorithm>
#include <utility>

#include "core/base/arithmetic.h"
#include "core/postmortem/container/bytes.h"
#include "core/postmortem/kernel/struct_reader.h"
#include "core/postmortem/linux/object_origins.h"
#include "core/postmortem/linux/page_map.h"
#include "core/postmortem/linux/statistics.h"

namespace memstat::postmortem {
namespace {

constexpr std::size_t kMaxObjectNotes = 20;
constexpr std::uint64_t kMaxInSheaf = 4096;
constexpr std::uint64_t kMaxFullSheaves = 1U << 16U;  // in a barn; the kernel keeps ten
constexpr std::uint64_t kMaxInSlab = 0x7fff;          // 15 bits in struct slab
constexpr std::size_t kMaxCpuFree = 1U << 22U;        // on all CPUs and in all barns

class ObjectReader {
 public:
  ObjectReader(KernelImage& image, const SlabCache& cache, std::uint64_t most) : image_(image), cache_(cache), most_(most) {}

  Result<SlabObjects> run() {
    if (!slab_cache_ || !slab_objects_ || !slab_used_ || !slab_free_) {
      return missing_type("struct slab has no known members");
    }
    if (cache_.size == 0) return missing_type("objects of " + cache_.name + " have no size");
    if (auto read = kmem_cache_.load(cache_.address); !read) return read.error();
    auto pages = PageMap::find(image_);
    if (!pages) return pages.error();
    list_format_ = free_lists_.of(kmem_cache_);
    found_.has_origins = origins_.select(kmem_cache_);
    collect_cpu_free();
    const std::string damage = pages->for_each([&](std::uint64_t number, std::uint64_t address, std::string_view bytes) {
      for (std::uint64_t at = 0; at < bytes.size(); at += pages->struct_bytes()) {
        if (number_at<std::uint64_t>(bytes, at + slab_cache_.offset()) != cache_.address) continue;
        read_slab(pages->address_of(number + at / pages->struct_bytes()), address + at, pages->page_bytes());
      }
    });
    if (!damage.empty()) note(damage);
    compare_counts();
    if (!frames_.empty()) name_origins();
    return std::move(found_);
  }

 private:
  [[nodiscard]] Error missing_type(std::string_view why) const {
    return make_error(ErrorCode::kVersion, image_.name(), why);
  }

  void note(std::string what) {
    if (found_.notes.size() < kMaxObjectNotes) found_.notes.push_back(std::move(what));
  }

  /// Collects the free objects that CPUs and barns keep. The slabs count them as used.
  void collect_cpu_free() {
    for (const SlabCache::Cpu& cpu : cache_.cpus) {
      const std::string damage = walk_free_list(image_, list_format_, cpu.free_list, kMaxInSlab, [&](std::uint64_t object) {
        cpu_free_.push_back(object);
        return cpu_free_.size() <= kMaxCpuFree;
      });
      if (!damage.empty()) note("CPU " + std::to_string(cpu.number) + ": " + damage);
      for (const std::uint64_t sheaf : cpu.sheaves) take_sheaf(sheaf);
    }
    for (const SlabCache::Node& node : cache_.nodes) take_barn(node);
    std::sort(cpu_free_.begin(), cpu_free_.end());
  }

  void take_sheaf(std::uint64_t address) {
    const auto objects_at = sheaf_.offset_of("objects");
    if (address == 0 || !objects_at) return;
    if (auto read = sheaf_.load(address); !read) return note("a sheaf: " + read.error().detail);
    const std::uint64_t size = std::min(sheaf_.get(sheaf_size_), kMaxInSheaf);
    if (cpu_free_.size() > kMaxCpuFree) return note("the sheaves have more objects than are examined");
    const auto objects = read_words(image_, address + *objects_at, static_cast<std::size_t>(size));
    if (!objects) return note("a sheaf: " + objects.error().detail);
    cpu_free_.insert(cpu_free_.end(), objects->begin(), objects->end());
  }

  void take_barn(const SlabCache::Node& node) {
    if (node.barn == 0 || !barn_first_ || !sheaf_next_) return;
    const std::uint64_t head = node.barn + barn_first_.offset();
    if (auto read = barn_.load(node.barn); !read) return note("a barn: " + read.error().detail);
    std::uint64_t entry = barn_.get(barn_first_);
    for (std::uint64_t count = 0; entry != head; ++count) {
      const std::uint64_t sheaf = entry - sheaf_next_.offset();
      if (count == kMaxFullSheaves) return note("a barn: its list of full sheaves is circular");
      if (auto read = sheaf_.load(sheaf); !read) return note("a barn: " + read.error().detail);
      entry = sheaf_.get(sheaf_next_);
      take_sheaf(sheaf);
    }
  }

  /// Since Linux 6.11 slabs have a page type, before 6.10 a page flag. In 6.10 the pointer decides.
  [[nodiscard]] bool is_slab() const {
    if (type_of_slabs_ && page_type_) return page_.get(page_type_) >> 24U == *type_of_slabs_;
    if (flag_of_slabs_ && *flag_of_slabs_ < 64 && page_flags_) return (page_.get(page_flags_) >> *flag_of_slabs_ & 1U) != 0;
    return true;
  }

  /// Reads a slab. `page`: the address of its struct page; `memory`: of its first page.
  void read_slab(std::uint64_t memory, std::uint64_t page, std::uint64_t page_bytes) {
    if (!page_.load(page) || !slab_.load(page) || !is_slab()) return;
    const std::uint64_t objects = slab_.get(slab_objects_);
    const std::uint64_t fewest = kmem_cache_.get(cache_fewest_) & kMaxInSlab;
    if (objects != cache_.objects_per_slab && objects != fewest) {
      // KFENCE's pages look like slabs with one object, but no cache counts them.
      if (objects != 1)
        note("the slab at " + hex(memory) + " has " + std::to_string(objects) + " objects, which is impossible");
      return;
    }
    begin_ = memory + kmem_cache_.get(cache_left_);
    if (saturating_sum(kmem_cache_.get(cache_left_), saturating_product(objects, cache_.size)) > page_bytes
                                                                                                     << cache_.order) {
      return note("the slab at " + hex(memory) + " has more objects than fit in it");
    }
    is_free_.assign(static_cast<std::size_t>(objects), false);
    take_free_list(memory, objects - std::min(objects, slab_.get(slab_used_)));
    take_cpu_free();
    for (std::uint64_t i = 0; i < objects; ++i) {
      if (!is_free_[static_cast<std::size_t>(i)]) take(begin_ + i * cache_.size);
    }
  }

  /// Marks an object as free. Returns false if there is no object at this address, or it is already free.
  bool mark_free(std::uint64_t object) {
    const std::uint64_t distance = object - begin_;
    if (distance % cache_.size != 0 || distance / cache_.size >= is_free_.size()) return false;
    const auto index = static_cast<std::size_t>(distance / cache_.size);
    const bool was_free = is_free_[index];
    is_free_[index] = true;
    return !was_free;
  }

  void take_free_list(std::uint64_t memory, std::uint64_t wanted) {
    std::uint64_t count = 0;
    std::string damage = walk_free_list(image_, list_format_, slab_.get(slab_free_), is_free_.size() + 1,
                                        [&](std::uint64_t object) { return mark_free(object) && ++count != 0; });
    if (count != wanted) {
      note("the slab at " + hex(memory) + ": " + std::to_string(count) + " of " + std::to_string(wanted) +
           " free objects are on its list" + (damage.empty() ? "" : ": " + damage));
    }
  }

  void take_cpu_free() {
    const std::uint64_t end = begin_ + is_free_.size() * cache_.size;
    for (auto at = std::lower_bound(cpu_free_.begin(), cpu_free_.end(), begin_); at != cpu_free_.end() && *at < end; ++at) {
      if (!mark_free(*at)) note(hex(*at) + " is free twice, or not an object");
    }
  }

  void take(std::uint64_t address) {
    ++found_.count;
    if (found_.objects.size() >= most_) return;
    SlabObject object{.address = address, .words = {}, .origin = {}};
    const std::uint64_t words = std::min<std::uint64_t>(cache_.object_size / sizeof(std::uint64_t), SlabObjects::kWords);
    if (auto read = read_words(image_, address, static_cast<std::size_t>(words))) object.words = *std::move(read);
    if (found_.has_origins) {
      auto [origin, frames] = origins_.read(address).value_or(std::pair(SlabObject::Origin(), std::vector<std::uint64_t>()));
      if (!frames.empty()) object.origin = std::move(origin);
      frames_.push_back(std::move(frames));
    }
    found_.objects.push_back(std::move(object));
  }

  /// Compares the result with the cache's own counters.
  void compare_counts() {
    std::uint64_t objects = 0;
    std::uint64_t free = 0;
    for (const SlabCache::Node& node : cache_.nodes) {
      objects = saturating_sum(objects, node.objects);
      free = saturating_sum(free, saturating_sum(node.partial_free, node.barn_free));
    }
    for (const SlabCache::Cpu& cpu : cache_.cpus) free = saturating_sum(free, cpu.free);
    found_.counted = objects - std::min(objects, free);
    if (found_.count == found_.counted) return;
    note(std::to_string(found_.count) + " allocated objects were found, " + std::to_string(found_.counted) +
         " are in use by the counters of the cache");
  }

  void name_origins() {
    std::set<std::uint64_t> addresses;
    for (const auto& frames : frames_) addresses.insert(frames.begin(), frames.end());
    const auto names = name_addresses(image_, addresses);
    for (std::size_t i = 0; i < frames_.size(); ++i) {
      auto& origin = found_.objects[i].origin;
      for (const std::uint64_t frame : frames_[i]) origin->stack.push_back(names.at(frame));
      if (!origin) continue;
      origin->caller = std::move(origin->stack.front());
      origin->stack.erase(origin->stack.begin());
    }
  }

  KernelImage& image_;
  const SlabCache& cache_;
  const std::uint64_t most_;
  StructReader kmem_cache_{image_, "kmem_cache"};
  StructReader page_{image_, "page"};
  StructReader slab_{image_, image_.types().find_struct("slab") ? "slab" : "page"};  // struct slab since Linux 5.17
  StructReader sheaf_{image_, "slab_sheaf"};
  StructReader barn_{image_, "node_barn"};
  const FreeListFields free_lists_{kmem_cache_};
  ObjectOrigins origins_{image_, kmem_cache_};
  const StructField cache_left_ = kmem_cache_.field("red_left_pad"), cache_fewest_ = kmem_cache_.field("min.x"),
                    page_flags_ = page_.field("flags"), page_type_ = page_.field("page_type"),
                    slab_cache_ = slab_.field("slab_cache"), slab_objects_ = slab_.field("objects"),
                    slab_used_ = slab_.field("inuse"), slab_free_ = slab_.field("freelist"),
                    sheaf_size_ = sheaf_.field("size"), sheaf_next_ = sheaf_.field("barn_list.next"),
                    barn_first_ = barn_.field("sheaves_full.next");
  const std::optional<std::uint64_t> type_of_slabs_ = image_.types().enumerator("PGTY_slab");
  const std::optional<std::uint64_t> flag_of_slabs_ = image_.types().enumerator("PG_slab");

  FreeListFormat list_format_;
  std::vector<std::uint64_t> cpu_free_;             // sorted
  std::uint64_t begin_ = 0;                         // first object of the current slab
  std::vector<bool> is_free_;                       // for each of its objects
  std::vector<std::vector<std::uint64_t>> frames_;  // for each listed object: its return addresses; empty: unknown
  SlabObjects found_;
};

}  // namespace

Result<SlabObjects> read_slab_objects(KernelImage& image, const SlabCache& cache, std::uint64_t most) {
  return ObjectReader(image, cache, most).run();
}

}  // namespace memstat::postmortem
