// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/poll/capture_bound.h"

#include <cstdlib>

#include "core/capture/reference.h"

namespace memstat {

Result<std::uint64_t> capture_bound(std::optional<std::uint64_t> flag) {
  if (flag) return *flag;
  return parse_capture_bound(std::getenv("MEMSTAT_CAPTURE_MAX"));  // NOLINT(concurrency-mt-unsafe): there is no thread yet
}

}  // namespace memstat
