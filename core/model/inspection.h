// SPDX-License-Identifier: BSD-2-Clause
// The result of an inspection: which processes or other things hold something, such as open files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/partial_view.h"

namespace memstat {

/// A process, or another thing that holds memory. Texts are valid label texts; "" if they do not apply.
struct Holder {
  std::uint64_t pid = 0;  ///< 0: none
  std::string command;    ///< the name of the process, without arguments
  std::string user;       ///< the user's name, or the number if it has no name
  std::string group;      ///< the control group, as a path below the hierarchy's root
  std::string name;       ///< the part of the process that holds it, or the thing if it is not a process
  std::optional<std::uint64_t> count;
  std::optional<std::uint64_t> bytes;
  std::optional<std::uint64_t> limit = {};  ///< Maximum of `count`; empty: unknown.

  bool operator==(const Holder&) const = default;
};

struct InspectionAnswer {
  std::string_view question;  ///< "files"
  std::string_view kind;      ///< the kind of holders: "process", "mount", ...
  std::string_view things;    ///< what `count` counts: "open files"
  std::int64_t asked_ns = 0;  ///< time of the inspection since 1970
  std::uint64_t looked_at = 0;
  std::uint64_t refused = 0;                ///< processes that may not be examined
  std::uint64_t unlisted = 0;               ///< holders beyond the largest kMaxHolders
  bool is_cut = false;                      ///< stopped at a limit, so that a holder may be missing or hold more
  PartialView view = {};                    ///< why not all that the question is about can be seen
  std::string_view needs = {};              ///< the privilege without which the answer is incomplete; "": none
  std::string_view parts;                   ///< what `seen` and `total` count: "open files", "processes"
  std::optional<std::uint64_t> seen = {};   ///< how much of the machine was examined; empty: not recorded
  std::optional<std::uint64_t> total = {};  ///< how much there is; empty: unknown
  std::vector<Holder> holders;              ///< Largest first.

  [[nodiscard]] bool is_partial() const { return is_cut || refused != 0 || !view.is_whole(); }
};

inline constexpr std::size_t kMaxHolders = 256;

}  // namespace memstat
