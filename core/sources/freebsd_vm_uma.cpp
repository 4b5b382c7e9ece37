// SPDX-License-Identifier: BSD-2-Clause
// Figures of uma(9) zones that the sysctl tree vm.uma has beyond vm.zone_stats (zone_alloc_sysctl() in sys/vm/uma_core.c,
// FreeBSD 13.0 and later). Each zone is a node. These integers are read:
//
//   keg.ppera, keg.efficiency                       pages per slab, percent of a slab that its items occupy
//   keg.domain.D.pages, keg.domain.D.free_items     the keg's pages and free items in memory domain D
//   domain.D.nitems                                 items cached in the zone's buckets
//   limit.max_items, limit.sleepers                 all 64 bits of the limit (vm.zone_stats has 32), threads waiting now
//
// Pages are the keg's own count; for a zone with a limit vm.zone_stats computes them from its items instead. A secondary
// zone shares another zone's keg, so it has no keg figures. A cache zone has no keg.
//
// Node names differ from zone names: see core/parse/uma_sysctl_nodes.h. A zone whose node is ambiguous has none of these
// figures. Zones are matched to nodes once, and again if vm.zone_stats has other zones or a node disappears.
//
// Reading everything would take six calls per zone and poll. But pages per slab and efficiency never change. A limit changes
// together with its 32 bits in vm.zone_stats. On a machine with one domain, vm.zone_stats, whose figures are sums over
// domains, has the rest for most zones. While a zone's sleeps do not increase, no thread waits for it. So a poll reads
// only the zones of machines with several domains and, at each fourth poll, the pages of zones with a limit.
#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/arithmetic.h"
#include "core/base/fixed_path.h"
#include "core/base/text.h"
#include "core/collect/reuse.h"
#include "core/collect/sysctl_list.h"
#include "core/collect/sysctl_stream.h"
#include "core/parse/statistics_stream.h"
#include "core/parse/uma_record.h"
#include "core/parse/uma_sysctl_nodes.h"
#include "core/source.h"

