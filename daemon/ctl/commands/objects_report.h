// SPDX-License-Identifier: BSD-2-Clause
// The allocated objects of one memory type, one by one, out of a crash dump.
#pragma once

#include <cstdint>
#include <string>

#include "daemon/ctl/output/output.h"

namespace memstat::ctl {

/// Which objects. Thread safety: a plain value.
struct ObjectsQuery {
  std::string dump;  ///< PATH, or PATH@0; "": what MEMSTAT_CAPTURE names.
  std::string type;  ///< "slab/dentry" or "dentry"
  std::uint64_t limit = 0;
};

/// A line an object: its address and first words, and where the kernel keeps that who allocated it, how long ago, and in
/// which thread; and how many there are in all where these are more.
Report objects_report(const ObjectsQuery& query, Layout layout);

}  // namespace memstat::ctl
