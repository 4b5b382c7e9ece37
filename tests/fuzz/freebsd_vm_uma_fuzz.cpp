// SPDX-License-Identifier: BSD-2-Clause
// libFuzzer target: any bytes as what was read of the tree vm.uma; and as names of zones and of nodes, which are matched.
#include "core/base/zone_nodes.h"
#include "core/kernel/listed_sysctls.h"
#include "tests/fuzz/fuzz_source.h"

namespace {

/// Parses twice; what is good is as well-formed as a list takes it.
void parse_twice(memstat::SourceReader& reader) {
  using namespace memstat;
  MemoryTypeList list;
  for (std::uint64_t generation = 1; generation <= 2; ++generation) {
    if (const Result<void> committed = commit_source(reader, list, generation); !committed) {
      require_typed(committed.error(), reader);
      return;
    }
    MEMSTAT_FUZZ_REQUIRE(list.size() == 0);  // it is no roster
  }
  const Staging& staging = reader.staging;
  MEMSTAT_FUZZ_REQUIRE(staging.node_count() >= 1 && staging.node_count() <= kMostNodes && !staging.types().empty());
  std::uint64_t sum = 0;
  for (const StagedType& type : staging.types()) {
    MEMSTAT_FUZZ_REQUIRE(is_valid_label_text(type.name) && type.name.size() <= 3 * kLongestZoneName);
    MEMSTAT_FUZZ_REQUIRE((type.fields - reader.descriptor->fields).empty());
    MEMSTAT_FUZZ_REQUIRE((type.node_fields - staging.node_fields()).empty());
    for (std::uint32_t node = 0; node < staging.node_count(); ++node) {
      for_each_of(staging.node_fields(), [&](NodeField field) { sum += staging.node_figure(type, field, node); });
    }
  }
  volatile std::uint64_t read = sum;  // only that all of it could be read matters
  (void)read;
}

/// No node is given to two zones, and who has one is not of another size or kind.
void match(std::string_view text) {
  using namespace memstat;
  std::vector<ListedZone> zones;
  std::vector<ZoneNode> nodes;
  std::string_view line;
  while (next_line(text, line) && zones.size() + nodes.size() < 64) {
    const auto flags = static_cast<unsigned char>(line.empty() ? 0 : line.front());
    const std::string_view name = line.substr(std::min<std::size_t>(line.size(), 1));
    const std::string_view first = name.substr(0, name.find('|'));
    if ((flags & 1U) != 0) {
      zones.push_back({first.substr(0, kLongestZoneName), flags / 8U, (flags & 2U) != 0});
    } else {
      ZoneNode& node = nodes.emplace_back();
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
    if (places[i] == kNoZoneNode) continue;
    MEMSTAT_FUZZ_REQUIRE(places[i] < nodes.size() && taken.insert(places[i]).second);
    MEMSTAT_FUZZ_REQUIRE(nodes[places[i]].size.value_or(zones[i].size) == zones[i].size);
    MEMSTAT_FUZZ_REQUIRE(number_of_zone_node(zones[i].name, nodes[places[i]].name).has_value());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace memstat;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  match(bytes);
  SourceReader reader(*find_source("freebsd_vm_uma"));
  reader.raw.page_size = 4096;
  reader.raw.parts[0].assign(bytes);
  parse_twice(reader);
  // A fuzzer hardly guesses a bundle: lines "NAME BYTES" make one that is whole.
  Buffer scratch;
  FileBundleWriter bundle(reader.raw.parts[0], scratch);
  std::string_view rest = bytes;
  std::string_view line;
  while (next_line(rest, line)) {
    std::string_view name;
    if (next_word(line, name)) static_cast<void>(bundle.add(name, line.substr(std::min<std::size_t>(line.size(), 1))));
  }
  static_cast<void>(bundle.add(kEndOfListedSysctls, {}));
  parse_twice(reader);
  return 0;
}
