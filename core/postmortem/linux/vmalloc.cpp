// SPDX-License-Identifier: BSD-2-Clause
// /proc/vmallocinfo of a crashed Linux kernel: the areas of mm/vmalloc.c.
//
//   vmap_area_list -> vmap_area -> vmap_area -> ...           until Linux 6.8; freed areas: purge_vmap_area_list (5.11)
//   vmap_nodes[nr_vmap_nodes]: busy.head -> vmap_area -> ...   since 6.9; freed areas: lazy.head
//   vmap_area.vm -> vm_struct: size, flags, pages, caller
//
// The nodes came with Linux commit d093602919ad ("mm: vmalloc: remove global vmap_area_root rb-tree") (v6.9).
#include "core/postmortem/linux/statistics.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "core/postmortem/kernel/struct_reader.h"

namespace memstat::postmortem {
namespace {

constexpr std::size_t kMaxAreas = 1U << 20U;
constexpr std::uint32_t kMaxNodesOfAreas = 4096;
constexpr std::uint64_t kMaxPagesLookedAt = 1U << 22U;  // for counting by node, over all areas: 16 GiB
constexpr std::uint64_t kMaxPagesAtOnce = 4096;
// vm_struct.flags (include/linux/vmalloc.h). Areas under construction are not printed.
constexpr std::uint64_t kUnfinished = 0x20;
struct FlagWord {
  std::uint64_t flag;
  const char* word;
};
constexpr std::array<FlagWord, 6> kFlagWords = {
    {{0x1, "ioremap"}, {0x2, "vmalloc"}, {0x4, "vmap"}, {0x8, "user"}, {0x10, "dma-coherent"}, {0x1000, "sparse"}}};
constexpr std::uint64_t kMapRamFlag = 0x1;  // in vmap_area.flags

struct Area {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t size = 0;
  std::uint64_t flags = 0;
  std::uint64_t pages = 0;
  std::uint64_t physical = 0;
  std::uint64_t caller = 0;
  enum class Kind : std::uint8_t { kOwned, kMapRam, kUnpurged } kind = Kind::kOwned;
  std::map<std::uint64_t, std::uint64_t> by_node;
};

class AreaReader {
 public:
  AreaReader(KernelImage& image, const LinuxMachine& machine) : image_(image), machine_(machine) {}

  LinuxText run() {
    if (!begin_ || !end_ || !next_ || !previous_ || !of_ || !size_ || !flags_) {
      note("their types are not those of Linux from 5.10 on");
      return std::move(info_);
    }
    if (const auto list = image_.symbol("vmap_area_list")) {
      walk(*list, false);
      if (const auto purged = image_.symbol("purge_vmap_area_list")) walk(*purged, true);
    } else {
      walk_nodes();
    }
    print();
    return std::move(info_);
  }

 private:
  void note(std::string_view what) {
    if (info_.damage.empty()) info_.damage = what;
  }

  void walk_nodes() {
    const StructReader node{image_, "vmap_node"};
    const auto busy = node.offset_of("busy.head");
    const auto lazy = node.offset_of("lazy.head");
    const std::uint64_t stride = node.size();
    if (!image_.symbol("vmap_nodes") || !image_.symbol("nr_vmap_nodes") || !busy || !lazy || stride == 0) {
      return note("the kernel has no known list of areas");
    }
    const auto nodes = image_.read_variable<std::uint64_t>("vmap_nodes");
    const auto count = image_.read_variable<std::uint32_t>("nr_vmap_nodes");
    if (!nodes || !count) return note((nodes ? count.error() : nodes.error()).detail);
    if (*count > kMaxNodesOfAreas) return note("nr_vmap_nodes is " + std::to_string(*count) + ", which is impossible");
    for (std::uint32_t i = 0; i < *count; ++i) walk(*nodes + i * stride + *busy, false);
    for (std::uint32_t i = 0; i < *count; ++i) walk(*nodes + i * stride + *lazy, true);
  }

  /// The previous pointer of each area must match, so that a circular list ends.
  void walk(std::uint64_t head, bool is_purged) {
    const auto first = image_.read_number<std::uint64_t>(head);
    if (!first) return note(first.error().detail);
    std::uint64_t before = head;
    for (std::uint64_t entry = *first; entry != head;) {
      if (auto read = area_.load(entry - next_.offset()); !read) return note("a list of areas: " + read.error().detail);
      if (area_.get(previous_) != before) return note("a list of areas is torn: one does not point back");
      if (areas_.size() == kMaxAreas) return note("there are too many areas");
      before = entry;
      entry = area_.get(next_);
      take(is_purged);
    }
  }

