// SPDX-License-Identifier: BSD-2-Clause
#include "core/postmortem/linux/zones.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "core/postmortem/kernel/struct_reader.h"

namespace memstat::postmortem {
namespace {

constexpr std::size_t kMaxZones = 16;  // per node; kernels have up to six kinds
constexpr std::size_t kMaxOrders = 32;
constexpr std::size_t kMaxZoneName = 32;
constexpr std::array<const char*, 4> kWatermarkNames = {"min", "low", "high", "promo"};

/// An array member of a struct: its offset, number of elements, and element size in bytes.
struct MemberArray {
  std::uint64_t offset = 0;
  std::size_t count = 0;
  std::uint64_t stride = 0;
  std::uint32_t element = 0;
};

std::optional<MemberArray> array_member(const Btf& types, std::string_view owner, std::string_view member) {
  const auto type = types.find_struct(owner);
  const auto found = type ? types.find_member(*type, member) : std::nullopt;
  const auto array = found ? types.array_of(found->type) : std::nullopt;
  if (!array) return std::nullopt;
  return MemberArray{.offset = found->bit_offset / 8,
                     .count = array->count,
                     .stride = types.size_of(array->element).value_or(0),
                     .element = array->element};
}

class NodeReader {
 public:
  NodeReader(KernelImage& image, const LinuxMachine& machine, const LinuxStatistics& statistics)
      : image_(image), machine_(machine), statistics_(statistics) {}

  LinuxNodes run() {
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
    zones_ = array_member(types, "pglist_data", "node_zones");
    if (zones_) zones_->count = std::min(zones_->count, kMaxZones);
    counts_ = array_member(types, "zone", "vm_stat");
    numa_ = array_member(types, "zone", "vm_numa_event");
    if (!numa_) numa_ = array_member(types, "zone", "vm_numa_stat");
    node_counts_ = array_member(types, "pglist_data", "vm_stat");
    watermarks_ = array_member(types, "zone", "_watermark");
    reserve_ = array_member(types, "zone", "lowmem_reserve");
    free_areas_ = array_member(types, "zone", "free_area");
    if (const auto area = types.find_struct("free_area")) {
      if (const auto free = types.find_member(*area, "nr_free")) free_offset_ = free->bit_offset / 8;
    }
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
    cpu_numa_ = array_member(types, "per_cpu_zonestat", "vm_numa_event");
  }

  void read_node(std::uint32_t number, std::uint64_t address) {
    LinuxNode node{.number = number, .counts = {}, .zones = {}};
    if (node_counts_) node.counts = words(address, *node_counts_, statistics_.nodes.size(), "counters of a node");
    for (std::size_t i = 0; i < zones_->count; ++i) {
      const std::uint64_t at = address + zones_->offset + i * zones_->stride;
      if (auto read = zone_.load(at); !read) {
        note("a zone of node " + std::to_string(number), read.error().detail);
        return;
      }
      node.zones.push_back(read_zone(at));
    }
    found_.nodes.push_back(std::move(node));
  }

  /// Reads up to `most` elements of an array of 64-bit numbers.
  std::vector<std::uint64_t> words(std::uint64_t owner, const MemberArray& array, std::size_t most, const char* what) {
    if (array.stride != sizeof(std::uint64_t)) return {};
    auto found = read_words(image_, owner + array.offset, std::min(array.count, most));
    if (found) return *std::move(found);
    note(what, found.error().detail);
    return {};
  }

  /// Reads the loaded zone, whose address is `address`.
  LinuxZone read_zone(std::uint64_t address) {
    LinuxZone zone;
    const auto name = image_.read_string(zone_.get(name_), kMaxZoneName);
    const bool is_named = name && !name->empty() && name->find_first_of(" \n\r\t,") == std::string::npos;
    zone.name = is_named ? *name : "zone-at-" + hex(address);
    if (!is_named) note("a zone's name", name ? "cannot be one" : name.error().detail);
    zone.boost = zone_.get(boost_);
    zone.spanned = zone_.get(spanned_);
    zone.present = zone_.get(present_);
    zone.managed = zone_.get(managed_);
    zone.start_pfn = zone_.get(start_);
    if (watermarks_) zone.watermarks = words(address, *watermarks_, kWatermarkNames.size(), "watermarks");
    for (std::uint64_t& watermark : zone.watermarks) watermark += zone.boost;
    if (reserve_) zone.reserve = words(address, *reserve_, kMaxZones, "lowmem_reserve");
    zone.counts = words(address, *counts_, statistics_.zones.size(), "counters of a zone");
    for (std::uint64_t& count : zone.counts) count = shown(count);
    read_free_blocks(address, zone);
    read_numa(address, zone);
    read_page_sets(zone);
    return zone;
  }

  void read_free_blocks(std::uint64_t address, LinuxZone& zone) {
    if (!free_areas_ || !free_offset_) return;
    for (std::size_t order = 0; order < std::min(free_areas_->count, kMaxOrders); ++order) {
      const auto free =
          image_.read_number<std::uint64_t>(address + free_areas_->offset + order * free_areas_->stride + *free_offset_);
      if (!free) return note("free blocks", free.error().detail);
      zone.free_blocks.push_back(*free);
    }
  }

