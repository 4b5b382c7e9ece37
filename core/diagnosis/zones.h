// SPDX-License-Identifier: BSD-2-Clause
// Zones of Linux that are short of memory while the machine need not be.
#pragma once

#include <string>
#include <vector>

#include "core/diagnosis/evidence.h"

namespace memstat {

/// A zone whose pages for the kernel are below its emergency reserve. Bytes.
struct ShortZone {
  std::string name;     ///< "node 0 DMA", a type of allocator page
  double free = 0;      ///< of any kind
  double free_cma = 0;  ///< the part of it in contiguous memory areas, which only movable pages may use
  double reserve = 0;   ///< its watermark `min`
};

/// All such zones, except a small DMA zone, which only few devices need.
std::vector<ShortZone> short_zones(const Evidence& evidence);

}  // namespace memstat