namespace memstat::sources::freebsd_vm_uma {
namespace {

constexpr std::string_view kTree = "vm.uma";
constexpr std::string_view kPrefix = "vm.uma.";

constexpr std::size_t kBundlePart = 0;
constexpr std::size_t kStreamPart = 1;  // vm.zone_stats

/// The way to get one figure of a zone.
struct PlannedLeaf {
  enum class Kind : std::uint8_t {
    kRead,      ///< Read it at every poll.
    kSeldom,    ///< Read it when may_skip() is false; `value` is the last value.
    kSleepers,  ///< `value`: threads that slept the last time; none since then if the sleeps have not increased
    kKnown,     ///< Constant; `value` is the value.
    kInStream,  ///< In the zone's record of vm.zone_stats.
  };
  Kind kind;
  std::uint64_t value;  ///< kKnown: the value; kInStream: the offset in the record.
  std::string leaf;     ///< The sysctl's name after the node's name and a dot.
};

/// A zone with a known node.
struct PlannedZone {
  std::uint32_t index;       ///< Index in vm.zone_stats.
  std::uint32_t limit;       ///< Its limit in vm.zone_stats. If it changes, the plan is made again.
  std::uint64_t sleeps = 0;  ///< In vm.zone_stats before the sleepers were read.
  std::string name;
  std::string prefix;  ///< Prefix of its sysctls: "vm.uma.NODE.".
  std::vector<PlannedLeaf> leaves = {};
};

/// The leaves that a poll reads.
enum class ReadScope : std::uint8_t {
  kLive,      ///< kRead only.
  kTurn,      ///< also kSeldom
  kCaptured,  ///< also kSleepers: each poll of a capture shows another moment
  kAll,       ///< everything, for a recording
};

struct State final : ReaderState {
  std::uint32_t zone_count = 0;   ///< Zones in vm.zone_stats when the plan was made.
  std::vector<PlannedZone> plan;  ///< Reads the figures in the order of vm.zone_stats; empty until made.
  /// The sysctls to read by scope, in the order of the plan; empty until listed.
  std::array<SysctlList, static_cast<std::size_t>(ReadScope::kAll) + 1> reads;
  std::uint32_t turns = 0;      ///< Reads since the plan was made.
  std::size_t stream_size = 0;  ///< size of vm.zone_stats at the last read, in bytes
  Buffer scratch;
};

constexpr std::string_view kZoneRecord = "zone";

constexpr std::string_view kLimit = "limit.max_items";
constexpr std::string_view kSleepers = "limit.sleepers";
constexpr std::uint64_t kUnknownSleepers = ~std::uint64_t{0};
constexpr std::string_view kPagesPerSlab = "keg.ppera";
constexpr std::string_view kEfficiency = "keg.efficiency";
constexpr std::string_view kNoKeg = "cache zone";  // the value of keg.name
constexpr std::string_view kKegDomain = "keg.domain.";
constexpr std::string_view kZoneDomain = "domain.";
constexpr std::string_view kPagesOfOneDomain = "keg.domain.0.pages";

constexpr NodeFieldMask kNodeFields{NodeField::kHeldBytes, NodeField::kFree};

Error of_tree(const Error& error) { return as_error_of(kTree, error); }

/// Parses D and the rest of a name such as "keg.domain.D.pages" after `prefix`.
std::optional<std::uint32_t> domain_of(std::string_view leaf, std::string_view prefix, std::string_view& rest) {
  if (!leaf.starts_with(prefix)) return std::nullopt;
  leaf.remove_prefix(prefix.size());
  const std::size_t dot = leaf.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const auto number = parse_u64(leaf.substr(0, dot));
  if (!number || *number >= kMaxNodes) return std::nullopt;
  rest = leaf.substr(dot + 1);
  return static_cast<std::uint32_t>(*number);
}

/// Whether a leaf is part of the plan. Keg figures of secondary zones are not.
bool is_wanted(std::string_view leaf, bool is_secondary) {
  std::string_view rest;
  if (leaf == kLimit) return true;
  if (domain_of(leaf, kZoneDomain, rest)) return rest == "nitems";
  if (is_secondary) return false;
  if (domain_of(leaf, kKegDomain, rest)) return rest == "pages" || rest == "free_items";
  return leaf == kPagesPerSlab || leaf == kEfficiency;
}

/// Collects the figures of one zone from its records. Domains without a record are 0.
class ZoneFigures {
 public:
  /// False if the bytes are not a number.
  bool take(std::string_view leaf, std::string_view bytes, std::uint64_t page_size, Staging& staging, StagedType& zone) {
    const auto number = sysctl_amount(bytes);
    if (!number) return false;
    std::string_view rest;
    if (leaf == kLimit) {
      // All bits set, or a negative number: no limit, like 0.
      if (*number != 0) zone.set(Field::kCountLimit64, *number);
    } else if (leaf == kSleepers) {
      zone.set(Field::kSleepers, *number);
    } else if (leaf == kPagesPerSlab) {
      pages_per_slab_ = *number;
    } else if (leaf == kEfficiency) {
      zone.set(Field::kSlabUtilization, *number);
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
      if (pages_per_slab_ != 0) zone.set(Field::kSlabs, pages_ / pages_per_slab_);
    } else {
      zone.node_fields.remove(NodeField::kHeldBytes);
    }
  }

 private:
  static void add(std::uint64_t& to, std::uint64_t value) { to = saturating_sum(to, value); }

