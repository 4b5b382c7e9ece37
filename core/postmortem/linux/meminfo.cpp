// SPDX-License-Identifier: BSD-2-Clause
#include "core/postmortem/linux/statistics.h"

#include <algorithm>

#include "core/base/arithmetic.h"
#include "core/postmortem/kernel/struct_reader.h"

namespace memstat::postmortem {
namespace {

constexpr std::uint64_t kMaxInodes = 1U << 20U;  // inodes of block devices; a machine has a few dozen
constexpr std::uint64_t kMaxHugeSizes = 16;
constexpr std::uint64_t kMaxHugeOrder = 40;

using Pages = std::optional<std::uint64_t>;

class MeminfoReader {
 public:
  MeminfoReader(KernelImage& image, const LinuxStatistics& statistics, std::uint64_t page_bytes)
      : image_(image), statistics_(statistics), page_bytes_(page_bytes) {}

  LinuxText run() {
    const Pages total = variable("_totalram_pages");
    const Pages free = statistics_.find("nr_free_pages");
    if (!total || !free) {
      note("MemTotal or MemFree", "cannot be read");
      return std::move(meminfo_);
    }
    add("MemTotal", total);
    add("MemFree", free);
    add_cache();
    add_lists();
    add("AnonPages", counter("nr_anon_pages"));
    add("Mapped", counter("nr_mapped"));
    add("Shmem", counter("nr_shmem"));
    add_kernel();
    add_huge_pages();
    return std::move(meminfo_);
  }

 private:
  void note(std::string_view what, std::string_view why) {
    if (meminfo_.damage.empty()) meminfo_.damage = std::string(what) + ": " + std::string(why);
  }

  [[nodiscard]] Pages counter(std::string_view name) const { return statistics_.find(name); }

  /// A global 64-bit counter; empty if the kernel has none of this name.
  Pages variable(std::string_view name) {
    if (!image_.symbol(name)) return std::nullopt;
    const auto value = image_.read_variable<std::uint64_t>(name);
    if (!value) note(name, value.error().detail);
    return value ? Pages(shown(*value)) : std::nullopt;
  }

  void add_kilobytes(std::string_view name, Pages kilobytes) {
    if (!kilobytes) return;
    std::string line = std::string(name) + ":";
    const std::string number = std::to_string(*kilobytes);
    line.resize(std::max(line.size(), std::size_t{16}), ' ');  // to the kernel's columns
    if (number.size() < 8) line.append(8 - number.size(), ' ');
    meminfo_.text += line + number + " kB\n";
  }

  void add(std::string_view name, Pages pages) {
    if (pages) add_kilobytes(name, saturating_product(*pages, page_bytes_ / 1024));
  }

  /// Cached has no counter: it is file pages minus block device pages minus the swap cache.
  void add_cache() {
    const Pages buffers = count_buffers();
    const Pages files = counter("nr_file_pages");
    const Pages swapped = counter("nr_swapcached").value_or(0);
    add("Buffers", buffers);
    if (files) {
      const std::uint64_t others = saturating_sum(*swapped, buffers.value_or(0));
      add("Cached", *files - std::min(*files, others));
    }
    add("SwapCached", swapped);
  }

  /// nr_blockdev_pages() (block/bdev.c): sums over all inodes of the block devices' file system.
  Pages count_buffers() {
    const auto super = image_.read_variable<std::uint64_t>("blockdev_superblock");
    StructReader block{image_, "super_block"};
    StructReader inode{image_, "inode"};
    StructReader mapping{image_, "address_space"};
    const StructField first = block.field("s_inodes.next");
    const StructField next = inode.field("i_sb_list.next");
    const StructField previous = inode.field("i_sb_list.prev");
    const StructField mapping_of = inode.field("i_mapping");
    const StructField pages_of = mapping.field("nrpages");
    if (!super || !first || !next || !previous || !mapping_of || !pages_of) return std::nullopt;
    const auto fail = [&](const Error& error) -> Pages {
      note("Buffers", error.detail);
      return std::nullopt;
    };
    if (auto read = block.load(*super); !read) return fail(read.error());
    const std::uint64_t head = *super + first.offset();
    std::uint64_t before = head;
    std::uint64_t pages = 0;
    std::uint64_t entry = block.get(first);
    for (std::uint64_t count = 0; entry != head; ++count) {
      if (auto read = inode.load(entry - next.offset()); !read) return fail(read.error());
      if (count == kMaxInodes || inode.get(previous) != before) {
        return fail(missing_memory(image_.name(), "virtual", entry, "the list of block devices is torn"));
      }
      if (auto read = mapping.load(inode.get(mapping_of)); !read) return fail(read.error());
      pages = saturating_sum(pages, mapping.get(pages_of));
      before = entry;
      entry = inode.get(next);
    }
    return pages;
  }

