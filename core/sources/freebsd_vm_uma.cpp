// SPDX-License-Identifier: BSD-2-Clause
// What the sysctl tree vm.uma reports of uma(9) zones beyond vm.zone_stats (zone_alloc_sysctl() in sys/vm/uma_core.c,
// FreeBSD 13.0 and later). A zone is a node, and this is read of it, each an integer:
//
//   keg.ppera, keg.efficiency                       pages a slab, percent of a slab that its items take
//   keg.domain.D.pages, keg.domain.D.free_items     what the keg has of memory domain D
//   domain.D.nitems                                 items cached in the zone's buckets
//   limit.max_items, limit.sleepers                 all 64 bits of the limit (vm.zone_stats has 32), threads waiting now
//
// Pages are the keg's own count: for a zone with a limit vm.zone_stats has a figure computed from its items instead. A
// secondary zone shares the keg of another one, so nothing of the keg is its own; a cache zone has none.
//
// Nodes have other names than zones: see core/parse/uma_sysctl_nodes.h. Zones whose node is not certain have none of these
// figures. Which node is which zone is found out once, and again when vm.zone_stats has other zones or a node is gone.
//
// That would be six calls a zone at every poll. But pages a slab and their efficiency never change, a limit changes with the
// 32 bits of it in vm.zone_stats, and on a machine with one domain the rest of most zones is in vm.zone_stats as well, where
// figures are sums over domains. What is left are pages and sleepers of zones with a limit, and all zones of larger
// machines.
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "core/base/arithmetic.h"
#include "core/base/fixed_path.h"
#include "core/base/text.h"
#include "core/collect/read_plan.h"
#include "core/collect/sysctl_list.h"
#include "core/collect/sysctl_stream.h"
#include "core/parse/statistics_stream.h"
#include "core/parse/uma_sysctl_nodes.h"
#include "core/source.h"

