// SPDX-License-Identifier: BSD-2-Clause
// Maps nodes of FreeBSD's sysctl tree vm.uma to uma(9) zones. The kernel derives a node's name from its zone's
// (zone_alloc_sysctl() in sys/vm/uma_core.c). Each of . / \ - and blank becomes '_'. If zones with the same name exist, it
// appends "_N", where N is one more than their highest number, so a younger zone has a larger N. The reverse is ambiguous:
// "a_1" may be the zone "a_1", the zone "a 1" or the second zone "a".
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace memstat {

/// vm.zone_stats truncates zone names to this many bytes; the tree has them in full.
inline constexpr std::size_t kMaxZoneNameSize = 31;

/// The number in the name of node `node` if it belongs to a zone named `zone`; 0 for a node without a number. Nothing if the
/// kernel would not give such a zone this node. A `zone` of kMaxZoneNameSize bytes may be truncated.
std::optional<std::uint32_t> number_of_zone_node(std::string_view zone, std::string_view node);

/// A zone from vm.zone_stats.
struct ListedZone {
  std::string_view name;
  std::uint32_t size = 0;  ///< B
  bool has_keg = false;    ///< False for a cache zone, which has no slabs.
};

/// A node of the tree. "Unknown" differs from "none", because a recording contains only what a poll read.
struct UmaSysctlNode {
  std::string_view name;
  std::string_view keg =
      {};  ///< Name of the keg, which is the name of the zone that created it: the zone itself unless it is secondary.
  std::optional<std::uint32_t> size = {};  ///< B
  std::optional<bool> has_keg = {};
};

inline constexpr std::size_t kNoUmaSysctlNode = static_cast<std::size_t>(-1);

/// Returns the index in `nodes` of each zone's node. Zones with the same name are matched by age: the stream lists the
/// youngest first. Ambiguous zones get no node: zones whose names map to the same node, of which the kernel shows only the
/// first; names with more or fewer nodes than zones; zones whose size or keg differs from the node's.
std::vector<std::size_t> match_zone_nodes(std::span<const ListedZone> zones, std::span<const UmaSysctlNode> nodes);

}  // namespace memstat
