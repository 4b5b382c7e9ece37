// SPDX-License-Identifier: BSD-2-Clause
#include "core/model/field.h"

namespace memstat {

std::string_view to_string(Allocator allocator) {
  switch (allocator) {
    case Allocator::kUnknown: break;
    case Allocator::kMalloc: return "malloc";
    case Allocator::kUma: return "uma";
    case Allocator::kSlab: return "slab";
    case Allocator::kVmalloc: return "vmalloc";
    case Allocator::kCallSite: return "call_site";
    case Allocator::kPage: return "page";
    case Allocator::kPercpu: return "percpu";
    case Allocator::kHugetlb: return "hugetlb";
    case Allocator::kCma: return "cma";
    case Allocator::kZswap: return "zswap";
    case Allocator::kMemcg: return "memcg";
    case Allocator::kSocket: return "socket";
    case Allocator::kTable: return "table";
    case Allocator::kProcess: return "process";
  }
  return "unknown";
}

std::string_view to_string(Field field) {
  switch (field) {
    case Field::kBytes: return "bytes";
    case Field::kCount: return "count";
    case Field::kHeldBytes: return "held_bytes";
    case Field::kFree: return "free";
    case Field::kZoneFree: return "zonefree";
    case Field::kKegFree: return "kegfree";
    case Field::kNumAllocs: return "numallocs";
    case Field::kNumFrees: return "numfrees";
    case Field::kMemAlloced: return "memalloced";
    case Field::kMemFreed: return "memfreed";
    case Field::kFailures: return "failures";
    case Field::kSleeps: return "sleeps";
    case Field::kSleepers: return "sleepers";
    case Field::kXDomain: return "xdomain";
    case Field::kCountLimit: return "countlimit";
    case Field::kBytesLimit: return "byteslimit";
    case Field::kSize: return "size";
    case Field::kRSize: return "rsize";
    case Field::kSizeMask: return "sizemask";
    case Field::kSlabs: return "slabs";
    case Field::kPartialSlabs: return "partial_slabs";
    case Field::kCpuSlabs: return "cpu_slabs";
    case Field::kAddressSpace: return "address_space";
    case Field::kWideLimit: return "wide_limit";
    case Field::kEfficiency: return "efficiency";
  }
  return "unknown";
}

std::string_view to_string(CpuField field) {
  switch (field) {
    case CpuField::kNumAllocs: return "numallocs";
    case CpuField::kNumFrees: return "numfrees";
    case CpuField::kMemAlloced: return "memalloced";
    case CpuField::kMemFreed: return "memfreed";
    case CpuField::kFree: return "free";
    case CpuField::kSizeMask: return "sizemask";
  }
  return "unknown";
}

std::string_view to_string(NodeField field) {
  switch (field) {
    case NodeField::kHeldBytes: return "held_bytes";
    case NodeField::kCount: return "count";
    case NodeField::kFree: return "free";
    case NodeField::kSlots: return "slots";
  }
  return "unknown";
}

}  // namespace memstat