namespace memstat::sources {
namespace {

constexpr std::string_view kTree = "vm.uma";
constexpr std::string_view kPrefix = "vm.uma.";

// Parts of RawBytes.
constexpr std::size_t kBundlePart = 0;
constexpr std::size_t kScratchPart = 1;
constexpr std::size_t kPlanPart = 2;    // how many zones there were, as 32 bits; then what follows
constexpr std::size_t kStreamPart = 3;  // vm.zone_stats
constexpr std::size_t kPlanHeader = sizeof(std::uint32_t);

/// Records of the plan, and names of the bundle's records: a zone, whose leaves follow.
enum PlanKind : std::uint8_t {
  kZone,      ///< A PlannedZone, then the type's name.
  kNode,      ///< Text: the zone's node; the leaves that follow are below it.
  kLeaf,      ///< Text: what follows the node's name and a dot. It is read at every poll.
  kKnown,     ///< Its value, as 64 bits, then as kLeaf: it does not change.
  kInStream,  ///< Its place in the zone's record of vm.zone_stats, as 64 bits, then as kLeaf.
};
/// Where a zone is in vm.zone_stats, and the limit that it has there: when that changes, the plan is made again.
struct PlannedZone {
  std::uint32_t index;
  std::uint32_t limit;
};
constexpr std::size_t kPrefixSize = sizeof(std::uint64_t);
static_assert(sizeof(PlannedZone) == kPrefixSize);

constexpr std::string_view kZoneRecord = "zone";

constexpr std::string_view kLimit = "limit.max_items";
constexpr std::string_view kSleepers = "limit.sleepers";
constexpr std::string_view kPagesPerSlab = "keg.ppera";
constexpr std::string_view kEfficiency = "keg.efficiency";
constexpr std::string_view kNoKeg = "cache zone";  // as keg.name
constexpr std::string_view kKegDomain = "keg.domain.";
constexpr std::string_view kZoneDomain = "domain.";

// Offsets in a record of vm.zone_stats (struct uma_type_header).
constexpr std::size_t kSizeAt = 36;
constexpr std::size_t kRSizeAt = 40;
constexpr std::size_t kLimitAt = 48;
constexpr std::size_t kPagesAt = 52;
constexpr std::size_t kKegFreeAt = 56;
constexpr std::size_t kZoneFreeAt = 60;
constexpr std::size_t kFlagsAt = 68;
constexpr std::uint32_t kSecondaryFlag = 1;

constexpr NodeFieldMask kNodeFields{NodeField::kHeldBytes, NodeField::kFree};

Error of_tree(const Error& error) { return as_error_of(kTree, error); }

/// The D and what follows it of "keg.domain.D.pages" behind `prefix`. Domains are called by their numbers.
std::optional<std::uint32_t> domain_of(std::string_view leaf, std::string_view prefix, std::string_view& rest) {
  if (!leaf.starts_with(prefix)) return std::nullopt;
  leaf.remove_prefix(prefix.size());
  const std::size_t dot = leaf.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const auto number = parse_u64(leaf.substr(0, dot));
  if (!number || *number >= kMostNodes) return std::nullopt;
  rest = leaf.substr(dot + 1);
  return static_cast<std::uint32_t>(*number);
}

/// Whether a leaf is read at every poll. `is_secondary` zones have nothing of the keg that they name.
bool is_wanted(std::string_view leaf, bool is_secondary) {
  std::string_view rest;
  if (leaf == kLimit) return true;
  if (domain_of(leaf, kZoneDomain, rest)) return rest == "nitems";
  if (is_secondary) return false;
  if (domain_of(leaf, kKegDomain, rest)) return rest == "pages" || rest == "free_items";
  return leaf == kPagesPerSlab || leaf == kEfficiency;
}

/// The figures of one zone while its records come. Domains that are not told have nothing.
class ZoneFigures {
 public:
  /// False when the bytes are no number.
  bool take(std::string_view leaf, std::string_view bytes, std::uint64_t page_size, Staging& staging, StagedType& zone) {
    const auto number = sysctl_amount(bytes);
    if (!number) return false;
    std::string_view rest;
    if (leaf == kLimit) {
      // All bits set, or the sign: no limit, as 0.
      if (*number != 0) set(zone, Field::kWideLimit, *number);
    } else if (leaf == kSleepers) {
      set(zone, Field::kSleepers, *number);
    } else if (leaf == kPagesPerSlab) {
      pages_per_slab_ = *number;
    } else if (leaf == kEfficiency) {
      set(zone, Field::kEfficiency, *number);
    } else if (const auto of_keg = domain_of(leaf, kKegDomain, rest); of_keg && *of_keg < staging.node_count()) {
      if (rest == "pages") {
        has_pages_ = true;
        pages_ = saturating_sum(pages_, *number);
        std::uint64_t bytes_held = 0;
        if (__builtin_mul_overflow(*number, page_size, &bytes_held)) return false;
        staging.node_figure(zone, NodeField::kHeldBytes, *of_keg) = bytes_held;
      } else if (rest == "free_items") {
        add(staging.node_figure(zone, NodeField::kFree, *of_keg), *number);
      }
    } else if (const auto of_zone = domain_of(leaf, kZoneDomain, rest);
               of_zone && *of_zone < staging.node_count() && rest == "nitems") {
      add(staging.node_figure(zone, NodeField::kFree, *of_zone), *number);
    }
    return true;
  }
  void finish(StagedType& zone) const {
    if (has_pages_) {
      if (pages_per_slab_ != 0) set(zone, Field::kSlabs, pages_ / pages_per_slab_);
    } else {
      zone.node_fields.remove(NodeField::kHeldBytes);
    }
  }

 private:
  static void set(StagedType& zone, Field field, std::uint64_t value) {
    zone.fields.add(field);
    zone.figures[field] = value;
  }
  static void add(std::uint64_t& to, std::uint64_t value) { to = saturating_sum(to, value); }

