// SPDX-License-Identifier: BSD-2-Clause
// Which records of a poll are of a control group.
#pragma once

#include <string_view>

#include "core/capture/poll_plan.h"

namespace memstat {

/// The directory of the control group whose file or listing this is; "": it is of the machine, or of the root of a
/// hierarchy: of version 2, or of one or several controllers of version 1.
inline std::string_view group_directory(PollRecord::Kind kind, std::string_view name) {
  constexpr std::string_view kGroups = "/sys/fs/cgroup";
  const bool is_listing = kind == PollRecord::Kind::kListing;
  const bool is_path = is_listing || kind == PollRecord::Kind::kFile || kind == PollRecord::Kind::kLink ||
                       kind == PollRecord::Kind::kFileError;
  if (!is_path || !name.starts_with(kGroups)) return {};
  const std::string_view directory = is_listing ? name : name.substr(0, name.rfind('/'));
  if (directory.size() <= kGroups.size()) return {};
  const std::string_view below = directory.substr(kGroups.size());
  const bool is_shared = below.find(',') != std::string_view::npos && below.find('/', 1) == std::string_view::npos;
  return is_shared || below == "/memory" || below == "/unified" ? std::string_view() : directory;
}

}  // namespace memstat
