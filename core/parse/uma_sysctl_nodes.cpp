// SPDX-License-Identifier: BSD-2-Clause
#include "core/parse/uma_sysctl_nodes.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <utility>

#include "core/base/text.h"

namespace memstat {
namespace {

char as_in_node(char c) { return std::string_view("./\\ -").find(c) == std::string_view::npos ? c : '_'; }

/// The zones of one name, and the nodes that may belong to them.
struct Namesakes {
  std::vector<std::size_t> zones;                            // youngest first
  std::vector<std::pair<std::uint32_t, std::size_t>> nodes;  // number and index, of the unambiguous ones
};

/// Assigns nodes to the zones. Zones with and without a keg are matched separately if that is known for all nodes.
void pair_up(const Namesakes& namesakes, std::optional<bool> has_keg, std::span<const ListedZone> zones,
             std::span<const UmaSysctlNode> nodes, std::vector<std::size_t>& places) {
  std::vector<std::size_t> listed;
  for (const std::size_t zone : namesakes.zones) {
    if (!has_keg || zones[zone].has_keg == *has_keg) listed.push_back(zone);
  }
  std::vector<std::size_t> found;  // youngest first, too
  for (const auto& [number, node] : namesakes.nodes) {
    if (!has_keg || nodes[node].has_keg == *has_keg) found.push_back(node);
  }
  if (listed.size() != found.size()) return;
  for (std::size_t i = 0; i < listed.size(); ++i) {
    if (nodes[found[i]].size.value_or(zones[listed[i]].size) != zones[listed[i]].size) return;
  }
  for (std::size_t i = 0; i < listed.size(); ++i) places[listed[i]] = found[i];
}

}  // namespace

std::optional<std::uint32_t> number_of_zone_node(std::string_view zone, std::string_view node) {
  if (node.size() < zone.size()) return std::nullopt;
  if (!std::equal(zone.begin(), zone.end(), node.begin(), [](char a, char b) { return as_in_node(a) == b; })) {
    return std::nullopt;
  }
  std::string_view rest = node.substr(zone.size());
  if (rest.empty()) return 0;
  if (zone.size() >= kMaxZoneNameSize) {
    const std::size_t underscore = rest.rfind('_');
    rest = underscore == std::string_view::npos ? std::string_view() : rest.substr(underscore);
  }
  const auto number = rest.starts_with("_") ? parse_u64(rest.substr(1)) : std::nullopt;
  const bool is_number = number && *number != 0 && rest[1] != '0' && *number <= std::numeric_limits<std::uint32_t>::max();
  if (is_number) return static_cast<std::uint32_t>(*number);
  return zone.size() >= kMaxZoneNameSize ? std::optional<std::uint32_t>(0) : std::nullopt;
}

std::vector<std::size_t> match_zone_nodes(std::span<const ListedZone> zones, std::span<const UmaSysctlNode> nodes) {
  std::map<std::string_view, Namesakes> names;
  for (std::size_t i = 0; i < zones.size(); ++i) names[zones[i].name].zones.push_back(i);

  struct Doubt {
    std::size_t node;
    std::vector<std::pair<std::uint32_t, Namesakes*>> claims;
  };
  std::vector<Doubt> doubts;
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    Doubt doubt{node, {}};
    for (auto& [name, namesakes] : names) {
      if (const auto number = number_of_zone_node(name, nodes[node].name)) doubt.claims.emplace_back(*number, &namesakes);
    }
    if (doubt.claims.size() == 1) {
      doubt.claims[0].second->nodes.emplace_back(doubt.claims[0].first, node);
    } else if (doubt.claims.size() > 1) {
      doubts.push_back(std::move(doubt));
    }
  }
  for (Doubt& doubt : doubts) {
    // A name that has as many nodes as zones claims no more. A zone that created a keg has the keg's name.
    std::erase_if(doubt.claims, [](const auto& claim) { return claim.second->nodes.size() >= claim.second->zones.size(); });
    const UmaSysctlNode& node = nodes[doubt.node];
    if (doubt.claims.size() > 1 && node.has_keg.value_or(false)) {
      const std::string_view keg = node.keg.substr(0, kMaxZoneNameSize);
      std::erase_if(doubt.claims, [&](const auto& claim) { return zones[claim.second->zones[0]].name != keg; });
    }
    if (doubt.claims.size() == 1) doubt.claims[0].second->nodes.emplace_back(doubt.claims[0].first, doubt.node);
  }

  std::vector<std::size_t> places(zones.size(), kNoUmaSysctlNode);
  for (auto& [name, namesakes] : names) {
    if (namesakes.zones.size() != namesakes.nodes.size()) continue;
    std::sort(namesakes.nodes.begin(), namesakes.nodes.end(), std::greater<>());
    const bool is_known = std::all_of(namesakes.nodes.begin(), namesakes.nodes.end(),
                                      [nodes](const auto& node) { return nodes[node.second].has_keg.has_value(); });
    if (is_known) {
      pair_up(namesakes, true, zones, nodes, places);
      pair_up(namesakes, false, zones, nodes, places);
    } else {
      pair_up(namesakes, std::nullopt, zones, nodes, places);
    }
  }
  return places;
}

}  // namespace memstat