  // No std::optional: g++ 12 takes its emptiness for a value that was forgotten.
  bool has_pages_ = false;
  std::uint64_t pages_ = 0;
  std::uint64_t pages_per_slab_ = 0;
};

/// One more than the highest domain that any record names, 1 at least.
std::uint32_t count_domains(std::string_view bundle) {
  std::uint32_t count = 1;
  FileBundleReader records(bundle);
  std::string_view name;
  std::string_view bytes;
  std::string_view rest;
  while (records.next(name, bytes)) {
    for (const std::string_view prefix : {kKegDomain, kZoneDomain}) {
      if (const auto domain = domain_of(name, prefix, rest)) count = std::max(count, *domain + 1);
    }
  }
  return count;
}

Result<void> parse(const RawBytes& raw, Staging& staging) {
  const std::string_view bundle = raw.parts[kBundlePart].view();
  staging.reset({}, 0);
  staging.set_nodes(kNodeFields, count_domains(bundle));
  StagedType* zone = nullptr;
  ZoneFigures figures;
  const auto take = [&](std::string_view name, std::string_view bytes) {
    if (name != kZoneRecord) {
      return zone == nullptr || figures.take(name, bytes, raw.page_size, staging, *zone);
    }
    if (zone != nullptr) figures.finish(*zone);
    zone = &staging.add(bytes.substr(0, kLongestZoneName), kLongestZoneName);
    figures = {};
    return true;
  };
  if (auto result = for_each_listed_sysctl(kTree, bundle, take); !result) return result;
  if (zone == nullptr) return data_error(kTree, bundle.size(), "no zone has a node");
  figures.finish(*zone);
  return {};
}

/// A node of the tree as listed.
struct TreeNode {
  std::string_view name;
  std::vector<std::string_view> leaves;
};

std::vector<TreeNode> nodes_of(const std::vector<std::string>& sysctls) {
  std::vector<TreeNode> nodes;
  for (const std::string& sysctl : sysctls) {
    const std::string_view below = std::string_view(sysctl).substr(std::min(sysctl.size(), kPrefix.size()));
    const std::size_t dot = below.find('.');
    if (dot == std::string_view::npos || below.find('\n') != std::string_view::npos) continue;
    const std::string_view name = below.substr(0, dot);
    if (nodes.empty() || nodes.back().name != name) nodes.push_back({name, {}});
    nodes.back().leaves.push_back(below.substr(dot + 1));
  }
  return nodes;
}

/// Text of a sysctl without the NUL at its end.
std::string text_of(const Buffer& bytes) {
  const std::string_view view = bytes.view();
  return std::string(view.substr(0, view.find('\0')));
}

/// What distinguishes nodes. `kegs` holds the names, as long as the nodes are in use.
Result<std::vector<ZoneNode>> describe(KernelView& view, const std::vector<TreeNode>& nodes,
                                       std::vector<std::string>& kegs) {
  std::vector<ZoneNode> described;
  described.reserve(nodes.size());
  Buffer bytes;
  kegs.reserve(nodes.size());
  for (const TreeNode& node : nodes) {
    const std::string prefix = std::string(kPrefix) + std::string(node.name) + ".";
    const auto has = [&node](std::string_view leaf) {
      return std::find(node.leaves.begin(), node.leaves.end(), leaf) != node.leaves.end();
    };
    kegs.emplace_back();
    ZoneNode& entry = described.emplace_back();
    entry.name = node.name;
    if (has("keg.name")) {  // which every zone has, with or without a keg
      if (auto result = view.read_sysctl(prefix + "keg.name", bytes, 64); !result) return of_tree(result.error());
      kegs.back() = text_of(bytes);
      entry.keg = kegs.back();
      entry.has_keg = kegs.back() != kNoKeg;
    }
    if (has("size")) {
      const auto size = read_sysctl_u32(view, prefix + "size", bytes);
      if (!size) return of_tree(size.error());
      entry.size = *size;
    }
  }
  return described;
}

/// A value of 64 bits before a text, as some records of the plan have it.
template <typename T>
void append_with_prefix(Buffer& plan, PlanKind kind, const T& prefix, std::string_view text) {
  std::array<char, 256> record;
  const std::size_t size = std::min(text.size(), record.size() - kPrefixSize);  // names of nodes and zones are shorter
  std::memcpy(record.data(), &prefix, kPrefixSize);
  text.copy(record.data() + kPrefixSize, size);
  append_to_plan(plan, kind, {record.data(), kPrefixSize + size});
}

template <typename T>
T take_prefix(std::string_view& text) {
  T prefix{};
  if (text.size() < kPrefixSize) return prefix;
  std::memcpy(&prefix, text.data(), kPrefixSize);
  text.remove_prefix(kPrefixSize);
  return prefix;
}

/// Where a record of vm.zone_stats has the figure of a leaf of the only domain; 0: nowhere.
std::size_t place_in_record(std::string_view leaf, bool has_limit) {
  if (leaf == "domain.0.nitems") return kZoneFreeAt;
  if (leaf == "keg.domain.0.free_items") return kKegFreeAt;
  return leaf == "keg.domain.0.pages" && !has_limit ? kPagesAt : 0;
}

bool has_one_domain(const TreeNode& node) {
  std::string_view rest;
  return std::none_of(node.leaves.begin(), node.leaves.end(), [&rest](std::string_view leaf) {
    return domain_of(leaf, kZoneDomain, rest).value_or(0) != 0 || domain_of(leaf, kKegDomain, rest).value_or(0) != 0;
  });
}

/// Writes down how the figures of one zone are read.
Result<void> plan_zone(KernelView& view, const TreeNode& node, bool is_secondary, RawBytes& raw) {
  Buffer& plan = raw.parts[kPlanPart];
  Buffer& scratch = raw.parts[kScratchPart];
  const std::string prefix = std::string(kPrefix) + std::string(node.name) + ".";
  append_to_plan(plan, kNode, node.name);
  const bool is_in_stream = has_one_domain(node);
  bool has_limit = false;
  const auto add_known = [&](std::string_view leaf) -> Result<void> {
    if (auto result = view.read_sysctl(prefix + std::string(leaf), scratch, sizeof(std::uint64_t)); !result) return result;
    const auto value = sysctl_amount(scratch.view());
    if (!value) return data_error(kTree, 0, prefix + std::string(leaf) + " is not a number");
    if (leaf == kLimit) has_limit = *value != 0;
    append_with_prefix(plan, kKnown, *value, leaf);
    return {};
  };
  // The limit first: whether there is one says how the others are read, and a zone without one has no sleepers either.
  if (std::find(node.leaves.begin(), node.leaves.end(), kLimit) != node.leaves.end()) {
    if (auto result = add_known(kLimit); !result) return result;
    if (has_limit) append_to_plan(plan, kLeaf, kSleepers);
  }
  for (const std::string_view leaf : node.leaves) {
    if (leaf == kLimit || !is_wanted(leaf, is_secondary)) continue;
    const std::size_t place = is_in_stream ? place_in_record(leaf, has_limit) : 0;
    if (place != 0) {
      append_with_prefix(plan, kInStream, std::uint64_t{place}, leaf);
    } else if (leaf != kPagesPerSlab && leaf != kEfficiency) {
      append_to_plan(plan, kLeaf, leaf);
    } else if (auto result = add_known(leaf); !result) {
      return result;
    }
  }
  return {};
}

/// Writes down which leaves of which nodes are read for which types, in the order of vm.zone_stats, so that types of one
/// name are in the roster's order.
Result<void> make_plan(KernelView& view, const StatisticsStream& stream, RawBytes& raw) {
  Buffer& plan = raw.parts[kPlanPart];
  plan.clear();
  std::vector<std::string> sysctls;
  if (auto result = view.list_sysctls(kTree, sysctls); !result) return result;
  const std::vector<TreeNode> nodes = nodes_of(sysctls);
  std::vector<std::string> kegs;
  const auto described = describe(view, nodes, kegs);
  if (!described) return described.error();

  const std::string_view bytes = raw.parts[kStreamPart].view();
  const auto u32 = [&](std::size_t zone, std::size_t at) { return load<std::uint32_t>(bytes, stream.record(zone) + at); };
  std::vector<ListedZone> zones;
  for (std::size_t i = 0; i < stream.count(); ++i) {
    const auto name = stream.record_name(i);
    if (!name) return name.error();
    zones.push_back({.name = *name, .size = u32(i, kSizeAt), .has_keg = u32(i, kRSizeAt) != 0});
  }
  const std::vector<std::size_t> places = match_zone_nodes(zones, *described);

  const std::uint32_t count = stream.count();
  plan.append({reinterpret_cast<const char*>(&count), sizeof count});
  for (std::size_t i = 0; i < zones.size(); ++i) {
    if (places[i] == kNoZoneNode) continue;
    append_with_prefix(plan, kZone, PlannedZone{.index = static_cast<std::uint32_t>(i), .limit = u32(i, kLimitAt)},
                       zones[i].name);
    const bool is_secondary = (u32(i, kFlagsAt) & kSecondaryFlag) != 0;
    if (auto result = plan_zone(view, nodes[places[i]], is_secondary, raw); !result) {
      plan.clear();
      return result;
    }
  }
  if (plan.size() > kPlanHeader) return {};
  plan.clear();
  return system_error(kTree, ENOENT, "none of its nodes is a zone of vm.zone_stats");
}

/// Reads what the plan says into the bundle. kNotPresent when the kernel has other zones by now, or other limits.
Result<void> read_plan(KernelView& view, const StatisticsStream& stream, RawBytes& raw) {
  const auto changed = [] { return system_error(kTree, ENOENT, "a zone has changed"); };
  const bool wants_all = view.wants_whole_polls();
  const std::string_view bytes = raw.parts[kStreamPart].view();
  if (load<std::uint32_t>(raw.parts[kPlanPart].view(), 0) != stream.count()) return changed();
  FileBundleWriter bundle(raw.parts[kBundlePart], raw.parts[kScratchPart]);
  Buffer& scratch = raw.parts[kScratchPart];
  FixedPath path;
  std::size_t node_end = 0;
  std::size_t record = 0;
  const auto read_leaf = [&](std::string_view leaf) -> Result<void> {
    path.truncate(node_end);
    if (!path.append(leaf)) return system_error(kTree, ENAMETOOLONG);
    return view.read_sysctl(path.view(), scratch, sizeof(std::uint64_t));
  };
  for (FilePlanWalk plan(raw.parts[kPlanPart], kPlanHeader); plan.next();) {
    std::string_view text = plan.text();
    if (plan.kind() == kZone) {
      const auto zone = take_prefix<PlannedZone>(text);
      const auto name = stream.record_name(zone.index);
      if (!name || *name != text) return changed();
      record = stream.record(zone.index);
      if (load<std::uint32_t>(bytes, record + kLimitAt) != zone.limit) return changed();
      if (auto result = bundle.add(kZoneRecord, text); !result) return result;
      continue;
    }
    if (plan.kind() == kNode) {
      if (!path.assign(kPrefix) || !path.append(text) || !path.append(".")) return system_error(kTree, ENAMETOOLONG);
      node_end = path.size();
      continue;
    }
    if (plan.kind() == kLeaf) {
      if (auto result = read_leaf(text); !result) {
        if (text == kSleepers && result.error().code == ErrorCode::kNotPresent) continue;
        return result;
      }
      if (auto result = bundle.add(text, scratch.view()); !result) return result;
      continue;
    }
    auto value = take_prefix<std::uint64_t>(text);
    if (wants_all) {
      if (auto result = read_leaf(text); !result) return result;
    }
    if (plan.kind() == kInStream) value = load<std::uint32_t>(bytes, record + static_cast<std::size_t>(value));
    if (auto result = bundle.add(text, {reinterpret_cast<const char*>(&value), sizeof value}); !result) return result;
  }
  return bundle.add(kEndOfListedSysctls, {});
}

Result<void> read(KernelView& view, RawBytes& raw) {
  Buffer& plan = raw.parts[kPlanPart];
  if (auto result = read_sysctl_stream(view, kZoneStream, raw.parts[kStreamPart], raw.parts[kScratchPart]); !result) {
    return of_tree(result.error());
  }
  const auto stream = StatisticsStream::open(kZoneStream.name, raw.parts[kStreamPart].view(), kZoneStream.record_header);
  if (!stream) return of_tree(stream.error());
  if (plan.size() > kPlanHeader) {
    auto result = read_plan(view, *stream, raw);
    if (result) return result;
    if (result.error().code != ErrorCode::kNotPresent) return of_tree(result.error());
    // A zone is gone, and another one may have come.
  }
  auto result = make_plan(view, *stream, raw);
  if (result) result = read_plan(view, *stream, raw);
  if (result) return result;
  if (result.error().code == ErrorCode::kNotPresent) plan.clear();
  return of_tree(result.error());
}

Result<void> open(KernelView& view, RawBytes& raw) { return read(view, raw); }

constexpr MetricOrigin kOrigins[] = {
    {Field::kSleepers, "limit.sleepers, of zones with a limit"},
    {Field::kWideLimit, "limit.max_items, absent when 0"},
    {Field::kSlabs, "keg.domain.D.pages of all domains / keg.ppera, not of secondary and cache zones"},
    {Field::kEfficiency, "keg.efficiency, not of secondary and cache zones"},
    {NodeField::kHeldBytes, "keg.domain.D.pages x page size, not of secondary and cache zones"},
    {NodeField::kFree, "domain.D.nitems + keg.domain.D.free_items, the latter not of secondary and cache zones"},
};

}  // namespace

extern const SourceDescriptor freebsd_vm_uma;
const SourceDescriptor freebsd_vm_uma{
    .name = "freebsd_vm_uma",
    .origin = "sysctl vm.uma",
    .os = OperatingSystem::kFreeBsd,
    .allocator = Allocator::kUma,
    .is_roster = false,
    .fields = fields_of(kOrigins),
    .cpu_fields = cpu_fields_of(kOrigins),
    .node_fields = node_fields_of(kOrigins),
    .origins = kOrigins,
    .notes =
        "no privilege needed; FreeBSD 13.0 and later; for zones with a limit the bytes by node are what the keg really has, "
        "where held bytes are computed from items; zones whose names make the same node of the tree have none of these "
        "figures",
    .open = open,
    .read = read,
    .parse = parse,
};

}  // namespace memstat::sources
