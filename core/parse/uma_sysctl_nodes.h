// SPDX-License-Identifier: BSD-2-Clause
// Which node of FreeBSD's sysctl tree vm.uma is which uma(9) zone. The kernel makes a node's name of a zone's
// (zone_alloc_sysctl() in sys/vm/uma_core.c): each of . / \ - and blank becomes '_', and where other zones of the same name
// are alive it appends "_N", N being one more than the highest of these, so that a younger one has a larger N. The other way
// round that is ambiguous: "a_1" may be the zone "a_1", "a 1" or the second one called "a".
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace memstat {

/// Names of zones are cut to this number of bytes in vm.zone_stats, where whole ones are in the tree.
inline constexpr std::size_t kLongestZoneName = 31;

/// Which of the zones called `zone` the node called `node` would be: 0 for the one without a number. Nothing when the kernel
/// gives no zone of that name such a node. A `zone` of kLongestZoneName bytes may go on behind its end.
std::optional<std::uint32_t> number_of_zone_node(std::string_view zone, std::string_view node);

/// A zone as vm.zone_stats has it. Thread safety: a plain value.
struct ListedZone {
  std::string_view name;
  std::uint32_t size = 0;  ///< B
  bool has_keg = false;    ///< Not a cache zone, which has no slabs.
};

/// A node of the tree. What is not known differs from nothing: a recording has what was read in a poll, and that is not all.
/// Thread safety: a plain value.
struct UmaSysctlNode {
  std::string_view name;
  std::string_view keg = {};  ///< Name of the keg: of the zone that made it, so of the zone itself unless it is secondary.
  std::optional<std::uint32_t> size = {};  ///< B
  std::optional<bool> has_keg = {};
};

/// No node.
inline constexpr std::size_t kNoUmaSysctlNode = static_cast<std::size_t>(-1);

/// The node of each of `zones`, by its place in `nodes`. Zones of one name are told apart by their age: the stream has the
/// youngest first. What is not certain has none: zones whose names make the same node, of which the kernel shows only the
/// first; names of which there are more or fewer nodes than zones; zones that differ from their node in size or keg.
std::vector<std::size_t> match_zone_nodes(std::span<const ListedZone> zones, std::span<const UmaSysctlNode> nodes);

}  // namespace memstat
