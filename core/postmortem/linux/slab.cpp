// SPDX-License-Identifier: BSD-2-Clause
#include "core/postmortem/linux/slab.h"

#include <algorithm>
#include <utility>

namespace memstat::postmortem {
namespace {

constexpr std::size_t kMaxCaches = 1U << 16U;
constexpr std::uint64_t kMaxSlabsWalked = 1U << 26U;  // in the whole dump; 2^26 slabs of one page are 256 GiB
constexpr std::uint64_t kMaxCpuPartial = 1U << 16U;   // slabs on a CPU's list; the kernel keeps a few dozen at most
constexpr std::uint64_t kMaxObjectsPerSlab = 0x7fff;  // OO_MASK; 15 bits in struct slab
constexpr std::uint64_t kMaxOrder = 20;
constexpr std::size_t kMaxCacheName = 256;

/// Kernel structs with the fields that are read.
struct CacheType : StructReader {
  explicit CacheType(KernelImage& image) : StructReader(image, "kmem_cache") {}
  StructField name = field("name"), list = field("list.next"), previous = field("list.prev"), footprint = field("size"),
              object_size = field("object_size"), order = field("oo.x"), cpu_slab = field("cpu_slab"),
              sheaves = field("cpu_sheaves"), sheaf_capacity = field("sheaf_capacity");
};
struct NodeType : StructReader {
  explicit NodeType(KernelImage& image) : StructReader(image, "kmem_cache_node") {}
  StructField slabs = field("nr_slabs"), objects = field("total_objects"), partial = field("nr_partial"),
              first = field("partial.next"), barn = field("barn");
};
/// Until Linux 5.16, struct slab was part of struct page: Linux commit d122019bf061 ("mm: Split slab into its own
/// type") (v5.17).
struct SlabType : StructReader {
  SlabType(KernelImage& image, bool has_slab)
      : StructReader(image, has_slab ? "slab" : "page"),
        flags(field(!has_slab || offset_of("flags") ? "flags" : "__page_flags")) {}
  StructField flags;
  StructField next = field("slab_list.next"), previous = field("slab_list.prev"), next_partial = field("next"),
              cache = field("slab_cache"), used = field("inuse"), objects = field("objects");
};
struct CpuType : StructReader {
  explicit CpuType(KernelImage& image) : StructReader(image, "kmem_cache_cpu") {}
  StructField freelist = field("freelist"), partial = field("partial");
  // A page before Linux commit bb192ed9aa71 ("mm/slub: Convert most struct page to struct slab by spatch") (v5.17).
  StructField slab = field(offset_of("slab") ? "slab" : "page");
};
struct SheavesType : StructReader {
  explicit SheavesType(KernelImage& image) : StructReader(image, "slub_percpu_sheaves") {}
  StructField main = field("main"), spare = field("spare"), rcu = field("rcu_free");
};
struct SheafType : StructReader {
  explicit SheafType(KernelImage& image) : StructReader(image, "slab_sheaf") {}
  StructField count = field("size");
};
struct BarnType : StructReader {
  explicit BarnType(KernelImage& image) : StructReader(image, "node_barn") {}
  StructField full = field("nr_full");
};

class SlabWalker {
 public:
  SlabWalker(KernelImage& image, const LinuxMachine& machine) : image_(image), machine_(machine) {}

  Result<SlabWalk> run() {
    const auto head = image_.symbol("slab_caches");
    if (!head) return head.error();
    if (auto checked = check_types(); !checked) return checked.error();
    SlabWalk walk;
    std::uint64_t before = *head;
    const auto first = image_.read_number<std::uint64_t>(*head);
    if (!first) return first.error();
    for (std::uint64_t entry = *first; entry != *head;) {
      const std::uint64_t address = entry - cache_.list.offset();
      const std::string where = walk.caches.empty() ? "the first cache" : "the cache after " + walk.caches.back().name;
      if (auto read = load(cache_, address); !read) {
        walk.damage = where + ": " + read.error().detail;
        break;
      }
      if (cache_.get(cache_.previous) != before) {
        walk.damage = where + " does not point back: the list of caches is torn";
        break;
      }
      if (walk.caches.size() == kMaxCaches) {
        walk.damage = "there are more than " + std::to_string(kMaxCaches) + " caches";
        break;
      }
      before = entry;
      entry = cache_.get(cache_.list);
      walk.caches.push_back(read_cache(address));
    }
    return walk;
  }

