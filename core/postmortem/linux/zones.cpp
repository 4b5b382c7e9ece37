// SPDX-License-Identifier: BSD-2-Clause
// The zones of a Linux kernel's page allocator: struct pglist_data and struct zone of each node (include/linux/mmzone.h).
#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "core/base/text.h"
#include "core/postmortem/kernel/struct_reader.h"
#include "core/postmortem/linux/statistics.h"

namespace memstat::postmortem {
namespace {

constexpr std::uint32_t kMaxZones = 16;  // per node; kernels have up to six kinds
constexpr std::uint32_t kMaxOrders = 32;
constexpr std::size_t kMaxZoneName = 32;
constexpr std::array<const char*, 4> kWatermarkNames = {"min", "low", "high", "promo"};  // promo since Linux 5.18

std::string padded(std::string_view word, std::size_t width, bool is_left = true) {
  std::string text(word);
  if (text.size() < width) text.insert(is_left ? text.end() : text.begin(), width - text.size(), ' ');
  return text;
}

std::string count_lines(const std::vector<NamedCount>& names, const std::vector<std::uint64_t>& values) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), values.size()); ++i) {
    text += "      " + padded(names[i].name, 12) + " " + std::to_string(values[i]) + "\n";
  }
  return text;
}

class NodeReader {
 public:
  NodeReader(KernelImage& image, const LinuxMachine& machine, const LinuxStatistics& statistics)
      : image_(image), machine_(machine), statistics_(statistics) {}

  LinuxZones run() {
    find_fields();
    if (!zones_ || zones_->stride == 0 || !counts_) {
      note("their types", "are not those of Linux from 5.10 on");
      return std::move(found_);
    }
    const auto table = image_.symbol("node_data");
    for (std::uint32_t number = 0; number < machine_.nodes; ++number) {
      auto address = table ? image_.read_number<std::uint64_t>(*table + std::uint64_t{number} * 8)
                           : image_.symbol("contig_page_data");  // a kernel built for one node
      if (!address) note("node " + std::to_string(number), address.error().detail);
      if (address && *address != 0) read_node(number, *address);
      if (!table) break;
    }
    return std::move(found_);
  }

 private:
  void note(const std::string& what, std::string_view why) {
    if (found_.damage.empty()) found_.damage = what + ": " + std::string(why);
  }

  void find_fields() {
    const Btf& types = image_.types();
    zones_ = types.array_member("pglist_data", "node_zones");
    if (zones_) zones_->count = std::min(zones_->count, kMaxZones);
    counts_ = types.array_member("zone", "vm_stat");
    numa_ = types.array_member("zone", "vm_numa_event");
    if (!numa_) numa_ = types.array_member("zone", "vm_numa_stat");
    node_counts_ = types.array_member("pglist_data", "vm_stat");
    watermarks_ = types.array_member("zone", "_watermark");
    reserve_ = types.array_member("zone", "lowmem_reserve");
    free_areas_ = types.array_member("zone", "free_area");
    free_offset_ = StructReader(image_, "free_area").offset_of("nr_free");
    boost_ = zone_.field("watermark_boost");
    start_ = zone_.field("zone_start_pfn");
    managed_ = zone_.field("managed_pages");
    spanned_ = zone_.field("spanned_pages");
    present_ = zone_.field("present_pages");
    name_ = zone_.field("name");
    // Until Linux 5.13 the pages were a member of struct per_cpu_pageset: Linux commit 28f836b6777b ("mm/page_alloc:
    // split per cpu page lists and zone stats") (v5.14).
    sets_ = zone_.field(zone_.offset_of("per_cpu_pageset") ? "per_cpu_pageset" : "pageset");
    count_ = set_.field(has_pages_ ? "count" : "pcp.count");
    zone_cpus_ = zone_.field("per_cpu_zonestats");
    cpu_numa_ = types.array_member("per_cpu_zonestat", "vm_numa_event");
  }

  /// A node with an unreadable zone is omitted.
  void read_node(std::uint32_t number, std::uint64_t address) {
    std::string zoneinfo;
    std::string buddyinfo;
    bool has_populated = false;
    const auto counts = words(address, node_counts_, statistics_.nodes.size(), "counters of a node");
    for (std::size_t i = 0; i < zones_->count; ++i) {
      const std::uint64_t at = address + zones_->offset + i * zones_->stride;
      if (auto read = zone_.load(at); !read) return note("a zone of node " + std::to_string(number), read.error().detail);
      const bool is_populated = zone_.get(present_) != 0;
      const std::string heading = "Node " + std::to_string(number) + ", zone " + padded(name_of_zone(at), 8, false);
      zoneinfo += heading + "\n";
      if (is_populated && !std::exchange(has_populated, true)) {
        zoneinfo += "  per-node stats\n" + count_lines(statistics_.nodes, counts);
      }
      zoneinfo += text_of_zone(at);
      if (is_populated) buddyinfo += heading + " " + free_blocks(at) + "\n";
    }
    found_.zoneinfo += zoneinfo;
    found_.buddyinfo += buddyinfo;
  }

