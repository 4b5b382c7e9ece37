// SPDX-License-Identifier: BSD-2-Clause
// The zones of a Linux kernel's page allocator: struct pglist_data and struct zone of each node (include/linux/mmzone.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/postmortem/linux/cpus.h"
#include "core/postmortem/linux/kernel_image.h"
#include "core/postmortem/linux/statistics.h"

namespace memstat::postmortem {

/// A zone. Amounts are in pages.
struct LinuxZone {
  struct PageSet {
    std::uint32_t cpu = 0;
    std::int32_t count = 0;
  };
  std::string name;
  std::uint64_t boost = 0;                ///< Included in the watermarks.
  std::vector<std::uint64_t> watermarks;  ///< min, low, high and, since Linux 5.18, promo.
  std::uint64_t spanned = 0;
  std::uint64_t present = 0;
  std::uint64_t managed = 0;
  std::uint64_t start_pfn = 0;
  std::vector<std::uint64_t> reserve;      ///< lowmem_reserve
  std::vector<std::uint64_t> counts;       ///< In the order of LinuxStatistics::zones; the first one is free pages.
  std::vector<std::uint64_t> numa;         ///< In the order of LinuxStatistics::numa; may be empty.
  std::vector<std::uint64_t> free_blocks;  ///< By order.
  std::vector<PageSet> page_sets;          ///< Online CPUs only.
};

/// Nodes.
struct LinuxNode {
  std::uint32_t number = 0;
  std::vector<std::uint64_t> counts;  ///< In the order of LinuxStatistics::nodes.
  std::vector<LinuxZone> zones;       ///< All zones of the kernel's configuration, by ascending address.
};

struct LinuxNodes {
  std::vector<LinuxNode> nodes;
  std::string damage;  ///< Unreadable parts, for display; usually "".
};

/// Omits what cannot be read, and reports it in `damage`.
LinuxNodes read_linux_nodes(KernelImage& image, const LinuxMachine& machine, const LinuxStatistics& statistics);

/// /proc/zoneinfo and /proc/buddyinfo, as mm/vmstat.c prints them.
std::string zoneinfo_text(const LinuxNodes& nodes, const LinuxStatistics& statistics);
std::string buddyinfo_text(const LinuxNodes& nodes);

}  // namespace memstat::postmortem
