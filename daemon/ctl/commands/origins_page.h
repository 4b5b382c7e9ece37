// SPDX-License-Identifier: BSD-2-Clause
// What the page of a memstatd says of who takes from slab caches. Pure; the bytes may come from anybody.
#pragma once

#include <string_view>
#include <vector>

#include "core/events/slab/slab_origins.h"

namespace memstat::ctl {

/// The path of the part of the page that is asked for.
inline constexpr std::string_view kOriginsPath =
    "/metrics?name[]=memstat_slab_origin_allocations_total&name[]=memstat_slab_origin_allocated_bytes_total";

/// The origins of a page in the text format, in its order; lines that are none are passed over. Where key tier leaves out
/// the number of allocations, it is not known. Throws std::bad_alloc.
std::vector<events::SlabOrigin> parse_origins_page(std::string_view page);

}  // namespace memstat::ctl
