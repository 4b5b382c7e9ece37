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

}  // namespace memstat
