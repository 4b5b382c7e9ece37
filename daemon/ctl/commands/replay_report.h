// SPDX-License-Identifier: BSD-2-Clause
// The polls of a capture, one after the other, or a list of them.
#pragma once

#include <optional>
#include <string>

#include "core/include/memstat.h"
#include "daemon/ctl/output/output.h"

namespace memstat::ctl {

struct ReplayOptions {
  std::string capture;               ///< CAPTURE, or CAPTURE@POLL to begin there.
  std::optional<double> speed = {};  ///< None: without waiting; 1: in the capture's own times.
  bool is_list = false;
  bool is_json = false;
  bool is_compact = false;  ///< Of JSON: on one line.
  bool is_csv = false;
  bool is_human = true;
};

/// Prints every poll as `types` does, below a line with its number, time and label, until the last or ^C. Or, as a list, a
/// line a poll: number, time, label, sources that can be read, reads that failed when it was made.
Report replay(memory_type_list* list, const ReplayOptions& options);

}  // namespace memstat::ctl
