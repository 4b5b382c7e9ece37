// SPDX-License-Identifier: BSD-2-Clause
// The counters of a Linux kernel's memory management, with the kernel's names.
//
// vmstat_text (mm/vmstat.c) names all of them: those of zones, of NUMA events, of nodes, a few others, and events, in this
// order. So memstatd needs no list of its own that must follow the kernel's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/postmortem/linux/cpus.h"
#include "core/postmortem/linux/kernel_image.h"

namespace memstat::postmortem {

struct NamedCount {
  std::string name;
  std::uint64_t value = 0;
};

/// Machine-wide counters.
struct LinuxStatistics {
  std::vector<NamedCount> zones;   ///< vm_zone_stat, sums over zones.
  std::vector<NamedCount> numa;    ///< vm_numa_event, without the CPUs' pending counts; empty without CONFIG_NUMA.
  std::vector<NamedCount> nodes;   ///< vm_node_stat, sums over nodes.
  std::vector<NamedCount> others;  ///< Counters in variables of their own.
  std::vector<NamedCount> events;  ///< vm_event_states, sums over CPUs; empty without CONFIG_VM_EVENT_COUNTERS.
  std::string damage;              ///< Unreadable parts, for display; usually "".

  /// The value of a counter, searched in zones, nodes and others.
  [[nodiscard]] std::optional<std::uint64_t> find(std::string_view name) const;
};

/// Omits what cannot be read, and reports it in `damage`.
LinuxStatistics read_linux_statistics(KernelImage& image, const LinuxMachine& machine);

/// Reads an array of `count` 64-bit numbers. Errors: those of KernelImage::read; kData above 65536.
Result<std::vector<std::uint64_t>> read_words(KernelImage& image, std::uint64_t address, std::size_t count);

/// A page counter as the kernel prints it: a sum that is momentarily negative is shown as 0.
constexpr std::uint64_t shown(std::uint64_t counter) { return static_cast<std::int64_t>(counter) < 0 ? 0 : counter; }

/// /proc/vmstat.
std::string vmstat_text(const LinuxStatistics& statistics);

/// Files of /proc as mm/vmstat.c prints them, without what cannot be read.
struct LinuxZones {
  std::string zoneinfo;
  std::string buddyinfo;
  std::string damage;  ///< The first problem found, for display; usually "".
};
LinuxZones read_linux_zones(KernelImage& image, const LinuxMachine& machine, const LinuxStatistics& statistics);

/// A file of /proc as the dumped kernel would have printed it.
struct LinuxText {
  std::string text;    ///< Without unreadable lines.
  std::string damage;  ///< The first problem found, for display; usually "".
};

/// /proc/meminfo, as meminfo_proc_show() (fs/proc/meminfo.c) prints it; "" if MemTotal or MemFree cannot be read. Omits
/// lines that no source reads (Dirty, Committed_AS, Direct Map*, ...), Zswap, and MemAvailable.
LinuxText read_linux_meminfo(KernelImage& image, const LinuxStatistics& statistics, std::uint64_t page_bytes);

/// /proc/vmallocinfo, the areas of mm/vmalloc.c, as s_show() prints them.
LinuxText read_linux_vmallocinfo(KernelImage& image, const LinuxMachine& machine);

}  // namespace memstat::postmortem
