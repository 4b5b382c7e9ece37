// SPDX-License-Identifier: BSD-2-Clause
// The figures that a memory type can have, and sets of them.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/model/metric.h"

namespace memstat {

/// The family a memory type belongs to. Values 0 to 2 are libmemstat's ALLOCATOR_* numbers. Never renumber.
enum class Allocator : std::uint8_t {
  kUnknown = 0,
  kMalloc = 1,        ///< FreeBSD malloc(9) types
  kUma = 2,           ///< FreeBSD uma(9) zones
  kSlab = 3,          ///< Linux slab caches
  kVmalloc = 4,       ///< Linux vmalloc areas, by caller
  kCallSite = 5,      ///< Linux functions that allocate memory (memory allocation profiling)
  kPage = 6,          ///< Linux page allocator zones, by node; FreeBSD page queues, by domain
  kPercpu = 7,        ///< Linux per-CPU areas
  kHugetlb = 8,       ///< Linux huge page pools, by size
  kCma = 9,           ///< Linux contiguous memory areas
  kZswap = 10,        ///< Linux compressed swap cache
  kMemcg = 11,        ///< Linux control groups
  kSocket = 12,       ///< protocols and their socket memory
  kTable = 13,        ///< bounded kernel tables: files, inodes, processes, ...
  kProcess = 14,      ///< configured user processes
  kKmallocSite = 15,  ///< Linux functions that allocate slab memory (allocation events)
  kJail = 16,         ///< FreeBSD jails
};
inline constexpr std::size_t kAllocatorCount = 17;  ///< highest number + 1

/// Whether free objects that are kept for reuse count against the type's limit. They do for uma(9) zones: uma_zone_set_max
/// bounds the items imported from the keg (sys/vm/uma_core.c, uz_items). All other limits bound objects in use.
constexpr bool counts_free_against_limit(Allocator allocator) { return allocator == Allocator::kUma; }

/// The allocator's name in the label `allocator` and in the configuration: "malloc", "uma", "slab", "call_site", ...
/// "unknown" for any other value.
std::string_view to_string(Allocator allocator);

/// One figure of a memory type. Amounts are current, counters are since boot. 0 means 0: a figure that the kernel does not
/// provide is absent from the type's field mask.
enum class Field : std::uint8_t {
  kBytes,            ///< B in use, now
  kCount,            ///< objects in use, now
  kHeldBytes,        ///< B taken from the system, including free objects and padding, now (not for secondary zones)
  kFree,             ///< objects cached for reuse, now
  kZoneFree,         ///< objects cached in the zone, now
  kKegFree,          ///< objects free in the keg's slabs, now
  kNumAllocs,        ///< allocations, cumulative
  kNumFrees,         ///< frees, cumulative
  kMemAlloced,       ///< B allocated, cumulative
  kMemFreed,         ///< B freed, cumulative
  kFailures,         ///< failed allocations, cumulative
  kSleeps,           ///< waits at the limit, cumulative
  kSleepers,         ///< threads waiting at the limit, now
  kXDomain,          ///< frees that crossed NUMA domains, cumulative
  kCountLimit,       ///< maximum objects; absent when unlimited
  kBytesLimit,       ///< maximum B; absent when unlimited
  kSize,             ///< usable B per object
  kRSize,            ///< B that one object occupies (footprint)
  kSizeMask,         ///< set of size classes that served the type: bit i is class i of the kernel's own table
  kSlabs,            ///< slabs taken from the page allocator, now
  kPartialSlabs,     ///< those on the partial lists, which have free objects, now
  kCpuSlabs,         ///< those held by CPUs for their next allocations, now
  kAddressSpace,     ///< B of address space of the kernel or a process, backed by memory or not, now
  kCountLimit64,     ///< kCountLimit in 64 bits, where the source of kCountLimit has 32; no metric of its own
  kSlabUtilization,  ///< % of a slab's memory that its objects occupy
  kRequestedBytes,   ///< B requested by callers, before rounding to size classes, cumulative
};
inline constexpr std::size_t kFieldCount = 26;

/// One figure of a memory type on one CPU. Units as for Field.
enum class CpuField : std::uint8_t { kNumAllocs, kNumFrees, kMemAlloced, kMemFreed, kFree, kSizeMask };
inline constexpr std::size_t kCpuFieldCount = 6;

/// The value of a per-CPU gauge on a CPU that the kernel does not list now, because it is offline or was never plugged in.
/// Such a CPU has no series; the C API, which cannot express this, returns 0. No real figure is this large. Counters never
/// have this value, because theirs persist.
inline constexpr std::uint64_t kNoFigure = ~std::uint64_t{0};

/// One figure of a memory type on one NUMA node (FreeBSD: domain), now.
enum class NodeField : std::uint8_t {
  kHeldBytes,     ///< B of this node's memory
  kCount,         ///< objects in use
  kFree,          ///< objects cached for reuse
  kTotalObjects,  ///< objects that fit, in use or free
};
inline constexpr std::size_t kNodeFieldCount = 4;

/// Node numbers are below this: kernels have at most 1024 (CONFIG_NODES_SHIFT 10).
inline constexpr std::uint32_t kMaxNodes = 1024;

inline constexpr std::size_t kMaxFieldSetSize = 64;
static_assert(kFieldCount <= kMaxFieldSetSize && kCpuFieldCount <= kMaxFieldSetSize && kNodeFieldCount <= kMaxFieldSetSize);

/// A set of enumerators of E (Field, CpuField or NodeField).
template <typename E>
class FieldSet {
 public:
  constexpr FieldSet() = default;
  template <typename... Rest>
  constexpr explicit FieldSet(E first, Rest... rest) : bits_((bit(first) | ... | bit(rest))) {}
  static constexpr FieldSet from_bits(std::uint64_t bits) {
    FieldSet set;
    set.bits_ = bits;
    return set;
  }