 private:
  [[nodiscard]] Result<void> check_types() {
    const bool has_nodes = find_nodes();
    if (cache_.name && cache_.list && cache_.previous && cache_.footprint && cache_.order && has_nodes && node_.slabs &&
        node_.objects && node_.first && slab_.next && slab_.previous && slab_.used && slab_.objects) {
      return {};
    }
    return make_error(ErrorCode::kVersion, image_.name(),
                      "the kernel's types of slab caches are not those of SLUB from Linux 5.10 on");
  }

  /// Finds the nodes of a cache: pointers, or since Linux 7.0 structs with a pointer `node` and one to the barn.
  bool find_nodes() {
    const Btf& types = image_.types();
    auto nodes = types.array_member("kmem_cache", "node");
    if (!nodes) {
      nodes = types.array_member("kmem_cache", "per_node");
      StructReader node(image_, nodes ? std::optional(nodes->element) : std::nullopt);
      const auto pointer = node.offset_of("node");
      if (!pointer) return false;
      node_pointer_ = *pointer;
      barn_pointer_ = node.offset_of("barn");
    }
    nodes_at_ = nodes->offset;
    node_stride_ = nodes->stride;
    return node_stride_ != 0;
  }

  Result<void> load(StructReader& reader, std::uint64_t address) {
    if (address < kFirstKernelAddress) return missing_memory(image_.name(), "virtual", address, "is not a kernel pointer");
    return reader.load(address);
  }

  static void note(SlabCache& cache, std::string_view what) {
    if (cache.damage.empty()) cache.damage = what;
  }

  /// Reads the loaded cache, whose address is `address`.
  SlabCache read_cache(std::uint64_t address) {
    SlabCache cache;
    cache.address = address;
    cache.size = cache_.get(cache_.footprint);
    cache.object_size = cache_.get(cache_.object_size);
    cache.objects_per_slab = cache_.get(cache_.order) & kMaxObjectsPerSlab;
    cache.order = cache_.get(cache_.order) >> 16U;
    if (cache.order > kMaxOrder) {
      note(cache, "its slabs have 2^" + std::to_string(cache.order) + " pages, which is impossible");
      cache.order = 0;
    }
    auto name = image_.read_string(cache_.get(cache_.name), kMaxCacheName);
    if (name && !name->empty()) {
      cache.name = *std::move(name);
    } else {
      cache.name = "cache-at-" + hex(address);
      note(cache, "its name cannot be read" + (name ? std::string() : ": " + name.error().detail));
    }
    for (std::uint32_t number = 0; number < machine_.nodes; ++number) read_node(cache, number);
    for (const LinuxMachine::Cpu& cpu : machine_.cpus) read_cpu(cache, cpu);
    return cache;
  }

  void read_node(SlabCache& cache, std::uint32_t number) {
    const std::uint64_t pointers = cache.address + nodes_at_ + number * node_stride_;
    const auto pointer = image_.read_number<std::uint64_t>(pointers + node_pointer_);
    if (!pointer) return note(cache, "node " + std::to_string(number) + ": " + pointer.error().detail);
    if (*pointer == 0) return;
    if (auto read = load(node_, *pointer); !read) {
      return note(cache, "node " + std::to_string(number) + ": " + read.error().detail);
    }
    SlabCache::Node node{.number = number,
                         .slabs = node_.get(node_.slabs),
                         .objects = node_.get(node_.objects),
                         .partial = node_.get(node_.partial)};
    read_barn(cache, node, pointers);
    const std::uint64_t head = *pointer + node_.first.offset();
    walk_partial(cache, node, head, node_.get(node_.first));
    if (node.partial_free > node.objects) {
      note(cache, "node " + std::to_string(number) + " has more free objects than objects");
      node.partial_free = node.objects;
    }
    cache.nodes.push_back(node);
  }

