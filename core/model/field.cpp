// SPDX-License-Identifier: BSD-2-Clause
#include "core/model/field.h"

#include <iterator>

namespace memstat {
namespace {

using enum MetricKind;
using enum Tier;
using enum ValueFormat;
using enum DuplicateRule;

constexpr FieldDescription<Field> kFields[] = {
    {Field::kBytes, "bytes", {"memstat_type_bytes", kGauge, kMinimal, "Bytes in use now, as of the last poll.", "bytes"}},
    {Field::kCount, "count", {"memstat_type_objects", kGauge, kMinimal, "Objects in use now, as of the last poll."}},
    {Field::kHeldBytes,
     "held_bytes",
     {"memstat_type_held_bytes", kGauge, kDefault, "Bytes taken from the system now, including free objects and padding.",
      "bytes"}},
    {Field::kFree, "free", {"memstat_type_free_objects", kGauge, kDefault, "Objects cached for reuse now."}},
    {Field::kZoneFree,
     "zonefree",
     {"memstat_type_zone_free_objects", kGauge, kFull, "Objects cached in the zone now, without those in CPU caches."}},
    {Field::kKegFree,
     "kegfree",
     {"memstat_type_keg_free_objects", kGauge, kDefault, "Objects free in the keg's slabs now."}},
    {Field::kNumAllocs,
     "numallocs",
     {"memstat_type_allocations_total", kCounter, kDefault,
      "Objects allocated since boot, or, for slab caches and callers (kmalloc_site) counted by events, since memstatd "
      "attached to these."}},
    {Field::kNumFrees,
     "numfrees",
     {"memstat_type_frees_total", kCounter, kDefault,
      "Objects freed since boot, or, for slab caches counted by events, since memstatd attached to these."}},
    {Field::kMemAlloced,
     "memalloced",
     {"memstat_type_allocated_bytes_total", kCounter, kFull,
      "Bytes allocated since boot, rounded up to size classes, or, for slab caches and their callers, since memstatd "
      "attached to their events.",
      "bytes"}},
    {Field::kMemFreed,
     "memfreed",
     {"memstat_type_freed_bytes_total", kCounter, kFull,
      "Bytes freed since boot, rounded up to size classes, or, for slab caches, since memstatd attached to their events.",
      "bytes"}},
    {Field::kFailures,
     "failures",
     {"memstat_type_failures_total", kCounter, kMinimal,
      "Failed allocations since boot; of a control group since its creation; of a slab cache, its callers (kmalloc_site) or "
      "a malloc type since memstatd attached to its events."}},
    {Field::kSleeps,
     "sleeps",
     {"memstat_type_sleeps_total", kCounter, kDefault, "Allocations that waited at the limit, since boot."}},
    {Field::kSleepers, "sleepers", {"memstat_type_sleepers", kGauge, kFull, "Threads waiting at the limit now."}},
    {Field::kXDomain,
     "xdomain",
     {"memstat_type_cross_domain_frees_total", kCounter, kFull,
      "Objects freed on a NUMA domain other than that of their allocation, since boot."}},
    {Field::kCountLimit,
     "countlimit",
     {"memstat_type_limit_objects",
      kGauge,
      kMinimal,
      "Maximum objects, including cached ones: the kernel's limit, or else the configured one; absent if unlimited.",
      {},
      kUnsigned,
      kSumOfAll}},
    {Field::kBytesLimit,
     "byteslimit",
     {"memstat_type_limit_bytes", kGauge, kMinimal,
      "Maximum bytes: the kernel's limit, or else the configured one; absent if unlimited.", "bytes", kUnsigned, kSumOfAll}},
    {Field::kSize,
     "size",
     {"memstat_type_object_size_bytes", kGauge, kFull, "Usable bytes per object.", "bytes", kUnsigned, kSameOrNone}},
    {Field::kRSize,
     "rsize",
     {"memstat_type_object_footprint_bytes", kGauge, kDefault, "Bytes that one object occupies, including padding.", "bytes",
      kUnsigned, kSameOrNone}},
    {Field::kSizeMask,
     "sizemask",
     {"memstat_type_size_class_used", kGauge, kFull,
      "1 for each size class, by its size in bytes, that ever served the type."}},
    {Field::kSlabs, "slabs", {"memstat_type_slabs", kGauge, kFull, "Slabs taken from the page allocator now."}},
    {Field::kPartialSlabs,
     "partial_slabs",
     {"memstat_type_partial_slabs", kGauge, kFull, "Slabs on the partial lists now, which have free objects."}},
    {Field::kCpuSlabs,
     "cpu_slabs",
     {"memstat_type_cpu_slabs", kGauge, kFull, "Slabs held by CPUs for their next allocations now."}},
    {Field::kAddressSpace,
     "address_space",
     {"memstat_type_address_space_bytes", kGauge, kFull,
      "Bytes of address space now, the kernel's or a process's own, backed by memory or not.", "bytes"}},
    {Field::kCountLimit64, "wide_limit", {}},  // exported as memstat_type_limit_objects
    {Field::kSlabUtilization,
     "utilization",
     {"memstat_type_slab_utilization_ratio", kGauge, kFull, "Share of a slab's memory that its objects occupy, 0 to 1.",
      "ratio", kDouble, kSameOrNone}},
    {Field::kRequestedBytes,
     "requested_bytes",
     {"memstat_type_requested_bytes_total", kCounter, kFull,
      "Bytes requested by callers, before rounding to size classes, since memstatd attached to the events.", "bytes"}},
};

constexpr FieldDescription<CpuField> kCpuFields[] = {
    {CpuField::kNumAllocs,
     "numallocs",
     {"memstat_cpu_allocations_total", kCounter, kFull,
      "Allocations on this CPU since boot, or since memstatd attached to the events."}},
    {CpuField::kNumFrees,
     "numfrees",
     {"memstat_cpu_frees_total", kCounter, kFull,
      "Frees on this CPU since boot, or since memstatd attached to the events."}},
    {CpuField::kMemAlloced,
     "memalloced",
     {"memstat_cpu_allocated_bytes_total", kCounter, kFull,
      "Bytes allocated on this CPU since boot, or since memstatd attached to the events.", "bytes"}},
    {CpuField::kMemFreed,
     "memfreed",
     {"memstat_cpu_freed_bytes_total", kCounter, kFull,
      "Bytes freed on this CPU since boot, or since memstatd attached to the events.", "bytes"}},
    {CpuField::kFree, "free", {"memstat_cpu_free_objects", kGauge, kFull, "Objects cached by this CPU now."}},
    {CpuField::kSizeMask, "sizemask", {}},
};

constexpr FieldDescription<NodeField> kNodeFields[] = {
    {NodeField::kHeldBytes,
     "held_bytes",
     {"memstat_node_held_bytes", kGauge, kFull, "Bytes of this node's memory that the type holds now.", "bytes"}},
    {NodeField::kCount, "count", {"memstat_node_objects", kGauge, kFull, "Objects in use on this node now."}},
    {NodeField::kFree, "free", {"memstat_node_free_objects", kGauge, kFull, "Objects cached for reuse on this node now."}},
    {NodeField::kTotalObjects,
     "capacity",
     {"memstat_node_capacity_objects", kGauge, kFull, "Objects that fit in the slabs on this node now, in use or free."}},
};

template <typename E, std::size_t N>
constexpr bool is_in_order(const FieldDescription<E> (&fields)[N]) {
  for (std::size_t i = 0; i < N; ++i) {
    if (static_cast<std::size_t>(fields[i].field) != i) return false;
  }
  return true;
}
static_assert(std::size(kFields) == kFieldCount && is_in_order(kFields));
static_assert(std::size(kCpuFields) == kCpuFieldCount && is_in_order(kCpuFields));
static_assert(std::size(kNodeFields) == kNodeFieldCount && is_in_order(kNodeFields));

}  // namespace

const FieldDescription<Field>& description(Field field) { return kFields[static_cast<std::size_t>(field)]; }
const FieldDescription<CpuField>& description(CpuField field) { return kCpuFields[static_cast<std::size_t>(field)]; }
const FieldDescription<NodeField>& description(NodeField field) { return kNodeFields[static_cast<std::size_t>(field)]; }

std::string_view to_string(Allocator allocator) {
  constexpr std::string_view kNames[] = {"unknown", "malloc", "uma",     "slab",         "vmalloc", "call_site",
                                         "page",    "percpu", "hugetlb", "cma",          "zswap",   "memcg",
                                         "socket",  "table",  "process", "kmalloc_site", "jail"};
  static_assert(std::size(kNames) == kAllocatorCount);
  const auto number = static_cast<std::size_t>(allocator);
  return kNames[number < kAllocatorCount ? number : 0];
}

std::string_view to_string(Field field) { return description(field).word; }
std::string_view to_string(CpuField field) { return description(field).word; }
std::string_view to_string(NodeField field) { return description(field).word; }

}  // namespace memstat