  void add_lists() {
    const Pages active_anon = counter("nr_active_anon");
    const Pages active_file = counter("nr_active_file");
    const Pages inactive_anon = counter("nr_inactive_anon");
    const Pages inactive_file = counter("nr_inactive_file");
    if (!active_anon || !active_file || !inactive_anon || !inactive_file) return;
    add("Active", saturating_sum(*active_anon, *active_file));
    add("Inactive", saturating_sum(*inactive_anon, *inactive_file));
    add("Active(anon)", active_anon);
    add("Inactive(anon)", inactive_anon);
    add("Active(file)", active_file);
    add("Inactive(file)", inactive_file);
    add("Unevictable", counter("nr_unevictable"));
  }

  void add_kernel() {
    const Pages reclaimable = counter("nr_slab_reclaimable");
    const Pages unreclaimable = counter("nr_slab_unreclaimable");
    if (reclaimable) add("KReclaimable", saturating_sum(*reclaimable, counter("nr_kernel_misc_reclaimable").value_or(0)));
    if (reclaimable && unreclaimable) add("Slab", saturating_sum(*reclaimable, *unreclaimable));
    add("SReclaimable", reclaimable);
    add("SUnreclaim", unreclaimable);
    add_kilobytes("KernelStack", counter("nr_kernel_stack"));  // in kB, not pages
    add("PageTables", counter("nr_page_table_pages"));
    add("SecPageTables", counter("nr_sec_page_table_pages"));
    add("Bounce", counter("nr_bounce"));
    add("WritebackTmp", counter("nr_writeback_temp"));
    const Pages areas = counter("nr_vmalloc");
    add("VmallocUsed", areas ? areas : variable("nr_vmalloc_pages"));
    add_percpu();
    add("HardwareCorrupted", variable("num_poisoned_pages"));
    if (image_.symbol("cma_areas")) {  // with CONFIG_CMA; the counters exist without it
      add("CmaTotal", variable("totalcma_pages"));
      add("CmaFree", counter("nr_free_cma"));
    }
    add("Balloon", counter("nr_balloon_pages"));
    add("GPUActive", counter("nr_gpu_active"));
    add("GPUReclaim", counter("nr_gpu_reclaim"));
  }

  /// pcpu_nr_pages (mm/percpu.c).
  void add_percpu() {
    const auto units = image_.read_variable<std::uint32_t>("pcpu_nr_units");
    const auto populated = image_.read_variable<std::uint32_t>("pcpu_nr_populated");
    if (units && populated) add("Percpu", saturating_product(*units, *populated));
  }

  /// Separate lines for the default pool, and one line for all pools together.
  void add_huge_pages() {
    const auto states = image_.symbol("hstates");
    StructReader state{image_, "hstate"};
    const StructField order = state.field("order");
    const StructField pages = state.field("nr_huge_pages");
    const std::uint64_t stride = state.size();
    if (!states || !image_.symbol("hugetlb_max_hstate") || !image_.symbol("default_hstate_idx") || !order || !pages ||
        stride == 0)
      return;
    const auto count = image_.read_variable<std::uint32_t>("hugetlb_max_hstate");
    const auto usual = image_.read_variable<std::uint32_t>("default_hstate_idx");
    if (!count || !usual || *count > kMaxHugeSizes) return note("huge pages", "their pools cannot be read");
    std::uint64_t total = 0;
    for (std::uint32_t i = 0; i < *count; ++i) {
      if (auto read = state.load(*states + i * stride); !read) return note("huge pages", read.error().detail);
      if (state.get(order) > kMaxHugeOrder) return note("huge pages", "a pool has pages of an impossible order");
      const std::uint64_t kilobytes = page_bytes_ / 1024 << state.get(order);
      total = saturating_sum(total, saturating_product(state.get(pages), kilobytes));
      if (i != *usual) continue;
      meminfo_.text += "HugePages_Total:   " + std::to_string(state.get(pages)) + "\n";
      add_kilobytes("Hugepagesize", kilobytes);
    }
    add_kilobytes("Hugetlb", total);
  }

  KernelImage& image_;
  const LinuxStatistics& statistics_;
  const std::uint64_t page_bytes_;
  LinuxText meminfo_;
};

}  // namespace

LinuxText read_linux_meminfo(KernelImage& image, const LinuxStatistics& statistics, std::uint64_t page_bytes) {
  return MeminfoReader(image, statistics, page_bytes).run();
}

}  // namespace memstat::postmortem