  /// Reads up to `most` elements of an array of 64-bit numbers.
  std::vector<std::uint64_t> words(std::uint64_t owner, const std::optional<BtfArray>& array, std::size_t most,
                                   const char* what) {
    if (!array || array->stride != sizeof(std::uint64_t)) return {};
    auto found = read_words(image_, owner + array->offset, std::min<std::size_t>(array->count, most));
    if (found) return *std::move(found);
    note(what, found.error().detail);
    return {};
  }

  std::string name_of_zone(std::uint64_t address) {
    const auto name = image_.read_string(zone_.get(name_), kMaxZoneName);
    if (name && !name->empty() && name->find_first_of(" \n\r\t,") == std::string::npos) return *name;
    note("a zone's name", name ? "cannot be one" : name.error().detail);
    return "zone-at-" + hex(address);
  }

  /// What /proc/zoneinfo shows of the loaded zone, whose address is `address`.
  std::string text_of_zone(std::uint64_t address) {
    const auto line = [](std::string_view name, std::uint64_t value) {
      return "        " + padded(name, 8) + " " + std::to_string(value) + "\n";
    };
    const auto number_text = [](std::uint64_t number) { return std::to_string(number); };
    const std::uint64_t boost = zone_.get(boost_);                                          // included in the watermarks
    auto counts = words(address, counts_, statistics_.zones.size(), "counters of a zone");  // free pages first
    for (std::uint64_t& count : counts) count = shown(count);
    const auto watermarks = words(address, watermarks_, kWatermarkNames.size(), "watermarks");
    std::string text = "  pages free     " + std::to_string(counts.empty() ? 0 : counts[0]) + "\n" + line("boost", boost);
    for (std::size_t i = 0; i < watermarks.size(); ++i) text += line(kWatermarkNames[i], watermarks[i] + boost);
    text += line("spanned", zone_.get(spanned_)) + line("present", zone_.get(present_)) +
            line("managed", zone_.get(managed_)) + "        protection: (" +
            separated(words(address, reserve_, kMaxZones, "lowmem_reserve"), ", ", number_text) + ")\n";
    if (zone_.get(present_) == 0) return text;
    return text + count_lines(statistics_.zones, counts) + count_lines(statistics_.numa, numa_events(address)) +
           "  pagesets\n" + page_sets() + "  start_pfn:           " + std::to_string(zone_.get(start_)) + "\n";
  }

  std::string free_blocks(std::uint64_t address) {
    std::string text;
    if (!free_areas_ || !free_offset_) return text;
    for (std::size_t order = 0; order < std::min(free_areas_->count, kMaxOrders); ++order) {
      const auto free =
          image_.read_number<std::uint64_t>(address + free_areas_->offset + order * free_areas_->stride + *free_offset_);
      if (!free) {
        note("free blocks", free.error().detail);
        break;
      }
      text += padded(std::to_string(*free), 6, false) + " ";
    }
    return text;
  }

  /// Adds the CPUs' pending counts, as the kernel does before printing.
  std::vector<std::uint64_t> numa_events(std::uint64_t address) {
    if (statistics_.numa.empty()) return {};
    auto events = words(address, numa_, statistics_.numa.size(), "NUMA events");
    const std::uint64_t per_cpu = zone_.get(zone_cpus_);
    if (per_cpu == 0) return events;
    for (const LinuxMachine::Cpu& cpu : machine_.cpus) {
      const auto more = words(per_cpu + cpu.offset, cpu_numa_, events.size(), "NUMA events of a CPU");
      for (std::size_t i = 0; i < more.size(); ++i) events[i] += more[i];
    }
    return events;
  }

  std::string page_sets() {
    std::string text;
    const std::uint64_t per_cpu = zone_.get(sets_);
    if (per_cpu == 0 || !count_) return text;
    for (const LinuxMachine::Cpu& cpu : machine_.cpus) {
      if (!cpu.is_online) continue;
      if (auto read = set_.load(per_cpu + cpu.offset); !read) {
        note("the page sets of a zone", read.error().detail);
        break;
      }
      text += "    cpu: " + std::to_string(cpu.number) +
              "\n              count:    " + std::to_string(static_cast<std::int32_t>(set_.get(count_))) + "\n";
    }
    return text;
  }

  KernelImage& image_;
  const LinuxMachine& machine_;
  const LinuxStatistics& statistics_;
  const bool has_pages_ = !image_.types().find_struct("per_cpu_pageset").has_value();
  StructReader zone_{image_, "zone"};
  StructReader set_{image_, has_pages_ ? "per_cpu_pages" : "per_cpu_pageset"};
  StructField boost_, start_, managed_, spanned_, present_, name_, sets_, count_, zone_cpus_;
  std::optional<BtfArray> zones_, counts_, numa_, node_counts_, watermarks_, reserve_, free_areas_, cpu_numa_;
  std::optional<std::uint64_t> free_offset_;
  LinuxZones found_;
};

}  // namespace

LinuxZones read_linux_zones(KernelImage& image, const LinuxMachine& machine, const LinuxStatistics& statistics) {
  return NodeReader(image, machine, statistics).run();
}

}  // namespace memstat::postmortem
