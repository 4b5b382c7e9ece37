// SPDX-License-Identifier: BSD-2-Clause
// What the names of kernels' own types say about them.
#pragma once

#include <string_view>

#include "core/model/field.h"

namespace memstat {

/// Whether failures of the type are part of normal work. They are for the bucket zones of uma(9): a bucket is allocated
/// without waiting, and where there is none the zone works without it (sys/vm/uma_core.c, bucket_alloc).
constexpr bool fails_routinely(Allocator allocator, std::string_view type) {
  return allocator == Allocator::kUma && type.ends_with(" Bucket");
}

/// Whether the type is memory that other types show in parts: zones of pages, control groups, processes, address space.
constexpr bool is_container(Allocator allocator, std::string_view type) {
  switch (allocator) {
    case Allocator::kPage:
    case Allocator::kMemcg:
    case Allocator::kProcess: return true;
    // What malloc and uma live in, and what is promised of memory and swap.
    case Allocator::kTable: return type == "kmem" || type == "kernel_address_space" || type == "swap_reservations";
    // What malloc's types live in, and items of other zones.
    case Allocator::kUma: return type.starts_with("malloc-") || type == "mbuf_packet";
    default: return false;
  }
}

}  // namespace memstat