  void read_barn(SlabCache& cache, SlabCache::Node& node, std::uint64_t pointers) {
    std::uint64_t barn = node_.get(node_.barn);
    if (barn_pointer_) {
      const auto pointer = image_.read_number<std::uint64_t>(pointers + *barn_pointer_);
      if (!pointer) return note(cache, "its barn: " + pointer.error().detail);
      barn = *pointer;
    }
    if (barn == 0 || !barn_.full) return;
    if (auto read = load(barn_, barn); !read) return note(cache, "its barn: " + read.error().detail);
    node.barn = barn;
    node.barn_free = barn_.get(barn_.full) * cache_.get(cache_.sheaf_capacity);
  }

  /// The previous pointer of each slab must match, so that a circular list ends.
  void walk_partial(SlabCache& cache, SlabCache::Node& node, std::uint64_t head, std::uint64_t entry) {
    std::uint64_t before = head;
    std::uint64_t count = 0;
    const auto torn = [&](std::string_view why) {
      note(cache, "the partial slabs of node " + std::to_string(node.number) + ": " + std::to_string(count) + " of " +
                      std::to_string(node.partial) + " were read: " + std::string(why));
    };
    for (; entry != head; ++count) {
      if (++slabs_walked_ > kMaxSlabsWalked) return torn("the dump has too many slabs");
      if (auto read = load(slab_, entry - slab_.next.offset()); !read) return torn(read.error().detail);
      if (slab_.get(slab_.previous) != before) return torn("a slab does not point back, the list is torn");
      if (slab_.cache && slab_.get(slab_.cache) != cache.address) return torn("a slab is another cache's");
      const std::uint64_t objects = slab_.get(slab_.objects);
      const std::uint64_t used = slab_.get(slab_.used);
      if (used > objects) return torn("a slab has more objects in use than objects");
      node.partial_free += objects - used;
      before = entry;
      entry = slab_.get(slab_.next);
    }
    // The counter is updated just before or after the list, so a difference of one only means that the crash came in
    // between.
    if (node_.partial && (count > node.partial + 1 || node.partial > count + 1))
      torn("the counter and the list do not agree");
  }

  void read_cpu(SlabCache& cache, const LinuxMachine::Cpu& machine_cpu) {
    SlabCache::Cpu cpu{.number = machine_cpu.number};
    if (const std::uint64_t per_cpu = cache_.get(cache_.cpu_slab); per_cpu != 0) {
      read_cpu_slabs(cache, cpu, per_cpu + machine_cpu.offset);
    }
    if (const std::uint64_t per_cpu = cache_.get(cache_.sheaves); per_cpu != 0) {
      read_sheaves(cache, cpu, per_cpu + machine_cpu.offset);
    }
    cache.cpus.push_back(cpu);
  }

  void read_cpu_slabs(SlabCache& cache, SlabCache::Cpu& cpu, std::uint64_t address) {
    const auto wrong = [&](std::string_view what, std::string_view why) {
      note(cache, std::string(what) + " of CPU " + std::to_string(cpu.number) + ": " + std::string(why));
    };
    if (auto read = load(cpu_, address); !read) return wrong("the slabs", read.error().detail);
    if (const std::uint64_t slab = cpu_.get(cpu_.slab); slab != 0) {
      if (auto read = load(slab_, slab); !read) return wrong("the active slab", read.error().detail);
      // inuse includes all objects that were free when the CPU took the slab. The CPU's own list has those that still
      // are.
      cpu.free_list = cpu_.get(cpu_.freelist);
      cpu.free += free_in_slab() + length_of_freelist(cache, cpu.free_list, slab_.get(slab_.objects));
      take_cpu_slab(cache, cpu);
    }
    std::uint64_t slab = cpu_.get(cpu_.partial);
    for (std::uint64_t count = 0; slab != 0; ++count) {
      if (count == kMaxCpuPartial) return wrong("the partial slabs", "there are too many: the list is circular");
      if (auto read = load(slab_, slab); !read) return wrong("the partial slabs", read.error().detail);
      if (slab_.cache && slab_.get(slab_.cache) != cache.address)
        return wrong("the partial slabs", "one is another cache's");
      cpu.free += free_in_slab();
      take_cpu_slab(cache, cpu);
      slab = slab_.next_partial ? slab_.get(slab_.next_partial) : 0;
    }
  }

