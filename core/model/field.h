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

/// The family a memory type belongs to. Values 0 to 2 are libmemstat's ALLOCATOR_* numbers; never renumber.
enum class Allocator : std::uint8_t {
  kUnknown = 0,
  kMalloc = 1,        ///< FreeBSD malloc(9) types
  kUma = 2,           ///< FreeBSD uma(9) zones
  kSlab = 3,          ///< Linux slab caches
  kVmalloc = 4,       ///< Linux vmalloc areas, by caller
  kCallSite = 5,      ///< Linux functions that allocate memory (allocation profiling)
  kPage = 6,          ///< zones of Linux's page allocator, by node; queues of FreeBSD's, by domain
  kPercpu = 7,        ///< Linux per-CPU areas
  kHugetlb = 8,       ///< Linux pools of huge pages, by size
  kCma = 9,           ///< Linux areas of contiguous memory
  kZswap = 10,        ///< Linux compressed swap cache
  kMemcg = 11,        ///< Linux control groups
  kSocket = 12,       ///< protocols and their socket memory
  kTable = 13,        ///< bounded tables of a kernel: files, inodes, processes, ...
  kProcess = 14,      ///< user processes that were asked for
  kKmallocSite = 15,  ///< Linux functions that ask for slab memory (allocation events)
};
inline constexpr std::size_t kAllocatorCount = 16;  ///< One more than the highest number.

/// Whether objects that are free, but kept for reuse, count against the type's limit. They do for zones of uma(9)
/// (uma_zone_set_max bounds what was imported from the keg: sys/vm/uma_core.c, uz_items); all others bound what is in
/// use.
constexpr bool counts_free_against_limit(Allocator allocator) { return allocator == Allocator::kUma; }

/// Word used as the label `allocator` and in the configuration: "malloc", "uma", "slab", "call_site", ... "unknown" for
/// anything else.
std::string_view to_string(Allocator allocator);

/// One figure of a memory type. Amounts are now, counters are since boot; units as noted; 0 means 0 (a figure that the
/// kernel does not have is not in the type's field mask).
enum class Field : std::uint8_t {
  kBytes,            ///< B in use, now
  kCount,            ///< objects in use, now
  kHeldBytes,        ///< B taken from the system including free objects and padding, now (not for secondary zones)
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
  kCountLimit,       ///< objects at most; absent when unlimited
  kBytesLimit,       ///< B at most; absent when unlimited
  kSize,             ///< B that a caller gets with one object
  kRSize,            ///< B that one object takes (footprint)
  kSizeMask,         ///< set of size classes that served the type: bit i = class i of the kernel's own table
  kSlabs,            ///< slabs taken from the page allocator, now
  kPartialSlabs,     ///< of these, on the lists of slabs with free objects, now
  kCpuSlabs,         ///< of these, held by CPUs for their next allocations, now
  kAddressSpace,     ///< B of address space, the kernel's or a process's own, memory or not, now
  kCountLimit64,     ///< as kCountLimit, with all bits where the source of kCountLimit has 32; no metric of its own
  kSlabUtilization,  ///< %, of a slab's memory that its objects take
  kRequestedBytes,   ///< B that callers asked for, before they were rounded up to what they got, cumulative
};
inline constexpr std::size_t kFieldCount = 26;

/// One figure of a memory type on one CPU. Units as for Field.
enum class CpuField : std::uint8_t { kNumAllocs, kNumFrees, kMemAlloced, kMemFreed, kFree, kSizeMask };
inline constexpr std::size_t kCpuFieldCount = 6;

/// One figure of a memory type on one NUMA node (FreeBSD: domain), now.
enum class NodeField : std::uint8_t {
  kHeldBytes,     ///< B of this node's memory
  kCount,         ///< objects in use
  kFree,          ///< objects cached for reuse
  kTotalObjects,  ///< objects there is room for, in use or free
};
inline constexpr std::size_t kNodeFieldCount = 4;

/// Nodes are numbered below this: kernels have 1024 at most (CONFIG_NODES_SHIFT 10).
inline constexpr std::uint32_t kMaxNodes = 1024;

/// How many enumerators a set of them has room for.
inline constexpr std::size_t kMaxFieldSetSize = 64;
static_assert(kFieldCount <= kMaxFieldSetSize && kCpuFieldCount <= kMaxFieldSetSize && kNodeFieldCount <= kMaxFieldSetSize);

/// A set of enumerators of E (Field, CpuField or NodeField). Thread safety: a plain value.
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
  /// How many members come before `field`: its row in columns that hold members only.
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
/// Calls `visit(field)` for each member.
template <typename E, typename Visit>
constexpr void for_each_of(FieldSet<E> set, Visit visit) {
  for (std::uint64_t bits = set.bits(); bits != 0; bits &= bits - 1) visit(static_cast<E>(std::countr_zero(bits)));
}

using FieldMask = FieldSet<Field>;
using CpuFieldMask = FieldSet<CpuField>;
using NodeFieldMask = FieldSet<NodeField>;

/// Figures by Field. A figure outside the type's mask may still hold what libmemstat's C accessor has to return.
class Figures {
 public:
  std::uint64_t& operator[](Field field) { return values_[static_cast<std::size_t>(field)]; }
  std::uint64_t operator[](Field field) const { return values_[static_cast<std::size_t>(field)]; }

 private:
  std::array<std::uint64_t, kFieldCount> values_{};
};

/// All that is known about a field: the one place where a figure of types is declared as a metric.
template <typename E>
struct FieldDescription {
  E field;
  std::string_view word;  ///< As libmemstat writes it: "bytes", "numallocs", ...
  MetricFacts metric;     ///< Without name: the field has no metric.
};
const FieldDescription<Field>& description(Field field);
const FieldDescription<CpuField>& description(CpuField field);
const FieldDescription<NodeField>& description(NodeField field);

/// Name of a field as libmemstat writes it: "bytes", "numallocs", ...
std::string_view to_string(Field field);
std::string_view to_string(CpuField field);
std::string_view to_string(NodeField field);

}  // namespace memstat
