// SPDX-License-Identifier: BSD-2-Clause
// libFuzzer target: any bytes as what was read of the tree vm.uma; and as names of zones and of nodes, which are matched.
#include "core/parse/uma_sysctl_nodes.h"
#include "tests/fuzz/fuzz_bundle.h"
#include "tests/fuzz/fuzz_target.h"

namespace {

/// Accepted input has at least one domain and one zone, and names as long as the kernel's.
void commit(memstat::SourceReader& reader) {
  using namespace memstat;
  if (!fuzz_contribution(reader)) return;
  const Staging& staging = reader.staging;
  MEMSTAT_FUZZ_REQUIRE(staging.node_count() >= 1 && !staging.types().empty());
  for (const StagedType& type : staging.types()) MEMSTAT_FUZZ_REQUIRE(type.name.size() <= kMaxLabelBytes * kMaxZoneNameSize);
}

/// No node belongs to two zones, or to a zone of another size or kind.
void match(std::string_view text) {
  using namespace memstat;
  std::vector<ListedZone> zones;
  std::vector<UmaSysctlNode> nodes;
  std::string_view line;
  while (next_line(text, line) && zones.size() + nodes.size() < 64) {
    const auto flags = static_cast<unsigned char>(line.empty() ? 0 : line.front());
    const std::string_view name = line.substr(std::min<std::size_t>(line.size(), 1));
    const std::string_view first = name.substr(0, name.find('|'));
    if ((flags & 1U) != 0) {
      zones.push_back({first.substr(0, kMaxZoneNameSize), flags / 8U, (flags & 2U) != 0});
    } else {
      UmaSysctlNode& node = nodes.emplace_back();
      node.name = first;
      node.keg = name.substr(std::min(first.size() + 1, name.size()));
      if ((flags & 4U) == 0) node.size = flags / 8U;
      if (flags < 128) node.has_keg = (flags & 2U) != 0;
    }
  }
  const std::vector<std::size_t> places = match_zone_nodes(zones, nodes);
  MEMSTAT_FUZZ_REQUIRE(places.size() == zones.size());
  std::set<std::size_t> taken;
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (places[i] == kNoUmaSysctlNode) continue;
    MEMSTAT_FUZZ_REQUIRE(places[i] < nodes.size() && taken.insert(places[i]).second);
    MEMSTAT_FUZZ_REQUIRE(nodes[places[i]].size.value_or(zones[i].size) == zones[i].size);
    MEMSTAT_FUZZ_REQUIRE(number_of_zone_node(zones[i].name, nodes[places[i]].name).has_value());
  }
}

}  // namespace

void memstat::fuzz(std::string_view bytes) {
  match(bytes);
  fuzz_listed_sysctls("freebsd_vm_uma", bytes, commit);
}