  [[nodiscard]] std::uint64_t free_in_slab() const {
    const std::uint64_t objects = slab_.get(slab_.objects);
    return objects - std::min(objects, slab_.get(slab_.used));
  }

  /// Counts the loaded slab for a CPU and for its node.
  void take_cpu_slab(SlabCache& cache, SlabCache::Cpu& cpu) {
    ++cpu.slabs;
    std::uint64_t number = 0;
    if (machine_.nodes > 1) {
      if (!slab_.flags || node_bits_ == 0) return;
      number = slab_.get(slab_.flags) >> (64 - node_bits_);
    }
    for (SlabCache::Node& node : cache.nodes) node.cpu_slabs += node.number == number ? 1 : 0;
  }

  std::uint64_t length_of_freelist(SlabCache& cache, std::uint64_t object, std::uint64_t most) {
    std::uint64_t count = 0;
    const std::string damage = walk_free_list(image_, free_lists_.of(cache_), object, most, [&](std::uint64_t /*object*/) {
      ++count;
      return true;
    });
    if (!damage.empty()) note(cache, damage);
    return count;
  }

  void read_sheaves(SlabCache& cache, SlabCache::Cpu& cpu, std::uint64_t address) {
    if (auto read = load(sheaves_, address); !read) return note(cache, "the sheaves: " + read.error().detail);
    cpu.sheaves = {sheaves_.get(sheaves_.main), sheaves_.get(sheaves_.spare), sheaves_.get(sheaves_.rcu)};
    for (const std::uint64_t sheaf : cpu.sheaves) {
      if (sheaf == 0) continue;
      if (auto read = load(sheaf_, sheaf); !read) {
        note(cache, "a sheaf of CPU " + std::to_string(cpu.number) + ": " + read.error().detail);
        continue;
      }
      cpu.free += sheaf_.get(sheaf_.count);
    }
  }

  KernelImage& image_;
  const LinuxMachine& machine_;
  CacheType cache_{image_};
  NodeType node_{image_};
  SlabType slab_{image_, image_.types().find_struct("slab").has_value()};
  CpuType cpu_{image_};
  SheavesType sheaves_{image_};
  SheafType sheaf_{image_};
  BarnType barn_{image_};
  const FreeListFields free_lists_{cache_};

  std::uint64_t nodes_at_ = 0;                 // offset in a cache
  std::uint64_t node_stride_ = 0;              // B from one node's pointers to the next
  std::uint64_t node_pointer_ = 0;             // offset in a node's pointers
  std::optional<std::uint64_t> barn_pointer_;  // offset in a node's pointers
  const unsigned node_bits_ = node_bits(image_.types());
  std::uint64_t slabs_walked_ = 0;
};

}  // namespace

std::string walk_free_list(KernelImage& image, const FreeListFormat& format, std::uint64_t object, std::uint64_t most,
                           const std::function<bool(std::uint64_t)>& visit) {
  for (std::uint64_t count = 0; object != 0 && count < most; ++count) {
    const std::uint64_t at = object + format.offset;
    const auto next = object < kFirstKernelAddress ? Result<std::uint64_t>(Error{}) : image.read_number<std::uint64_t>(at);
    if (!next) return "a list of free objects leads to " + hex(object);
    if (!visit(object)) break;
    object = format.random ? *next ^ *format.random ^ __builtin_bswap64(at) : *next;
  }
  return {};
}

Result<SlabWalk> walk_slab_caches(KernelImage& image, const LinuxMachine& machine) {
  return SlabWalker(image, machine).run();
}

}  // namespace memstat::postmortem