  // Not std::optional: g++ 12 wrongly warns that it may be uninitialized.
  bool has_pages_ = false;
  std::uint64_t pages_ = 0;
  std::uint64_t pages_per_slab_ = 0;
};

/// One more than the highest domain in any record, at least 1.
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
    zone = &staging.add(bytes.substr(0, kMaxZoneNameSize), kMaxZoneNameSize);
    figures = {};
    return true;
  };
  // The leaves of all zones have the same names.
  if (auto result = for_each_sysctl_record(kTree, bundle, take); !result) return result;
  if (zone == nullptr) return data_error(kTree, bundle.size(), "no zone has a node");
  figures.finish(*zone);
  return {};
}

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

/// Text of a sysctl without its terminating NUL.
std::string text_of(const Buffer& bytes) {
  const std::string_view view = bytes.view();
  return std::string(view.substr(0, view.find('\0')));
}

/// Reads what distinguishes the nodes. `kegs` owns the names and must live as long as the result.
Result<std::vector<UmaSysctlNode>> describe(KernelView& view, const std::vector<TreeNode>& nodes,
                                            std::vector<std::string>& kegs) {
  std::vector<UmaSysctlNode> described;
  described.reserve(nodes.size());
  Buffer bytes;
  kegs.reserve(nodes.size());
  for (const TreeNode& node : nodes) {
    const std::string prefix = std::string(kPrefix) + std::string(node.name) + ".";
    const auto has = [&node](std::string_view leaf) {
      return std::find(node.leaves.begin(), node.leaves.end(), leaf) != node.leaves.end();
    };
    kegs.emplace_back();
    UmaSysctlNode& entry = described.emplace_back();
    entry.name = node.name;
    if (has("keg.name")) {  // every zone has this leaf, with or without a keg
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

/// The offset of a leaf of the only domain in a record of vm.zone_stats; 0 if the record does not have it.
std::size_t place_in_record(std::string_view leaf, bool has_limit) {
  if (leaf == "domain.0.nitems") return UmaRecord::kZoneFreeAt;
  if (leaf == "keg.domain.0.free_items") return UmaRecord::kKegFreeAt;
  return leaf == kPagesOfOneDomain && !has_limit ? UmaRecord::kPagesAt : 0;
}

bool has_one_domain(const TreeNode& node) {
  std::string_view rest;
  return std::none_of(node.leaves.begin(), node.leaves.end(), [&rest](std::string_view leaf) {
    return domain_of(leaf, kZoneDomain, rest).value_or(0) != 0 || domain_of(leaf, kKegDomain, rest).value_or(0) != 0;
  });
}

Result<void> plan_leaves(KernelView& view, const TreeNode& node, bool is_secondary, Buffer& scratch, PlannedZone& zone) {
  using Kind = PlannedLeaf::Kind;
  const bool is_in_stream = has_one_domain(node);
  bool has_limit = false;
  const auto add = [&](Kind kind, std::string_view leaf, std::uint64_t value = 0) {
    zone.leaves.push_back({.kind = kind, .value = value, .leaf = std::string(leaf)});
  };
  const auto add_known = [&](std::string_view leaf) -> Result<void> {
    const std::string name = zone.prefix + std::string(leaf);
    if (auto result = view.read_sysctl(name, scratch, sizeof(std::uint64_t)); !result) return result;
    const auto value = sysctl_amount(scratch.view());
    if (!value) return data_error(kTree, 0, name + " is not a number");
    if (leaf == kLimit) has_limit = *value != 0;
    add(Kind::kKnown, leaf, *value);
    return {};
  };
  // The limit first: it determines how the others are read, and a zone without a limit has no sleepers.
  if (std::find(node.leaves.begin(), node.leaves.end(), kLimit) != node.leaves.end()) {
    if (auto result = add_known(kLimit); !result) return result;
    if (has_limit) add(Kind::kSleepers, kSleepers, kUnknownSleepers);
  }
  for (const std::string_view leaf : node.leaves) {
    if (leaf == kLimit || !is_wanted(leaf, is_secondary)) continue;
    const std::size_t place = is_in_stream ? place_in_record(leaf, has_limit) : 0;
    if (place != 0) {
      add(Kind::kInStream, leaf, place);
    } else if (is_in_stream && leaf == kPagesOfOneDomain) {
      add(Kind::kSeldom, leaf);
    } else if (leaf != kPagesPerSlab && leaf != kEfficiency) {
      add(Kind::kRead, leaf);
    } else if (auto result = add_known(leaf); !result) {
      return result;
    }
  }
  return {};
}

/// Plans which leaves to read for which types. The plan is in the order of vm.zone_stats, so that types with the same name
/// are in the roster's order. After an error there is no plan.
Result<void> make_plan(KernelView& view, const StatisticsStream& stream, std::string_view bytes, State& state) {
  state.plan.clear();
  std::vector<std::string> sysctls;
  if (auto result = view.list_sysctls(kTree, sysctls); !result) return result;
  const std::vector<TreeNode> nodes = nodes_of(sysctls);
  std::vector<std::string> kegs;
  const auto described = describe(view, nodes, kegs);
  if (!described) return described.error();

  const auto u32 = [&](std::size_t zone, std::size_t at) { return load<std::uint32_t>(bytes, stream.record(zone) + at); };
  std::vector<ListedZone> zones;
  for (std::size_t i = 0; i < stream.count(); ++i) {
    const auto name = stream.record_name(i);
    if (!name) return name.error();
    zones.push_back({.name = *name, .size = u32(i, UmaRecord::kSizeAt), .has_keg = u32(i, UmaRecord::kRSizeAt) != 0});
  }
  const std::vector<std::size_t> places = match_zone_nodes(zones, *described);

  std::vector<PlannedZone> plan;
  for (std::size_t i = 0; i < zones.size(); ++i) {
    if (places[i] == kNoUmaSysctlNode) continue;
    const TreeNode& node = nodes[places[i]];
    plan.push_back({.index = static_cast<std::uint32_t>(i),
                    .limit = u32(i, UmaRecord::kLimitAt),
                    .name = std::string(zones[i].name),
                    .prefix = std::string(kPrefix) + std::string(node.name) + "."});
    const bool is_secondary = (u32(i, UmaRecord::kFlagsAt) & UmaRecord::kSecondaryFlag) != 0;
    if (auto result = plan_leaves(view, node, is_secondary, state.scratch, plan.back()); !result) return result;
  }
  if (plan.empty()) return system_error(kTree, ENOENT, "none of its nodes is a zone of vm.zone_stats");
  state.plan = std::move(plan);
  state.zone_count = stream.count();
  for (SysctlList& reads : state.reads) reads.clear();
  state.turns = 0;
  return {};
}

bool is_read(const PlannedLeaf& leaf, ReadScope scope) {
  using Kind = PlannedLeaf::Kind;
  switch (leaf.kind) {
    case Kind::kRead: return true;
    case Kind::kSeldom: return scope >= ReadScope::kTurn;
    case Kind::kSleepers: return scope >= ReadScope::kCaptured;
    default: return scope == ReadScope::kAll;
  }
}

const SysctlList& list_reads(ReadScope scope, State& state) {
  SysctlList& reads = state.reads[static_cast<std::size_t>(scope)];
  if (!reads.empty()) return reads;
  for (const PlannedZone& zone : state.plan) {
    for (const PlannedLeaf& leaf : zone.leaves) {
      if (is_read(leaf, scope)) reads.push_back(zone.prefix + leaf.leaf);
    }
  }
  return reads;
}

ReadScope next_extent(const KernelView& view, State& state) {
  if (view.wants_whole_polls()) return ReadScope::kAll;
  if (!view.reads_this_machine()) return ReadScope::kCaptured;
  return may_skip(view, state.turns++) ? ReadScope::kLive : ReadScope::kTurn;
}

/// Reads the planned leaves into the bundle.
class PlanReader {
 public:
  PlanReader(KernelView& view, const StatisticsStream& stream, RawBytes& raw, State& state)
      : view_(view),
        stream_(stream),
        bytes_(raw.parts[kStreamPart].view()),
        state_(state),
        extent_(next_extent(view, state)),
        bundle_(raw.parts[kBundlePart], state.scratch) {}

  /// kNotPresent if the kernel's zones or limits have changed.
  Result<void> run() {
    if (state_.zone_count != stream_.count()) return changed();
    for (PlannedZone& zone : state_.plan) {
      const auto name = stream_.record_name(zone.index);
      if (!name || *name != zone.name) return changed();
      if (load<std::uint32_t>(bytes_, stream_.record(zone.index) + UmaRecord::kLimitAt) != zone.limit) return changed();
      if (extent_ >= ReadScope::kCaptured) continue;
      for (PlannedLeaf& leaf : zone.leaves) {
        if (leaf.kind != PlannedLeaf::Kind::kSleepers) continue;
        if (auto result = look_for_sleepers(zone, leaf); !result) return result;
      }
    }
    Result<void> result = add_until_read();
    const auto take = [&](std::string_view, const Result<std::string_view>& bytes) {
      result = add_read(bytes);
      if (result) result = add_until_read();
      return result.has_value();
    };
    if (result) bundle_.add_numbers(view_, list_reads(extent_, state_), std::ref(take));
    return result ? bundle_.add(kEndOfListedSysctls, {}) : result;
  }

 private:
  static Result<void> changed() { return system_error(kTree, ENOENT, "a zone has changed"); }

  /// A thread that goes to sleep increases the zone's sleeps in its record (zone_alloc_limit_hard() in sys/vm/uma_core.c).
  /// While they do not increase, the leaf need not be read.
  Result<void> look_for_sleepers(PlannedZone& zone, PlannedLeaf& leaf) {
    const auto sleeps = load<std::uint64_t>(bytes_, stream_.record(zone.index) + UmaRecord::kSleepsAt);
    if (leaf.value == 0 && sleeps == zone.sleeps) return {};
    zone.sleeps = sleeps;
    leaf.value = kUnknownSleepers;
    FixedPath path;
    if (!path.assign(zone.prefix) || !path.append(leaf.leaf)) return system_error(kTree, ENAMETOOLONG);
    auto result = view_.read_sysctl(path.view(), state_.scratch, sizeof(std::uint64_t));
    if (!result) return result.error().code == ErrorCode::kNotPresent ? Result<void>() : result;
    const auto sleepers = sysctl_amount(state_.scratch.view());
    if (!sleepers) return data_error(kTree, 0, std::string(path.view()) + " is not a number");
    leaf.value = *sleepers;
    return {};
  }

  /// Adds values that are already known, up to the next leaf that is read.
  Result<void> add_until_read() {
    for (; zone_ < state_.plan.size(); ++zone_, leaf_ = 0) {
      const PlannedZone& zone = state_.plan[zone_];
      if (leaf_ == 0) {
        if (auto result = bundle_.add(kZoneRecord, zone.name); !result) return result;
      }
      for (; leaf_ < zone.leaves.size(); ++leaf_) {
        if (is_read(zone.leaves[leaf_], extent_)) return {};
        if (auto result = add_known(zone.leaves[leaf_], zone.index); !result) return result;
      }
    }
    return {};
  }

  /// Adds the leaf at which add_until_read() stopped.
  Result<void> add_read(const Result<std::string_view>& bytes) {
    PlannedZone& zone = state_.plan[zone_];
    PlannedLeaf& leaf = zone.leaves[leaf_++];
    const bool is_of_sleepers = leaf.kind == PlannedLeaf::Kind::kSleepers;
    if (!bytes) {
      const bool is_done_without = is_of_sleepers && bytes.error().code == ErrorCode::kNotPresent;
      return is_done_without ? Result<void>() : bytes.error();
    }
    const bool is_seldom = leaf.kind == PlannedLeaf::Kind::kSeldom;
    if (is_seldom) leaf.value = sysctl_amount(*bytes).value_or(0);
    return is_of_sleepers || is_seldom || leaf.kind == PlannedLeaf::Kind::kRead ? bundle_.add(leaf.leaf, *bytes)
                                                                                : add_known(leaf, zone.index);
  }

  /// Adds a leaf from the plan or the zone's record, in the sysctl's binary form.
  Result<void> add_known(const PlannedLeaf& leaf, std::size_t zone) {
    if (leaf.kind == PlannedLeaf::Kind::kSleepers && leaf.value == kUnknownSleepers) return {};
    const bool is_in_stream = leaf.kind == PlannedLeaf::Kind::kInStream;
    const std::uint64_t value =
        is_in_stream ? load<std::uint32_t>(bytes_, stream_.record(zone) + static_cast<std::size_t>(leaf.value)) : leaf.value;
    const auto number = std::bit_cast<std::array<char, sizeof value>>(value);
    return bundle_.add(leaf.leaf, {number.data(), number.size()});
  }

  KernelView& view_;
  const StatisticsStream& stream_;
  std::string_view bytes_;
  State& state_;
  const ReadScope extent_;
  FileBundleWriter bundle_;
  std::size_t zone_ = 0;  // index in the plan, and of its leaf, of the next value
  std::size_t leaf_ = 0;
};

Result<void> read(KernelView& view, RawBytes& raw, State& state) {
  if (auto result = read_sysctl_stream(view, kZoneStream, state.stream_size, raw.parts[kStreamPart], state.scratch);
      !result) {
    return of_tree(result.error());
  }
  const std::string_view bytes = raw.parts[kStreamPart].view();
  const auto stream = StatisticsStream::open(kZoneStream.name, bytes, kZoneStream.record_header);
  if (!stream) return of_tree(stream.error());
  if (!state.plan.empty()) {
    auto result = PlanReader(view, *stream, raw, state).run();
    if (result) return result;
    if (result.error().code != ErrorCode::kNotPresent) return of_tree(result.error());
    // A zone is gone, and another one may have appeared.
  }
  auto result = make_plan(view, *stream, bytes, state);
  if (result) result = PlanReader(view, *stream, raw, state).run();
  if (result) return result;
  if (result.error().code == ErrorCode::kNotPresent) state.plan.clear();
  return of_tree(result.error());
}

Result<void> open(KernelView& view, RawBytes& raw, State& state) { return read(view, raw, state); }

constexpr MetricOrigin kOrigins[] = {
    {Field::kSleepers, "limit.sleepers, of zones with a limit"},
    {Field::kCountLimit64, "limit.max_items, absent when 0"},
    {Field::kSlabs, "keg.domain.D.pages of all domains / keg.ppera, not of secondary and cache zones"},
    {Field::kSlabUtilization, "keg.efficiency, not of secondary and cache zones"},
    {NodeField::kHeldBytes, "keg.domain.D.pages x page size, not of secondary and cache zones"},
    {NodeField::kFree, "domain.D.nitems + keg.domain.D.free_items, the latter not of secondary and cache zones"},
};

}  // namespace

extern const SourceDescriptor descriptor{
    .name = "freebsd_vm_uma",
    .origin = "sysctl vm.uma",
    .os = OperatingSystem::kFreeBsd,
    .allocator = Allocator::kUma,
    .origins = kOrigins,
    .notes =
        "no privilege needed; FreeBSD 13.0 and later; for zones with a limit, slabs and bytes by node are the keg's own "
        "count, which on machines with one memory domain is read at each fourth poll, while held bytes are computed from "
        "items; zones whose names map to the same node of the tree have none of these figures",
    .steps = source_steps<State, open, read, parse>(),
};

}  // namespace memstat::sources::freebsd_vm_uma
