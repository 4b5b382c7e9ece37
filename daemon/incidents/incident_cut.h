// SPDX-License-Identifier: BSD-2-Clause
// Which control groups an incident does without, so that its file stays small.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/capture/recent_polls.h"

namespace memstat {

/// A control group that an incident is not about, and that was in no danger.
struct OtherGroup {
  std::string directory;
  double weight = 0;      ///< Bytes by which its use changed during the polls, and an eighth of what it used most.
  std::size_t files = 0;  ///< Of its last poll.
};

/// The groups of the polls, the heaviest first, except `object` ("/app/web"), groups above it, and those that the ring
/// wants.
std::vector<OtherGroup> other_groups(const KeptPolls& polls, std::string_view object);

}  // namespace memstat