  /// Takes the loaded area.
  void take(bool is_purged) {
    Area area{.begin = area_.get(begin_), .end = area_.get(end_), .by_node = {}};
    area.size = area.end - area.begin;
    if (area.end < area.begin) return note("an area ends before it begins");
    const std::uint64_t of = area_.get(of_);
    if (is_purged || of == 0) {
      if (!is_purged && area_flags_ && (area_.get(area_flags_) & kMapRamFlag) == 0) return;
      area.kind = is_purged ? Area::Kind::kUnpurged : Area::Kind::kMapRam;
      areas_.push_back(std::move(area));
      return;
    }
    if (auto read = struct_.load(of); !read) return note("an area: " + read.error().detail);
    area.flags = struct_.get(flags_);
    if ((area.flags & kUnfinished) != 0) return;
    area.size = struct_.get(size_);
    area.pages = struct_.get(count_);
    area.physical = struct_.get(physical_);
    area.caller = struct_.get(caller_);
    if (area.pages > area.size / 1024) {
      note("an area has more pages than fit in it");
      area.pages = 0;
    }
    count_nodes(area);
    areas_.push_back(std::move(area));
  }

  /// Counts an area's pages by node. The node is in the highest bits of a page's flags, see node_bits().
  void count_nodes(Area& area) {
    if (area.pages == 0) return;
    if (machine_.nodes == 1) {
      area.by_node[0] = area.pages;
      return;
    }
    if (!page_flags_ || node_bits_ == 0 || pages_looked_at_ + area.pages > kMaxPagesLookedAt) return;
    pages_looked_at_ += area.pages;
    for (std::uint64_t at = 0; at < area.pages; at += kMaxPagesAtOnce) {
      const auto pages = read_words(image_, struct_.get(pages_) + at * 8, std::min(kMaxPagesAtOnce, area.pages - at));
      if (!pages) return note("the pages of an area: " + pages.error().detail);
      for (const std::uint64_t page : *pages) {
        if (auto read = page_.load(page); !read) return note("a page of an area: " + read.error().detail);
        ++area.by_node[page_.get(page_flags_) >> (64 - node_bits_)];
      }
    }
  }

  void print() {
    std::sort(areas_.begin(), areas_.end(), [](const Area& a, const Area& b) {
      return a.kind == Area::Kind::kUnpurged || b.kind == Area::Kind::kUnpurged ? a.kind < b.kind : a.begin < b.begin;
    });
    std::set<std::uint64_t> callers;
    for (const Area& area : areas_) callers.insert(area.caller);
    const auto names = name_addresses(image_, callers);
    for (const Area& area : areas_) print(area, names.at(area.caller));
  }

  void print(const Area& area, const std::string& caller) {
    std::string size = std::to_string(area.size);
    if (size.size() < 7) size.insert(0, 7 - size.size(), ' ');
    std::string& text = info_.text;
    text += hex(area.begin) + "-" + hex(area.kind == Area::Kind::kOwned ? area.begin + area.size : area.end) + " " + size;
    if (area.kind != Area::Kind::kOwned) {
      text += area.kind == Area::Kind::kMapRam ? " vm_map_ram\n" : " unpurged vm_area\n";
      return;
    }
    if (area.caller != 0) text += " " + caller;
    if (area.pages != 0) text += " pages=" + std::to_string(area.pages);
    if (area.physical != 0) {
      std::string digits = hex(area.physical).substr(2);
      digits.insert(0, 16 - digits.size(), '0');
      text += " phys=0x" + digits;
    }
    for (const FlagWord& flag : kFlagWords) {
      if ((area.flags & flag.flag) != 0) text += std::string(" ") + flag.word;
    }
    for (const auto& [node, pages] : area.by_node) text += " N" + std::to_string(node) + "=" + std::to_string(pages);
    text += "\n";
  }

  KernelImage& image_;
  const LinuxMachine& machine_;
  StructReader area_{image_, "vmap_area"};
  StructReader struct_{image_, "vm_struct"};
  StructReader page_{image_, "page"};
  const StructField begin_ = area_.field("va_start"), end_ = area_.field("va_end"), next_ = area_.field("list.next"),
                    previous_ = area_.field("list.prev"), of_ = area_.field("vm"), area_flags_ = area_.field("flags");
  const StructField size_ = struct_.field("size"), flags_ = struct_.field("flags"), pages_ = struct_.field("pages"),
                    count_ = struct_.field("nr_pages"), physical_ = struct_.field("phys_addr"),
                    caller_ = struct_.field("caller"), page_flags_ = page_.field("flags");
  const unsigned node_bits_ = node_bits(image_.types());
  std::vector<Area> areas_;
  std::uint64_t pages_looked_at_ = 0;
  LinuxText info_;
};

}  // namespace

LinuxText read_linux_vmallocinfo(KernelImage& image, const LinuxMachine& machine) {
  return AreaReader(image, machine).run();
}

}  // namespace memstat::postmortem