  [[nodiscard]] constexpr bool has(E field) const { return (bits_ & bit(field)) != 0; }
  [[nodiscard]] constexpr bool empty() const { return bits_ == 0; }
  [[nodiscard]] constexpr std::size_t size() const { return static_cast<std::size_t>(std::popcount(bits_)); }
  [[nodiscard]] constexpr std::uint64_t bits() const { return bits_; }
  constexpr void add(E field) { bits_ |= bit(field); }
  constexpr void remove(E field) { bits_ &= ~bit(field); }
  /// The number of members before `field`: its row in columns that store members only.
  [[nodiscard]] constexpr std::size_t rank(E field) const {
    return static_cast<std::size_t>(std::popcount(bits_ & (bit(field) - 1U)));
  }

  friend constexpr FieldSet operator|(FieldSet a, FieldSet b) { return from_bits(a.bits_ | b.bits_); }
  friend constexpr FieldSet operator&(FieldSet a, FieldSet b) { return from_bits(a.bits_ & b.bits_); }
  friend constexpr FieldSet operator-(FieldSet a, FieldSet b) { return from_bits(a.bits_ & ~b.bits_); }
  friend constexpr bool operator==(FieldSet a, FieldSet b) = default;

 private:
  static constexpr std::uint64_t bit(E field) { return std::uint64_t{1} << static_cast<unsigned>(field); }
  std::uint64_t bits_ = 0;
};
template <typename E, typename Visit>
constexpr void for_each_of(FieldSet<E> set, Visit visit) {
  for (std::uint64_t bits = set.bits(); bits != 0; bits &= bits - 1) visit(static_cast<E>(std::countr_zero(bits)));
}

using FieldMask = FieldSet<Field>;
using CpuFieldMask = FieldSet<CpuField>;
using NodeFieldMask = FieldSet<NodeField>;

/// Figures by Field. A figure outside the type's mask may still hold a value that libmemstat's C accessors return.
class Figures {
 public:
  std::uint64_t& operator[](Field field) { return values_[static_cast<std::size_t>(field)]; }
  std::uint64_t operator[](Field field) const { return values_[static_cast<std::size_t>(field)]; }

 private:
  std::array<std::uint64_t, kFieldCount> values_{};
};

/// The only declaration of a field: its name and, if exported, its metric.
template <typename E>
struct FieldDescription {
  E field;
  std::string_view word;  ///< libmemstat's name: "bytes", "numallocs", ...
  MetricFacts metric;     ///< Empty name: not exported.
};
const FieldDescription<Field>& description(Field field);
const FieldDescription<CpuField>& description(CpuField field);
const FieldDescription<NodeField>& description(NodeField field);

/// libmemstat's name of a field: "bytes", "numallocs", ...
std::string_view to_string(Field field);
std::string_view to_string(CpuField field);
std::string_view to_string(NodeField field);

}  // namespace memstat
