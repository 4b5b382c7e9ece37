// SPDX-License-Identifier: BSD-2-Clause
// The answer to a question that is asked of a machine once: who holds what.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace memstat {

/// A process, or another thing that holds memory. Texts are valid label texts; "" where they do not apply.
struct Holder {
  std::uint64_t pid = 0;  ///< 0: none
  std::string command;    ///< The name of the process, without its arguments.
  std::string user;       ///< The user's name, or number where the machine has no name.
  std::string group;      ///< The control group, as a path below the hierarchy's root.
  std::string name;       ///< Which thing of the process, or which thing that is not a process's.
  std::optional<std::uint64_t> count;
  std::optional<std::uint64_t> bytes;

  bool operator==(const Holder&) const = default;
};

struct InspectionAnswer {
  std::string_view question;  ///< "files"
  std::string_view kind;      ///< Of the holders: "process", "mount", ...
  std::string_view things;    ///< What count counts: "open files".
  std::int64_t asked_ns = 0;  ///< When, since 1970.
  std::uint64_t looked_at = 0;
  std::uint64_t refused = 0;    ///< Processes that may not be looked into.
  std::uint64_t unlisted = 0;   ///< Holders beyond the largest kMaxHolders.
  bool is_cut = false;          ///< Stopped at a bound, so that a holder may be missing or hold more.
  std::vector<Holder> holders;  ///< Largest first.

  [[nodiscard]] bool is_partial() const { return is_cut || refused != 0; }
};

inline constexpr std::size_t kMaxHolders = 256;

}  // namespace memstat