  /// Adds the CPUs' pending counts, as the kernel does before printing.
  void read_numa(std::uint64_t address, LinuxZone& zone) {
    if (!numa_ || statistics_.numa.empty()) return;
    zone.numa = words(address, *numa_, statistics_.numa.size(), "NUMA events");
    const std::uint64_t per_cpu = zone_.get(zone_cpus_);
    if (!cpu_numa_ || per_cpu == 0 || zone.present == 0) return;
    for (const LinuxMachine::Cpu& cpu : machine_.cpus) {
      const auto more = words(per_cpu + cpu.offset, *cpu_numa_, zone.numa.size(), "NUMA events of a CPU");
      for (std::size_t i = 0; i < more.size(); ++i) zone.numa[i] += more[i];
    }
  }

  void read_page_sets(LinuxZone& zone) {
    const std::uint64_t per_cpu = zone_.get(sets_);
    if (per_cpu == 0 || !count_ || zone.present == 0) return;
    for (const LinuxMachine::Cpu& cpu : machine_.cpus) {
      if (!cpu.is_online) continue;
      if (auto read = set_.load(per_cpu + cpu.offset); !read) return note("the page sets of a zone", read.error().detail);
      zone.page_sets.push_back({.cpu = cpu.number, .count = static_cast<std::int32_t>(set_.get(count_))});
    }
  }

  KernelImage& image_;
  const LinuxMachine& machine_;
  const LinuxStatistics& statistics_;
  const bool has_pages_ = !image_.types().find_struct("per_cpu_pageset").has_value();
  StructReader zone_{image_, "zone"};
  StructReader set_{image_, has_pages_ ? "per_cpu_pages" : "per_cpu_pageset"};
  StructField boost_, start_, managed_, spanned_, present_, name_, sets_, count_, zone_cpus_;
  std::optional<MemberArray> zones_, counts_, numa_, node_counts_, watermarks_, reserve_, free_areas_, cpu_numa_;
  std::optional<std::uint64_t> free_offset_;
  LinuxNodes found_;
};

std::string padded(std::string_view word, std::size_t width, bool is_left = true) {
  std::string text(word);
  if (text.size() < width) text.insert(is_left ? text.end() : text.begin(), width - text.size(), ' ');
  return text;
}

std::string heading(const LinuxNode& node, const LinuxZone& zone) {
  return "Node " + std::to_string(node.number) + ", zone " + padded(zone.name, 8, false);
}

void add_line(std::string& text, std::string_view indent, std::string_view name, std::uint64_t value) {
  text += std::string(indent) + padded(name, 12) + " " + std::to_string(value) + "\n";
}

void add_counts(std::string& text, const std::vector<NamedCount>& names, const std::vector<std::uint64_t>& values) {
  for (std::size_t i = 0; i < std::min(names.size(), values.size()); ++i) add_line(text, "      ", names[i].name, values[i]);
}

void add_zone(std::string& text, const LinuxZone& zone, const LinuxStatistics& statistics) {
  text += "\n  pages free     " + std::to_string(zone.counts.empty() ? 0 : zone.counts[0]);
  const auto add = [&](std::string_view name, std::uint64_t value) {
    text += "\n        " + padded(name, 8) + " " + std::to_string(value);
  };
  add("boost", zone.boost);
  for (std::size_t i = 0; i < zone.watermarks.size(); ++i) add(kWatermarkNames[i], zone.watermarks[i]);
  add("spanned", zone.spanned);
  add("present", zone.present);
  add("managed", zone.managed);
  text += "\n        protection: (";
  for (std::size_t i = 0; i < zone.reserve.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(zone.reserve[i]);
  text += ")\n";
  if (zone.present == 0) return;
  add_counts(text, statistics.zones, zone.counts);
  add_counts(text, statistics.numa, zone.numa);
  text += "  pagesets\n";
  for (const LinuxZone::PageSet& set : zone.page_sets) {
    text += "    cpu: " + std::to_string(set.cpu) + "\n              count:    " + std::to_string(set.count) + "\n";
  }
  text += "  start_pfn:           " + std::to_string(zone.start_pfn) + "\n";
}

}  // namespace

LinuxNodes read_linux_nodes(KernelImage& image, const LinuxMachine& machine, const LinuxStatistics& statistics) {
  return NodeReader(image, machine, statistics).run();
}

std::string zoneinfo_text(const LinuxNodes& nodes, const LinuxStatistics& statistics) {
  std::string text;
  for (const LinuxNode& node : nodes.nodes) {
    bool is_first = true;
    for (const LinuxZone& zone : node.zones) {
      text += heading(node, zone);
      if (is_first && zone.present != 0) {
        text += "\n  per-node stats";
        std::string counts;
        add_counts(counts, statistics.nodes, node.counts);
        if (counts.ends_with('\n')) counts.pop_back();
        text += "\n" + counts;
        is_first = false;
      }
      add_zone(text, zone, statistics);
    }
  }
  return text;
}

std::string buddyinfo_text(const LinuxNodes& nodes) {
  std::string text;
  for (const LinuxNode& node : nodes.nodes) {
    for (const LinuxZone& zone : node.zones) {
      if (zone.present == 0) continue;
      text += heading(node, zone) + " ";
      for (const std::uint64_t count : zone.free_blocks) text += padded(std::to_string(count), 6, false) + " ";
      text += "\n";
    }
  }
  return text;
}

}  // namespace memstat::postmortem
