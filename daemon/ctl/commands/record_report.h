// SPDX-License-Identifier: BSD-2-Clause
// Records this machine's kernel as a capture.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/include/memstat.h"
#include "daemon/ctl/output/output.h"

namespace memstat::ctl {

struct RecordOptions {
  std::string output;  ///< As memstat_record_begin.
  std::int64_t interval_ns = 0;
  std::optional<std::uint64_t> count = {};  ///< Polls; none: until a signal comes.
  std::uint64_t max_bytes = 0;              ///< On the disk; 0: no bound.
  std::string label;
  Layout layout = Layout::kText;
};

/// Records until all polls are made or ^C, and packs what there is. With a terminal at standard error it says how far it is.
Report record(memory_type_list* list, const RecordOptions& options);

}  // namespace memstat::ctl
