// SPDX-License-Identifier: BSD-2-Clause
// Converts a snapshot to rows for reports. A memstatd's API has the same figures of the same snapshot.
#pragma once

#include <vector>

#include "daemon/ctl/source/report_source.h"
#include "daemon/snapshot/snapshot.h"

namespace memstat::ctl {

/// All rows in the snapshot's order. Throws std::bad_alloc.
std::vector<TypeRow> rows_of(const Snapshot& snapshot);

/// The values of one type by CPU and by node; empty if the snapshot does not have the type.
Splits splits_of(const Snapshot& snapshot, const TypeRow& type);

}  // namespace memstat::ctl
